"""Bills as tables, and their last lines."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from overnight.cli.words import price_lines
from overnight.core.money import DOLLAR
from overnight.core.names import short_names
from overnight.prices import dollars
from overnight.terminal.columns import columns, fitting
from overnight.terminal.plain_text import one_line

# What is shown of each column, and how it is called.
_COUNTS = {
    "tries": "rows",
    "answers": "answers",
    "tokens in": "input_tokens",
    "cached": "cached_tokens",
    "tokens out": "output_tokens",
}
_MONEY = {
    "at most": "estimated",
    "set aside": "reserved",
    "cost": "settled",
    "presumed": "presumed",
    "saved": "saved",
    "an answer": "per_answer",
    "today": "repriced",
}
_NUMBERS = (*_COUNTS, *_MONEY)
# What a narrow terminal goes without, the first of them first.
_SPARE = ("cached", "answers", "at most", "tokens in", "tokens out", "an answer", "set aside", "tries", "note")


def pictures(frame: pl.DataFrame, width: int, phases: Sequence[str] = ()) -> Iterator[RenderableType]:
    """The bill of one run by arm."""
    names = short_names(frame["arm"].to_list())
    several = frame["stage"].n_unique() > 1
    lines = [
        {**({"stage": row["stage"]} if several else {}), "arm": names[row["arm"]]}
        | _cells(row)
        | ({"note": row["price_note"]} if any(frame["price_note"]) else {})
        for row in frame.iter_rows(named=True)
    ]
    yield _table(lines, width)
    yield from (Text(one_line(phase)) for phase in phases)
    yield from price_lines(frame.select("model", "price_source").iter_rows())


def summed(frame: pl.DataFrame, width: int) -> Table:
    """A bill by whatever it was summed by; runs that cannot be read are told apart from it."""
    keys = [name for name in frame.columns if name not in {*_COUNTS.values(), *_MONEY.values(), *_BESIDE}]
    known = _readable(frame)
    names = {"arm": short_names(sorted(set(known["arm"].to_list())))} if "arm" in keys else {}
    lines = [
        {name: names.get(name, {}).get(row[name], row[name]) for name in keys} | _cells(row)
        for row in known.iter_rows(named=True)
    ]
    return _table(lines, width) if lines else columns(*keys)


_BESIDE = ("reasoning_tokens", "unpriced", "trouble")


def _table(lines: Sequence[Mapping[str, str]], width: int) -> Table:
    """Names and what was paid are never cut; what there is none of is left out."""
    known = list(dict.fromkeys(name for line in lines for name in line))
    empty = {name for name in _RARE if all(line.get(name) in _NONE for line in lines)}
    headings = fitting([name for name in known if name not in empty], lines, width, _SPARE)
    table = columns(*headings, numbers=_NUMBERS)
    for line in lines:
        table.add_row(*(Text(one_line(line.get(name, "")), style=_STYLES.get(name, "")) for name in headings))
    return table


# Shown where there is some.
_RARE = ("cached", "presumed", "saved", "set aside")
_NONE = ("0", "$0.00", "", None)
_STYLES = {"note": "yellow"}


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    counts = {name: f"{row[field]:,}" for name, field in _COUNTS.items() if row.get(field) is not None}
    return counts | {name: _money(row[field]) for name, field in _MONEY.items() if field in row}


def _money(amount: float | None) -> str:
    return "unknown" if amount is None else dollars(round(amount * DOLLAR))


def _readable(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("trouble").is_null()) if "trouble" in frame.columns else frame


def troubles(frame: pl.DataFrame) -> list[str]:
    """Why runs cannot be told."""
    return frame["trouble"].drop_nulls().to_list() if "trouble" in frame.columns else []


def last_line(frame: pl.DataFrame, run: str) -> str:
    """`fruit: $0.0123`, and whether that is all of it."""
    unknown = frame["settled"].null_count()
    if unknown == frame.height:
        return f"{run}: the cost is unknown, because no price is"
    return f"{run}: {_total(frame)}" + (f", without {unknown} arms that have no price" if unknown else "")


def summed_line(frame: pl.DataFrame, whose: str) -> str:
    """The same of a bill that is summed otherwise."""
    known = _readable(frame)
    if known["settled"].null_count() == known.height:
        return f"{whose}: the cost is unknown, because no price is" if known.height else f"{whose}: nothing to tell"
    unpriced = int(known["unpriced"].sum())
    today = ""
    if "repriced" in known.columns:
        missing = known["repriced"].null_count()
        today = f"; at the prices of today {dollars(round((known['repriced'].sum() or 0) * DOLLAR))}"
        today += ", and what has no price today" if missing else ""
    return f"{whose}: {_total(known)}" + (f", without {unpriced:,} rows that have no price" if unpriced else "") + today


def _total(frame: pl.DataFrame) -> str:
    total = dollars(round(frame["settled"].sum() * DOLLAR))
    presumed = round((frame["presumed"].sum() or 0) * DOLLAR)
    saved = round((frame["saved"].sum() or 0) * DOLLAR)
    total += f", and {dollars(presumed)} presumed spent" if presumed else ""
    return total + (f"; {dollars(saved)} saved by batches" if saved > 0 else "")
