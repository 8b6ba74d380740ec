"""A run's tables, made from its ledger and raw files: at the end of every pass, by `rebuild`, and for whoever looks.

Only who holds the run writes into its `tables/`. While somebody works on it, and after one who was killed, the records
are ahead of these: then whoever looks gets tables of their own, made of the records at one moment, without the lock.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import polars as pl

from overnight.api.on_record import stages_on_record
from overnight.core import heap
from overnight.core.ask import Arm
from overnight.core.errors import FileDamaged
from overnight.core.stage import Stage
from overnight.core.task import Rounds, Task
from overnight.ledger.ledger import Ledger, look_at
from overnight.ledger.transaction import View
from overnight.providers import vendor
from overnight.store.contract import Store
from overnight.store.run_folder import RunFolder
from overnight.study.task_registry import task_kind, task_names
from overnight.tables.attempts import write_attempts
from overnight.tables.costs import write_costs
from overnight.tables.parquet import keep_parquet
from overnight.tables.results import Decode, ResultsTable
from overnight.tables.screening import SCREENING, write_screening

RESULTS = "results.parquet"


def decoders(its_arms: Sequence[Arm]) -> dict[str, Decode]:
    """Each provider's reader; none of them needs a key."""
    names = {arm.model.provider for arm in its_arms}
    return {name: vendor(name).format.decode for name in sorted(names)}


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Where tables that show a run as it is lie. `note` says why they do not, where such could not be made."""

    path: Path
    note: str | None = None


@contextmanager
def tables_now(folder: RunFolder) -> Iterator[Tables]:
    """The run's own tables where they show all that is on record; else others, which go at the end of the block."""
    with look_at(folder) as view:
        current = view.facts.tables_made() and (folder.tables / RESULTS).exists()
    if current:
        yield Tables(path=folder.tables_to_read())
        return
    with tempfile.TemporaryDirectory(prefix="overnight-", ignore_cleanup_errors=True) as scratch:
        yield _made_now(folder, Path(scratch))


def _made_now(folder: RunFolder, scratch: Path) -> Tables:
    try:
        with look_at(folder) as view, view.at_one_moment():
            write_tables(view, folder.files, scratch)
    except FileDamaged as error:
        if not (folder.tables / RESULTS).exists():
            raise
        return Tables(path=folder.tables_to_read(), note=f"these are the tables of an earlier pass, because {error}")
    return Tables(path=scratch)


def keep_tables(
    ledger: Ledger, folder: RunFolder, tasks: Mapping[str, Task | Rounds] | None = None, *, own: bool = True
) -> int:
    """The tables under their names in the run, by who holds it; returns the number of rows.

    Without the tasks' `own` tables they are not all that can be made, and whoever looks makes the rest.
    """
    rows = write_tables(ledger.view(), folder.files, folder.tables, tasks, own=own)
    if own:
        ledger.write("tables", lambda tx: tx.facts.make_tables()).result()
    return rows


def write_tables(
    view: View, files: Store, into: Path, tasks: Mapping[str, Task | Rounds] | None = None, *, own: bool = True
) -> int:
    """Every table of a run; returns the number of rows. Tasks are opened from the ledger unless handed in.

    Without the tasks' `own` tables, those of an earlier pass are taken away: they would say less than the rows do.
    """
    stages = stages_on_record(view, tasks)
    opened = {stage.name: stage.task for stage in stages}
    known = list(view.stages.arms().values())
    rows = ResultsTable(view, files, opened, decoders(known)).write(into / RESULTS)
    heap.trim()
    _write_own_tables(into, stages, made_now=own)
    write_attempts(view, into / "attempts.parquet")
    write_costs(view, into / "costs.parquet")
    write_screening(view, into / f"{SCREENING}.parquet")
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
            heap.trim()
    for name, frames in made.items():
        path = tables / f"{name}.parquet"
        if frames:
            keep_parquet(frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed"), path)
        else:
            path.unlink(missing_ok=True)
