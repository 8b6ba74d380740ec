"""Candidates ranked by a specification, for a run's report: what every ranking has, and what sways the judges."""

from collections.abc import Iterator, Sequence

import polars as pl

from overnight.core.stage import Stage
from overnight.reporting import Section, Source
from overnight.tasks._judging.answer_pairs import answers_of
from overnight.tasks._judging.judge_effects import bias_section, longer_wins_section, unjudged_section
from overnight.tasks._pairs.report import pair_report


def rank_report(source: Source) -> Iterator[Section]:
    yield from pair_report(source, lambda stage, subject, names: _texts(source, stage, subject, names), "candidates")
    for stage in source.stages:
        named = f": {stage.name}" if len(source.stages) > 1 else ""
        own = {name: _read(source, name, stage) for name in ("judge_bias", "length_effect", "unjudged")}
        yield from bias_section(own["judge_bias"], f"Do judges favour a candidate{named}", stage.name, percent=True)
        yield from longer_wins_section(own["length_effect"], f"Does the longer answer win{named}", stage.name)
        yield from unjudged_section(own["unjudged"], f"Answers that were not compared{named}")


def _read(source: Source, name: str, stage: Stage) -> pl.DataFrame | None:
    path = source.tables / f"{name}.parquet"
    return pl.read_parquet(path, glob=False).filter(pl.col("stage") == stage.name) if path.is_file() else None


def _texts(source: Source, stage: Stage, subject: str | None, names: Sequence[str]) -> list[tuple[str, str]]:
    """What was to be kept to, what was asked, and both answers."""
    fields = source.item(stage.name, subject or "")
    answers = answers_of(fields) if fields else {}
    context = [(word, str(fields[word])) for word in ("statement", "input") if fields.get(word)]
    return [*context, *((name, answers.get((name, 0), "(no text)")) for name in names)]
