"""`verdicts.parquet`: what judges said of pairs, one row for each judged question, taken from the results."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

COLUMNS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "arm": pl.String,
    "judge": pl.String,
    "item_id": pl.String,
    "first_id": pl.String,
    "second_id": pl.String,
    "direction": pl.String,
    "verdict": pl.String,
    "winner_id": pl.String,
    "confidence": pl.Float64,
    "explanation": pl.String,
    "template": pl.String,
    "thinking": pl.String,
    "replicate": pl.Int32,
}
# What two items were compared on: its own column, where a task compares the same two on several things.
SUBJECT = "subject"
_LONG = ("item_id", "confidence", "explanation")


def scan_verdicts(results: Path, stages: Sequence[str], *, short: bool = False) -> pl.LazyFrame:
    """Of these stages, from the table of results. Open rows have no verdict yet.

    `short` leaves out what no statistic needs, and always has a `subject`.
    """
    rows = pl.scan_parquet(results, glob=False)
    judged = rows.filter(pl.col("stage").is_in(list(stages)) & pl.col("verdict").is_not_null())
    judged = judged.with_columns(pl.concat_str("provider", "model", separator="/").alias("judge"))
    known = SUBJECT in rows.collect_schema()
    if short and not known:
        judged = judged.with_columns(pl.lit(None, pl.String).alias(SUBJECT))
    columns = [name for name in COLUMNS if not (short and name in _LONG)]
    return judged.select(*columns, *([SUBJECT] if short or known else []))
