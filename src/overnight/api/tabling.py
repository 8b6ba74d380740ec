"""A run's tables, made from its ledger and raw files: at the end of every pass, and by `rebuild`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from overnight.api.on_record import stages_on_record
from overnight.core.ask import Arm
from overnight.core.stage import Stage
from overnight.core.task import Rounds, Task
from overnight.ledger.transaction import View
from overnight.providers import vendor
from overnight.store.run_folder import RunFolder
from overnight.study.task_registry import task_kind, task_names
from overnight.tables.attempts import write_attempts
from overnight.tables.costs import write_costs
from overnight.tables.parquet import keep_parquet
from overnight.tables.results import Decode, ResultsTable


def decoders(its_arms: Sequence[Arm]) -> dict[str, Decode]:
    """Each provider's reader; none of them needs a key."""
    names = {arm.model.provider for arm in its_arms}
    return {name: vendor(name).format.decode for name in sorted(names)}


def write_tables(
    view: View, folder: RunFolder, tasks: Mapping[str, Task | Rounds] | None = None, *, own: bool = True
) -> int:
    """Every table of a run; returns the number of rows. Tasks are opened from the ledger unless handed in.

    Without the tasks' `own` tables, those of an earlier pass are taken away: they would say less than the rows do.
    """
    stages = stages_on_record(view, tasks)
    opened = {stage.name: stage.task for stage in stages}
    known = list(view.stages.arms().values())
    rows = ResultsTable(view, folder.files, opened, decoders(known)).write(folder.tables / "results.parquet")
    _write_own_tables(folder.tables, stages, made_now=own)
    write_attempts(view, folder.tables / "attempts.parquet")
    write_costs(view, folder.tables / "costs.parquet")
    return rows


def _write_own_tables(tables: Path, stages: Sequence[Stage], *, made_now: bool) -> None:
    """What each kind of task makes of its stages' results. What is not made any more is taken away."""
    names = dict.fromkeys(stage.task.name for stage in stages)
    kinds = [task_kind(name) for name in names if name in task_names()]
    made: dict[str, list[pl.LazyFrame]] = {name: [] for kind in kinds for name in kind.tables}
    for kind in kinds if made_now else ():
        own = [stage for stage in stages if stage.task.name == kind.name]
        for name, frame in kind.make_tables(tables / "results.parquet", own):
            made[name].append(frame)
    for name, frames in made.items():
        path = tables / f"{name}.parquet"
        if frames:
            keep_parquet(frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed"), path)
        else:
            path.unlink(missing_ok=True)
