"""The tables of judged conversations: what was said of each reply, and what it comes to."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from overnight.tasks._flips.models import agreement, comparisons, models
from overnight.tasks._flips.statistics import rates, survival
from overnight.tasks._flips.verdicts import flip_verdicts
from overnight.tasks._flips.votes import conversations, votes


def flip_tables(results: Path, stages: Mapping[str, str]) -> Iterator[tuple[str, pl.LazyFrame]]:
    """By name. `stages`: the stage whose conversations each judging stage is about."""
    rows = pl.scan_parquet(results, glob=False)
    if "judged_item" not in rows.collect_schema():
        return
    verdicts = flip_verdicts(rows, stages)
    replies = votes(verdicts)
    talks = conversations(replies)
    yield "verdicts", verdicts.lazy()
    yield "flip_rates", rates(replies, talks).lazy()
    yield "flip_models", models(talks).lazy()
    yield "flip_survival", survival(talks).lazy()
    yield "flip_comparisons", comparisons(talks).lazy()
    yield "flip_agreement", agreement(replies).lazy()
