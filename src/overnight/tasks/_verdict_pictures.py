"""What judges said, and the ranking it comes to, in short."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from overnight.tasks._judgements import judgements
from overnight.terminal.columns import columns
from overnight.terminal.plain_text import one_line
from overnight.terminal.rank_pictures import item_table, short

FIRST_RANKS = 20
_COUNTS = ("first", "second", "tie", "none", "unparsed")
_EVERYTHING = "all"


def pictures(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator[RenderableType]:
    """Of a run's tables. `typed` makes a command as the user would type it here."""
    verdicts, rankings = tables / "verdicts.parquet", tables / "rankings.parquet"
    if verdicts.exists():
        found = judgements(pl.read_parquet(verdicts, glob=False))
        if found.height:
            yield ""
            yield _judges(found)
    if rankings.exists():
        more = typed(f"overnight results {run} --table rankings")
        yield from _rankings(pl.read_parquet(rankings, glob=False), more)


def _judges(found: pl.DataFrame) -> Table:
    counts = [word for word in _COUNTS if word in {"first", "second"} or found[word].sum()]
    named = [name for name in ("stage", "template", "thinking") if found[name].n_unique() > 1]
    both = ("consistent", "sign test") if found["pairs"].is_not_null().any() else ()
    table = columns(*named, "judge", *counts, *both, numbers=(*counts, *both))
    for row in found.iter_rows(named=True):
        told = _told(row) if both else ()
        names = (short(row[name]) for name in (*named, "judge"))
        table.add_row(*names, *(f"{row[word]:,}" for word in counts), *told)
    return table


def _told(row: dict[str, Any]) -> tuple[str, str]:
    if row["pairs"] is None:
        return "", ""
    chance = "" if row["p_position"] is None else f"p={row['p_position']:.3g}"
    return f"{row['consistent']:.1%} of {row['pairs']:,}", chance


def _rankings(rankings: pl.DataFrame, more: str) -> Iterator[RenderableType]:
    together = rankings.filter(pl.col("scope") == _EVERYTHING)
    for (stage,), ranking in together.group_by("stage", maintain_order=True):
        if together["stage"].n_unique() > 1:
            yield f"\n{stage}:"
        yield ""
        yield item_table(ranking.head(FIRST_RANKS))
        if ranking.height > FIRST_RANKS:
            yield f"... and {ranking.height - FIRST_RANKS:,} more: {more}"
        yield _under(ranking.row(0, named=True))
        if ranking["note"][0]:
            yield Text(f"note: {one_line(ranking['note'][0])}", style="yellow")


def _under(row: dict[str, Any]) -> str:
    """What the ranking rests on."""
    parts = [f"{row['comparisons']:,} comparisons of {row['pairs']:,} pairs"]
    if row["reliability"] is not None and row["reliability"] == row["reliability"]:
        parts.append(f"reliability {row['reliability']:.2f}")
    if row["position"] is not None:
        parts.append(f"advantage of being shown first {row['position']:+.2f} (se {row['position_se']:.2f})")
    if row["comparisons"] > row["pairs"]:
        parts.append("errors count votes on one pair as dependent")
    if row["engine"].endswith("eb") or "+eb" in row["engine"]:
        parts.append("abilities shrunk by a prior learnt from the verdicts")
    return "; ".join(parts)
