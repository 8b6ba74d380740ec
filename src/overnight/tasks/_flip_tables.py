"""The tables of judged conversations: what was said of each reply, and what it comes to."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from overnight.tables.parquet import keep_parquet
from overnight.tasks._flip_models import agreement, comparisons, models
from overnight.tasks._flip_statistics import rates, survival
from overnight.tasks._flip_verdicts import flip_verdicts
from overnight.tasks._flip_votes import conversations, votes


def write_flips(folder: Path, stages: Mapping[str, str]) -> None:
    """`stages`: the stage whose conversations each judging stage is about."""
    results = pl.scan_parquet(folder / "results.parquet", glob=False)
    if "judged_item" not in results.collect_schema():
        return
    verdicts = flip_verdicts(results, stages)
    keep_parquet(_beside_others(folder / "verdicts.parquet", verdicts, results).lazy(), folder / "verdicts.parquet")
    replies = votes(verdicts)
    talks = conversations(replies)
    found = {
        "flip_rates": rates(replies, talks),
        "flip_models": models(talks),
        "flip_survival": survival(talks),
        "flip_comparisons": comparisons(talks),
        "flip_agreement": agreement(replies),
    }
    for name, table in found.items():
        keep_parquet(table.lazy(), folder / f"{name}.parquet")


def _beside_others(path: Path, verdicts: pl.DataFrame, results: pl.LazyFrame) -> pl.DataFrame:
    """Verdicts of other tasks that stand in the same table stay there."""
    if not path.exists():
        return verdicts
    own = verdicts["stage"].unique().to_list()
    there = results.select(pl.col("stage").unique()).collect()["stage"].to_list()
    kept = pl.read_parquet(path, glob=False).filter(
        pl.col("stage").is_in([stage for stage in there if stage not in own]) & pl.col("judge").is_not_null()
    )
    return verdicts if kept.is_empty() else pl.concat([kept, verdicts], how="diagonal_relaxed")
