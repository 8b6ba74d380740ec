"""`verdicts.parquet`: what judges said of pairs, one row for each judged question, taken from the results."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from overnight.rank.labels import names_in, sorted_texts
from overnight.tables.parquet import in_portions

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
WORDS = ("first", "second", "tie", "none", "unparsed")
# What statistics need of a verdict, beside who is compared and on what.
_SAID = ("stage", "arm", "judge", "template", "thinking", "direction")
_PAIR = ("first_id", "second_id")


def scan_verdicts(results: Path, stages: Sequence[str]) -> pl.LazyFrame:
    """Of these stages, from the table of results. Open rows have no verdict yet."""
    return in_portions(results, lambda rows: _chosen(rows, stages))


def _chosen(results: pl.LazyFrame, stages: Sequence[str]) -> pl.LazyFrame:
    rows, known = _judged(results, stages)
    return rows.select(*COLUMNS, *([SUBJECT] if known else []))


def read_verdicts(results: Path, stage: str, names: Sequence[str] = (), numbers: Sequence[str] = ()) -> pl.DataFrame:
    """One stage's verdicts as statistics need them, with a `subject`, and with more columns of names and of numbers.

    Each name is kept once, and rows have its place among all names of the column, which are sorted: the two that are
    compared share one list. So verdicts take some 30 bytes each, and are read once for all tables.
    """
    rows, known = _judged(pl.scan_parquet(results, glob=False), [stage])
    listed = [*_SAID, *names, *([SUBJECT] if known else [])]
    # First what names there are, and then the rows: texts of all rows are never in memory at once.
    found = names_in(rows, (*listed, *_PAIR))
    kinds = {name: pl.Enum(found[name]) for name in listed}
    pair = pl.Enum(sorted_texts(pl.concat([found[name] for name in _PAIR])))
    said = rows.select(
        *(pl.col(name).cast(kind) for name, kind in (kinds | dict.fromkeys(_PAIR, pair)).items()),
        pl.col("verdict").cast(pl.Enum(WORDS)),
        "replicate",
        *numbers,
    ).collect(engine="streaming")
    return said if known else said.with_columns(pl.lit(None, pl.Enum([])).alias(SUBJECT))


def _judged(rows: pl.LazyFrame, stages: Sequence[str]) -> tuple[pl.LazyFrame, bool]:
    """Rows with a verdict, and whether they name a subject."""
    judged = rows.filter(pl.col("stage").is_in(list(stages)) & pl.col("verdict").is_not_null())
    judge = pl.concat_str("provider", "model", separator="/").alias("judge")
    return judged.with_columns(judge), SUBJECT in rows.collect_schema()
