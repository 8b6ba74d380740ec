"""A line on answers that no judge was asked about, under what the judges said of the others."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl


def not_judged(tables: Path, more: str) -> Iterator[str]:
    """How many, and why; `more` is the command that shows them by candidate."""
    path = tables / "unjudged.parquet"
    if path.exists():
        yield f"not judged: {_told(pl.read_parquet(path, glob=False))}; by candidate: {more}"


def _told(found: pl.DataFrame) -> str:
    counts = found.group_by("stage", "why", maintain_order=True).agg(pl.col("answers").sum())
    several = counts["stage"].n_unique() > 1
    parts = [
        f"{row['answers']:,} {row['why']}" + (f" ({row['stage']})" if several else "")
        for row in counts.iter_rows(named=True)
    ]
    return ", ".join(parts)
