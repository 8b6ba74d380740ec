"""What the engine asks of a task: pure functions from items to questions and from answers to rows.

It knows no task by name: whoever opens a run hands its tasks in.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from overnight.core.ask import Arm, Ask, Item
from overnight.core.result import Result
from overnight.core.screening import Measured, Unit

# The entry point that tasks come by.
ENTRY_POINT = "overnight.tasks"

Row = dict[str, Any]
ColumnKind = Literal["text", "integer", "number", "boolean"]


def wider(one: ColumnKind, other: ColumnKind) -> ColumnKind:
    """The kind of a column that holds values of both."""
    if one == other:
        return one
    return "number" if {one, other} == {"integer", "number"} else "text"


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """One item's settled turns in one arm. Earlier questions are rendered again from the item, not stored."""

    arm: Arm
    item: Item
    replicate: int
    turns: tuple[Result, ...]


class Task(Protocol):
    """Asks per row."""

    name: str
    version: str
    # The task's own columns in results.parquet, after the common ones.
    columns: Mapping[str, ColumnKind]
    # Whether `read` and `follow_up` look at the item's fields, or only at its id.
    reads_items: bool
    # How many turns a thread can have: 1 where `follow_up` never asks anything. It is not asked after the last one.
    most_turns: int

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:
        """The first questions about each item."""
        ...

    def follow_up(self, thread: Thread) -> Sequence[Ask]:
        """What to ask next in this thread, whose last turn has just been settled; nothing when it is over."""
        ...

    def read(self, thread: Thread) -> Iterator[Row]:
        """One row of the task's own columns for each turn, in order."""
        ...

    def spec(self) -> dict[str, Any]:
        """Plain values from which the same kind of task makes it again, without its study."""
        ...


@runtime_checkable
class PartsOfItems(Protocol):
    """A task whose addresses are about parts of an item, as two of its answers: whose item says what they are."""

    def item_of(self, address: str) -> str:
        """The id of the item that an address is about."""
        ...

    def addresses_of(self, item: str) -> str:
        """What the addresses about an item begin with, and no others."""
        ...


@runtime_checkable
class AlikeInArms(Protocol):
    """A task that knows some of its columns from the arm alone: they are told once, and `read` tells the others."""

    def alike(self, arm: Arm) -> Row:
        """What all rows of an arm have alike. Where these are all of the task's columns, nothing is left to read."""
        ...


@runtime_checkable
class LooksAtParts(Protocol):
    """A task that looks at some fields of an item only, as of a group that holds all that was said."""

    def decode_item(self, line: bytes) -> dict[str, Any]:
        """The fields of an item, from its JSON, as far as `read` looks at them: a group holds much that it does not."""
        ...


@runtime_checkable
class KeepsParts(Protocol):
    """A task that needs some of what is handed on with a row of another stage: the rest is not kept with its items."""

    kept_fields: tuple[str, ...]


@runtime_checkable
class Measures(Protocol):
    """A task whose answers say something of models or items, by which these may move on to a later phase."""

    def measure(self, name: str, of: Unit, threads: Iterable[Thread]) -> Iterator[Measured]:
        """The measure of this name for each model, or for each item, from all settled threads of the stage."""
        ...


@runtime_checkable
class MakesItems(Protocol):
    """A task in rounds that writes items for later stages: these are handed on when it is over, and not its rows.

    Each has the fields of the item that it was written for, and those that the task adds.
    """

    def made(self, items: Iterable[Item], rows: Iterable[Row], known: Iterable[Item]) -> Iterator[Item]:
        """Those that the rows of all rounds come to, but for the `known` ones, which were handed on before."""
        ...

    def most_made(self, items: Iterable[Item]) -> Iterator[Item]:
        """As many as there may be, with stand-ins for what is not written yet: for a plan."""
        ...


@runtime_checkable
class Rounds(Protocol):
    """Asks in whole rounds, each chosen by what all rounds before it have shown."""

    name: str
    version: str
    columns: Mapping[str, ColumnKind]
    reads_items: bool
    most_turns: int

    @property
    def about_rounds(self) -> int:
        """In about how many rounds an arm is asked, for a plan."""
        ...

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:
        """As much as there may be to ask in all, for a plan; none of it is sent."""
        ...

    def next_round(self, n: int, items: Iterable[Item], rows: Iterable[Row], seed: int) -> Iterator[Ask]:
        """The questions of round `n`, counted from 0, after the rows of those before it; nothing when it is over.

        `items` are the stage's own, as the run has kept them.
        """
        ...

    def read(self, thread: Thread) -> Iterator[Row]:
        """One row of the task's own columns for each turn, in order."""
        ...

    def spec(self) -> dict[str, Any]:
        """Plain values from which the same kind of task makes it again, without its study."""
        ...


def alike_in(task: Task | Rounds) -> Callable[[Arm], Row]:
    """What `read` of this task leaves out because the arm tells it."""
    return task.alike if isinstance(task, AlikeInArms) else lambda _: {}
