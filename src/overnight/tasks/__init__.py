"""The tasks there are: each file beside this one, unless its name begins with an underscore."""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from overnight.core.ask import Arm
from overnight.core.errors import UnknownName, nearest
from overnight.core.task import Task
from overnight.tasks._ready import Ready
from overnight.tasks.compare import Compare
from overnight.tasks.generate import Generate


def task_names() -> tuple[str, ...]:
    return tuple(sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_")))


def check_task(name: str) -> None:
    """UnknownName, with the nearest there is, for what is no task."""
    known = task_names()
    if name not in known:
        raise UnknownName(f"unknown task '{name}'{nearest(name, known)} (known: {', '.join(known)})")


def open_task(name: str, arms: Sequence[Arm], spec: Mapping[str, Any]) -> Task:
    """A task as a run remembers it: its arms, and what its `spec` said."""
    if name not in _OPENED:
        raise UnknownName(f"unknown task '{name}'{nearest(name, _OPENED)} (known: {', '.join(_OPENED)})")
    return _OPENED[name](arms, spec)


def _ready(arms: Sequence[Arm], spec: Mapping[str, Any]) -> Task:  # noqa: ARG001 - its items say it all
    return Ready(arms)


# What stands in a run's ledger by name; requests that were made elsewhere are no task of a study.
_OPENED: Mapping[str, Callable[[Sequence[Arm], Mapping[str, Any]], Task]] = {
    Compare.name: Compare.from_spec,
    Generate.name: Generate.from_spec,
    Ready.name: _ready,
}
