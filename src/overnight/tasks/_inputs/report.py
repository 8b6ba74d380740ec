"""Written inputs in a run's report: how hard they came out, round by round, what was left out, and some to read."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from overnight.core.wording import number_of
from overnight.reporting import Figure, Line, Lines, Part, Point, Reading, Section, Sentence, Source, Table
from overnight.tasks._inputs.questions import Inputs
from overnight.tasks._inputs.tables import losses_text

_FORMS: dict[str, Any] = {"difficulty": 2, "kept_difficulty": 2, "cost": "dollars"}
_SHOWN = 4


def input_report(source: Source) -> Iterator[Section]:
    path = source.tables / "input_rounds.parquet"
    if not path.exists():
        return
    kept, losses, rounds = (
        pl.read_parquet(source.tables / f"{name}.parquet", glob=False)
        for name in ("inputs", "input_losses", "input_rounds")
    )
    several = len(source.stages) > 1
    for stage in source.stages:
        assert isinstance(stage.task, Inputs)
        here = pl.col("stage") == stage.name
        part = rounds.filter(here)
        if part.is_empty():
            continue
        parts = list(_parts(kept.filter(here), losses.filter(here), part, stage.task, stage.name))
        yield Section(title=f"Inputs{f' of {stage.name}' if several else ''}", parts=parts)


def _parts(kept: pl.DataFrame, losses: pl.DataFrame, rounds: pl.DataFrame, task: Inputs, stage: str) -> Iterator[Part]:
    statements = kept["statement_id"].n_unique()
    hard = kept["difficulty"].drop_nulls()
    mean = "" if hard.is_empty() else f", of a mean difficulty of {sum(sorted(hard)) / len(hard):.2f}"
    wanted = f"; wanted was {task.rules.difficulty:g}"
    yield Sentence(
        f"{number_of(kept.height, 'input')} for {number_of(statements, 'statement')} were kept{mean}{wanted}.",
        "finding",
    )
    by = "the candidates' answers" if task.candidates else "the inputs themselves"
    yield Sentence(f"Judges rated {by}; 0 is that all keep to the statement, 1 that none does.", "note")
    if losses.height:
        yield Sentence(f"Left out: {losses_text(losses)}.", "note")
    table = Table.of(rounds.drop("stage"), _FORMS)
    points = [Point(float(n), hard) for n, hard in rounds.select("round", "difficulty").iter_rows() if hard is not None]
    if len(points) > 1:
        yield Figure(
            name=f"input-difficulty-{stage}",
            title="Did the rounds come nearer to the wanted difficulty?",
            caption="The mean difficulty of the inputs of each round that can be used.",
            drawing=Lines(
                lines=[Line("mean difficulty", points)], x_axis="round", y_axis="difficulty, 0 to 1", joined=True
            ),
            numbers=table,
        )
    else:
        yield table
    yield from _to_read(kept)


def _to_read(kept: pl.DataFrame) -> Iterator[Part]:
    """The hardest of the first statements."""
    best = kept.sort("difficulty", "address", descending=[True, False]).group_by("statement_id", maintain_order=True)
    for row in best.first().sort("statement_id").head(_SHOWN).iter_rows(named=True):
        told = "" if row["difficulty"] is None else f", difficulty {row['difficulty']:.2f}"
        yield Reading(
            title=f"{row['statement_id']}{told}",
            texts=[("scenario", row["scenario"]), ("input", row["input"])],
        )
