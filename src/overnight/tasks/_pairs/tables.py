"""The tables of tasks that judge pairs, and what is shown of them: the same for each such task.

A task whose rows have the columns of `_verdicts.COLUMNS` puts these into its kind. Where it compares the same two items
on several things, a column `subject` says on which; verdicts on one subject then count as dependent.

    tables=PAIR_TABLES, make_tables=make_pair_tables, missing_table=missing_pair_table, summary=pair_summary

Its report calls `pair_report` with a function for the texts of a pair.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from overnight.core.stage import Stage
from overnight.core.task import Rounds

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

PAIR_TABLES = ("verdicts", "rankings", "consistency", "bias", "agreement")
# Of pairs that are chosen in rounds.
ROUND_TABLES = ("selection", "precision")
_WHY_NOT = {
    "agreement": "agreement: there is one judge only",
    "selection": "table of selected pairs: none of its stages chooses pairs in rounds (`select: adaptive`)",
    "precision": "table of precision: none of its stages chooses pairs in rounds (`select: adaptive`), or it has too "
    "many items",
    "rankings": "ranking: it takes a readable verdict and at most {most:,} items; try overnight rank-pairs {verdicts}",
}


def make_pair_tables(results: Path, stages: Sequence[Stage]) -> Iterator[tuple[str, "pl.LazyFrame"]]:
    """What the judges said, the order it comes to, and what both orders and several judges tell of the judges."""
    # Polars takes a third of a second, and scipy half of one, which a study that is only read need not wait.
    from overnight.tasks._pairs.selection import selection_tables  # noqa: PLC0415
    from overnight.tasks._pairs.verdicts import read_verdicts, scan_verdicts  # noqa: PLC0415

    yield "verdicts", scan_verdicts(results, [stage.name for stage in stages])
    for stage in stages:
        yield from tables_of_verdicts(read_verdicts(results, stage.name), stage)
        if isinstance(stage.task, Rounds):
            for name, table in selection_tables(results, stage.name, getattr(stage.task, "plan", None)):
                yield name, table.lazy()


def tables_of_verdicts(said: "pl.DataFrame", stage: Stage) -> Iterator[tuple[str, "pl.LazyFrame"]]:
    """Of one stage: the order that its verdicts come to, and what they tell of the judges."""
    from overnight.rank.labels import renamed  # noqa: PLC0415 - as above
    from overnight.tasks._pairs.judge_tables import judge_names, judge_tables  # noqa: PLC0415
    from overnight.tasks._pairs.rankings import rankings  # noqa: PLC0415

    for ranking in rankings(said, adaptive=isinstance(stage.task, Rounds)):
        yield "rankings", ranking.lazy()
    for name, table in judge_tables(said.with_columns(renamed(said["arm"], judge_names(stage.arms)))):
        yield name, table.lazy()


def missing_pair_table(table: str, tables: Path) -> str:
    from overnight.tasks._pairs.rankings import MOST_RANKED  # noqa: PLC0415 - as above

    verdicts = tables / "verdicts.parquet"
    if not verdicts.exists():
        return f"{table}: none of its stages compares anything"
    why = _WHY_NOT.get(table, f"{table}: there is no verdict yet")
    return why.format(most=MOST_RANKED, verdicts=verdicts)


def pair_summary(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator["RenderableType"]:
    from overnight.tasks._pairs.pictures import pictures  # noqa: PLC0415 - as above
    from overnight.tasks._unjudged_answers import not_judged  # noqa: PLC0415 - as above

    yield from pictures(tables, run, typed)
    # Where single answers are scored as well, the line stands under the scores.
    if not (tables / "scores.parquet").exists():
        yield from not_judged(tables, typed(f"overnight results {run} --table unjudged"))
