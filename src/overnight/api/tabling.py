"""A run's tables, made from its ledger and raw files: at the end of every pass, and by `rebuild`."""

import sqlite3
from collections.abc import Sequence

from overnight.core.ask import Arm
from overnight.ledger.folder import RunFolder
from overnight.ledger.identity import arms, stages
from overnight.providers import Endpoint, vendor
from overnight.tables.attempts import write_attempts
from overnight.tables.results import Decode, ResultsTable
from overnight.tasks._contract import Task
from overnight.tasks._ready import Ready
from overnight.tasks.generate import Generate


def task_for_reading(name: str, its_arms: Sequence[Arm]) -> Task:
    """The task as far as reading answers needs it: without its study."""
    return Ready(its_arms) if name == Ready.name else Generate(its_arms)


def decoders(its_arms: Sequence[Arm]) -> dict[str, Decode]:
    """Each provider's reader; none of them needs a key."""
    nowhere = Endpoint(base_url="http://unused.invalid/v1", key="unused")
    names = {arm.model.provider for arm in its_arms}
    return {name: vendor(name).connect(nowhere).decode for name in sorted(names)}


def write_tables(db: sqlite3.Connection, folder: RunFolder) -> int:
    """`results.parquet` and `attempts.parquet`; returns the number of rows."""
    known = list(arms(db).values())
    tasks = {
        name: task_for_reading(task, [arm for arm in known if arm.stage == name]) for _, name, task, _ in stages(db)
    }
    rows = ResultsTable(db, folder, tasks, decoders(known)).write(folder.tables / "results.parquet")
    write_attempts(db, folder.tables / "attempts.parquet")
    return rows
