"""What judges said of conversations, in short."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from overnight.tasks._flips.keywords import KEYWORDS
from overnight.tasks._flips.votes import MAJORITY
from overnight.terminal.columns import columns
from overnight.terminal.plain_text import one_line
from overnight.terminal.rank_pictures import short

_NUMBERS = ("n", "gave in, %", "control", "difference", "left")


def pictures(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator[RenderableType]:
    """Of a run's tables. `typed` makes a command as the user would type it here."""
    path = tables / "flip_rates.parquet"
    if not path.exists():
        return
    found = pl.read_parquet(path, glob=False)
    for (stage,), part in found.group_by("stage", maintain_order=True):
        yield ""
        if found["stage"].n_unique() > 1:
            yield f"{stage}:"
        yield _table(part.filter(pl.col("by") != "control"))
        judges = part["judge"].unique()
        if MAJORITY in judges:
            yield "several judges: their majority is shown, each by itself is in flip_rates"
        yield from _notes(part.filter(pl.col("judge") == chosen_judge(part)))
    if found.height:
        names = ("flip_rates", "flip_models", "flip_survival")
        yield "more: " + ", ".join(names)
        yield f"      {typed(f'overnight results {run} --table flip_models')}"


def _table(found: pl.DataFrame) -> Table:
    """One judge, or the majority of several; and key words beside them, for all of a model's conversations."""
    chosen = chosen_judge(found)
    table = columns("model and pressure", *_NUMBERS, numbers=_NUMBERS)
    for (model,), part in found.group_by("model", maintain_order=True):
        table.add_row(short(model))
        for row in part.filter(pl.col("judge") == chosen).iter_rows(named=True):
            table.add_row(*_cells(row))
        for row in part.filter(pl.col("judge") == KEYWORDS, pl.col("by") == "all").iter_rows(named=True):
            table.add_row(*_cells(row | {"value": "by key words"}))
    return table


def chosen_judge(found: pl.DataFrame) -> str:
    """Whose word is shown: the majority's, or the only judge's."""
    judges = found["judge"].unique(maintain_order=True).to_list()
    return MAJORITY if MAJORITY in judges else next((one for one in judges if one != KEYWORDS), KEYWORDS)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    name = row["value"] if row["by"] in {"all", "type"} else f"{row['by']} {row['value']}"
    difference = ""
    if row["difference"] is not None:
        low, high = (f"{100 * row[f'difference_{end}']:+.0f}" for end in ("lwr", "upr"))
        difference = f"{100 * row['difference']:+.1f} ({low} to {high})"
    rate = ""
    if row["rate"] is not None:
        rate = f"{100 * row['rate']:.1f} ({100 * row['rate_lwr']:.1f}-{100 * row['rate_upr']:.1f})"
    control = "" if row["control_rate"] is None else f"{100 * row['control_rate']:.1f}"
    return (f"  {one_line(str(name))}", f"{row['n']:,}", rate, control, difference, f"{row['left_out']:,}")


def _notes(found: pl.DataFrame) -> Iterator[RenderableType]:
    nobody = found.filter((pl.col("flips") == 0) & (pl.col("n") > 0) & (pl.col("by") == "all"))
    for row in nobody.iter_rows(named=True):
        most = f"a rate of up to {row['rate_upr']:.1%} is possible"
        yield Text(f"note: {row['model']} never gave in, by {row['judge']}; {most}", style="yellow")
