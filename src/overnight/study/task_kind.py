"""A kind of task: one object that says everything about it that is only its own.

The rest of the house knows no task by name. A task's kind is found by the entry point `overnight.tasks`, under the
name that a study writes after `task:`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from overnight.core.ask import Arm, Buckets
from overnight.core.task import Rounds, Task
from overnight.study.arms import Branch
from overnight.study.items import ItemSource, Need
from overnight.study.origin import Origin, Route
from overnight.study.stage import WrittenStage


class Made(NamedTuple):
    """A task, and what the user should know of it before paying."""

    task: Task | Rounds
    notes: tuple[str, ...] = ()


class Draft(NamedTuple):
    """A stage half made: its texts read, its models found and its arms named; its items are not opened yet.

    `make` is called with the table that the stage's items go back to. `definition` holds, in plain values, what of the
    task's own keys defines its questions. `needs` is what is asked of each item, by the place that asks it.
    """

    stage: WrittenStage
    origin: Origin
    branches: tuple[Branch, ...]
    make: Callable[[ItemSource], Made]
    definition: Mapping[str, Any]
    needs: Mapping[Route, Need] = {}
    notes: tuple[str, ...] = ()


def _all_is_well(stage: Any, origin: Origin) -> None:
    """For a task whose keys are right as soon as their types are."""


def _nothing_grows(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG001 - see the type
    return iter(())


@dataclass(frozen=True, kw_only=True)
class TaskKind:
    """What a task is, for everybody else."""

    name: str
    # The keys of a stage: the common ones and the task's own. Each is checked with its place in the study.
    settings: type[WrittenStage]
    # From what was written to a stage half made: templates, arms, what each item must have.
    draft: Callable[[Any, Origin, Buckets | None], Draft]
    # The task again as a run remembers it: its arms, and what its `spec` said.
    open: Callable[[Sequence[Arm], Mapping[str, Any]], Task | Rounds]
    # What is wrong with the own keys and can be known without opening a file: raised as `origin.error(...)`.
    check: Callable[[Any, Origin], None] = _all_is_well
    # Fields of the definition that may not change while a run goes on.
    fixed: tuple[str, ...] = ()
    # A sentence for each change of the other fields that is more than an addition.
    differences: Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[str]] = _nothing_grows
    # Where a whole table may stand in the own keys, besides `items`: it is left as it is.
    holds_tables: tuple[Route, ...] = ()
