"""`verdicts.parquet`: what judges said of pairs, one row for each judged question, taken from the results."""

from pathlib import Path

import polars as pl

from overnight.tables.parquet import keep_parquet

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


def write_verdicts(results: Path, path: Path) -> bool:
    """From the table of results; False, and no file, where no stage judges pairs. Open rows have no verdict yet."""
    rows = pl.scan_parquet(results, glob=False)
    if "verdict" not in rows.collect_schema():
        return False
    judged = rows.filter(pl.col("verdict").is_not_null()).with_columns(
        pl.concat_str("provider", "model", separator="/").alias("judge")
    )
    keep_parquet(judged.select(*COLUMNS), path)
    return True
