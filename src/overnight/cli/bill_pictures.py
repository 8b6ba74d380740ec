"""A run's bill as a table, and its last line."""

from collections.abc import Iterator, Sequence

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from overnight.cli.words import price_lines
from overnight.core.money import DOLLAR
from overnight.core.names import short_names
from overnight.prices import dollars
from overnight.terminal.columns import columns
from overnight.terminal.plain_text import one_line

_NUMBERS = ("tries", "tokens in", "cached", "tokens out", "at most", "set aside", "cost")


def pictures(frame: pl.DataFrame, phases: Sequence[str] = ()) -> Iterator[RenderableType]:
    yield bill(frame)
    yield from (Text(one_line(phase)) for phase in phases)
    yield from price_lines(frame.select("model", "price_source").iter_rows())


def bill(frame: pl.DataFrame) -> Table:
    names = short_names(frame["arm"].to_list())
    several = frame["stage"].n_unique() > 1
    noted = any(frame["price_note"])
    headings = (*(("stage",) if several else ()), "arm", *_NUMBERS, *(("note",) if noted else ()))
    table = columns(*headings, numbers=_NUMBERS)
    for row in frame.iter_rows(named=True):
        counts = (row["rows"], row["input_tokens"], row["cached_tokens"], row["output_tokens"])
        table.add_row(
            *((row["stage"],) if several else ()),
            names[row["arm"]],
            *(f"{count:,}" for count in counts),
            *(_money(row[field]) for field in ("estimated", "reserved", "settled")),
            *((Text(row["price_note"], style="yellow"),) if noted else ()),
        )
    return table


def _money(amount: float | None) -> str:
    return "unknown" if amount is None else dollars(round(amount * DOLLAR))


def last_line(frame: pl.DataFrame, run: str) -> str:
    """`fruit: $0.0123`, and whether that is all of it."""
    unknown = frame["settled"].null_count()
    if unknown == frame.height:
        return f"{run}: the cost is unknown, because no price is"
    total = dollars(round(frame["settled"].sum() * DOLLAR))
    presumed = round((frame["presumed"].sum() or 0) * DOLLAR)
    total += f", and {dollars(presumed)} presumed spent" if presumed else ""
    return f"{run}: {total}" + (f", without {unknown} arms that have no price" if unknown else "")
