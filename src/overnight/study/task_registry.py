"""The tasks there are, by name: our own and those of other packages (entry point `overnight.tasks`).

A kind is loaded when a study, a run or a command names it, and not before.
"""

from functools import cache
from importlib.metadata import EntryPoint
from typing import cast

from overnight.core.errors import UnknownName, nearest
from overnight.core.plugins import by_name, loaded, points_of
from overnight.core.task import ENTRY_POINT
from overnight.core.wording import quoted
from overnight.study.stage import WrittenStage
from overnight.study.task_kind import TaskKind


def task_names() -> tuple[str, ...]:
    return tuple(_installed())


def task_kind(name: str) -> TaskKind:
    """UnknownName, with the nearest there is, for what is no task."""
    known = _installed()
    if name not in known:
        there = ", ".join(known) or "none; install Overnight again, this installation is older than its files"
        raise UnknownName(f"unknown task {quoted(name)}{nearest(name, known)} (known: {there})")
    return load(known[name])


def task_kinds() -> dict[str, TaskKind]:
    return {name: task_kind(name) for name in task_names()}


def own_keys(kind: TaskKind) -> tuple[str, ...]:
    """The keys of a stage that not every task has."""
    common = WrittenStage.__struct_fields__
    return tuple(key for key in kind.settings.__struct_fields__ if key not in common)


def all_own_keys() -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for kind in task_kinds().values() for key in own_keys(kind)))


@cache
def _installed() -> dict[str, EntryPoint]:
    return by_name(points_of(ENTRY_POINT), "task")


def load(point: EntryPoint) -> TaskKind:
    return cast(TaskKind, loaded(point, "task", "task", ("draft",)))
