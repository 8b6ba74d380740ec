"""The tables of tasks that judge by statements, and what is shown of them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from overnight.core.stage import Stage
from overnight.tasks._judging.answer_pairs import Rank
from overnight.tasks._judging.judging import Grade, Judging
from overnight.tasks._pairs.tables import PAIR_TABLES, missing_pair_table, tables_of_verdicts

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from overnight.reporting import Section, Source

JUDGED_TABLES = ("verdicts", "scores", "judge_agreement", "judge_bias", "unjudged")
RANK_TABLES = (*PAIR_TABLES, "matches", "length_effect", "judge_agreement", "judge_bias", "unjudged")
_WHY_NOT = {
    "judge_agreement": "table of agreement: there is one judge only",
    "judge_bias": "table of judges' bias: no answer has two judges",
    "length_effect": "table of lengths: no verdict on answers of different lengths",
    "unjudged": "answers that were not judged",
}


def make_judged_tables(results: Path, stages: Sequence[Stage]) -> Iterator[tuple[str, "pl.LazyFrame"]]:
    """Of `comply` and `grade`."""
    # Polars takes a third of a second, and scipy half of one, which a study that is only read need not wait.
    import polars as pl  # noqa: PLC0415

    from overnight.tables.parquet import in_portions  # noqa: PLC0415
    from overnight.tasks._judging.tables import (  # noqa: PLC0415
        agreement_table,
        bias_table,
        judged_verdicts,
        read_judged,
        score_table,
    )
    from overnight.tasks._judging.unjudged import unjudged  # noqa: PLC0415

    rows = pl.scan_parquet(results, glob=False)
    for stage in stages:
        yield "verdicts", in_portions(results, partial(judged_verdicts, stage=stage.name))
        assert isinstance(stage.task, Judging)
        left_out = unjudged(rows, stage, stage.task)
        if left_out.height:
            yield "unjudged", left_out.lazy()
        said = read_judged(results, stage.name)
        if said.is_empty():
            continue
        graded = isinstance(stage.task, Grade)
        yield "scores", score_table(said, shares=not graded).lazy()
        found = (agreement_table(said, ordered=graded), bias_table(said.with_columns(item_id="input"), stage.name))
        for name, table in zip(("judge_agreement", "judge_bias"), found, strict=True):
            if table is not None:
                yield name, table.lazy()


def make_rank_tables(results: Path, stages: Sequence[Stage]) -> Iterator[tuple[str, "pl.LazyFrame"]]:
    import polars as pl  # noqa: PLC0415 - as above

    from overnight.tasks._judging.answer_pair_tables import NAMES, NUMBERS  # noqa: PLC0415
    from overnight.tasks._judging.unjudged import unjudged  # noqa: PLC0415
    from overnight.tasks._pairs.verdicts import read_verdicts, scan_verdicts  # noqa: PLC0415

    yield "verdicts", scan_verdicts(results, [stage.name for stage in stages])
    rows = pl.scan_parquet(results, glob=False)
    for stage in stages:
        assert isinstance(stage.task, Rank)
        left_out = unjudged(rows, stage, stage.task)
        if left_out.height:
            yield "unjudged", left_out.lazy()
        said = read_verdicts(results, stage.name, NAMES, NUMBERS)
        yield from tables_of_verdicts(said, stage)
        if said.height:
            yield from _tables_of_answers(said, stage)


def _tables_of_answers(said: "pl.DataFrame", stage: Stage) -> Iterator[tuple[str, "pl.LazyFrame"]]:
    """What is told of answers only, which are on statements and have lengths."""
    from overnight.tasks._judging.answer_pair_tables import (  # noqa: PLC0415
        length_table,
        match_table,
        pair_questions,
        pair_scores,
        part_rankings,
    )
    from overnight.tasks._judging.tables import agreement_table, bias_table  # noqa: PLC0415
    from overnight.tasks._pairs.judge_tables import judge_names  # noqa: PLC0415

    for ranking in part_rankings(said):
        yield "rankings", ranking.lazy()
    yield "matches", match_table(said).lazy()
    lengths = length_table(said)
    if lengths.height:
        yield "length_effect", lengths.lazy()
    judges = judge_names(stage.arms)
    if len({judges[arm] for arm in said["arm"].unique()}) > 1:
        agreed = agreement_table(pair_questions(said, judges), ordered=False)
        if agreed is not None:
            yield "judge_agreement", agreed.lazy()
    if said["judge"].n_unique() > 1:
        bias = bias_table(pair_scores(said), stage.name)
        if bias is not None:
            yield "judge_bias", bias.lazy()


def missing_judged_table(table: str, tables: Path) -> str:
    if not (tables / "verdicts.parquet").exists():
        return f"{table}: none of its stages judges anything"
    return _WHY_NOT.get(table, f"{table}: there is no verdict yet")


def missing_rank_table(table: str, tables: Path) -> str:
    return missing_pair_table(table, tables) if table in PAIR_TABLES else missing_judged_table(table, tables)


def judged_summary(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator["RenderableType"]:
    from overnight.tasks._judging.pictures import pictures  # noqa: PLC0415 - as above

    return pictures(tables, run, typed)


def rank_sections(source: "Source") -> Iterator["Section"]:
    from overnight.tasks._judging.rank_report import rank_report  # noqa: PLC0415 - as above

    return rank_report(source)


def judged_sections(source: "Source") -> Iterator["Section"]:
    from overnight.tasks._judging.report import judged_report  # noqa: PLC0415 - as above

    return judged_report(source)
