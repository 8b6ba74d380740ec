"""A kind of task: one object that says everything about it that is only its own.

The rest of the house knows no task by name. A task's kind is found by the entry point `overnight.tasks`, under the
name that a study writes after `task:`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from overnight.core.ask import Arm
from overnight.core.stage import Beside, Stage
from overnight.core.task import Rounds, Task
from overnight.study.arms import Branch
from overnight.study.buckets import StudyBuckets
from overnight.study.files import Rows
from overnight.study.items import ItemSource, Need
from overnight.study.origin import Origin, Route
from overnight.study.stage import WrittenStage

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from overnight.reporting.parts import Section, Source


class Made(NamedTuple):
    """A task, and what the user should know of it before paying."""

    task: Task | Rounds
    notes: tuple[str, ...] = ()


class Draft(NamedTuple):
    """A stage half made: its texts read, its models found and its arms named; its items are not opened yet.

    `make` is called with the table that the stage's items go back to. `definition` holds, in plain values, what of the
    task's own keys defines its questions. `needs` is what is asked of each item, by the place that asks it. `rows`
    are the items, where keys of the task's own name them. `beside` is a second stage: see `beside_key` of the kind.
    """

    stage: WrittenStage
    origin: Origin
    branches: tuple[Branch, ...]
    make: Callable[[ItemSource], Made]
    definition: Mapping[str, Any]
    needs: Mapping[Route, Need] = {}
    notes: tuple[str, ...] = ()
    rows: Rows | None = None
    beside: Beside | None = None


def _all_is_well(stage: Any, origin: Origin) -> None:
    """For a task whose keys are right as soon as their types are."""


def _nothing_grows(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG001 - see the type
    return iter(())


def _no_tables(results: Path, stages: Sequence[Stage]) -> Iterator[tuple[str, "pl.LazyFrame"]]:  # noqa: ARG001 - see the type
    """For a task whose rows are all that it tells."""
    return iter(())


def _none_of_its_stages(table: str, folder: Path) -> str:  # noqa: ARG001 - see the type
    return f"{table}: none of its stages makes any"


def _no_summary(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator["RenderableType"]:  # noqa: ARG001 - see the type
    return iter(())


def _no_sections(source: "Source") -> Iterator["Section"]:  # noqa: ARG001 - see the type
    return iter(())


class OwnFlags(Protocol):
    """A task's own flags: a frozen dataclass, each field with its help. Its docstring is the command's help page."""

    def keys(self) -> dict[str, Any]:
        """The flags as a study writes them; None for what is not given."""
        ...


@runtime_checkable
class NamesModels(Protocol):
    """Flags that may name models in a way of their own, beside `--model`."""

    def models(self) -> list[dict[str, Any]]:
        """As a study writes them; none where they name none."""
        ...


@runtime_checkable
class Exports(Protocol):
    """Flags that may ask for files beside the run's own."""

    def export(self, tables: Path, stages: Sequence[Stage]) -> Iterator[str]:
        """Writes them, once a pass has ended; a line for each place."""
        ...


@dataclass(frozen=True, kw_only=True)
class Command:
    """`overnight NAME`: the task from flags, without a study file. Who is asked and how it is sent, every task has.

    `flags` is called `Flags` in the module of the task's entry point: its help is read from there without loading it.
    """

    flags: type[OwnFlags]
    # The help of the parameter that names the items; its name; and whether it stands without a flag. None: there is
    # no such parameter. `optional`: own flags may name items and models as well.
    items_help: str | None
    optional: bool = False
    items_name: str = "items"
    positional: bool = False
    # How a run is called by default, after "Name of the run; default: ".
    named: str = "the task's and the items' file name"


@dataclass(frozen=True, kw_only=True)
class TaskKind:
    """What a task is, for everybody else."""

    name: str
    # The keys of a stage: the common ones and the task's own. Each is checked with its place in the study.
    settings: type[WrittenStage]
    # From what was written to a stage half made: templates, arms, what each item must have.
    draft: Callable[[Any, Origin, StudyBuckets | None], Draft]
    # The task again as a run remembers it: its arms, and what its `spec` said.
    open: Callable[[Sequence[Arm], Mapping[str, Any]], Task | Rounds]
    # What is wrong with the own keys and can be known without opening a file: raised as `origin.error(...)`.
    check: Callable[[Any, Origin], None] = _all_is_well
    # Keys of its own that may name the items, instead of `items` and `of`: its draft then has their rows.
    item_keys: tuple[str, ...] = ()
    # A key of its own that names an earlier stage, beside `of`: what that stage says goes with the rows of `of`.
    beside_key: str | None = None
    # Fields of the items that a stage of it writes for later ones, besides those of its own items. Where there are
    # any, these items are handed on when the stage is over, and not its rows: its tasks are `MakesItems` then.
    makes: tuple[str, ...] = ()
    # Fields of the definition that may not change while a run goes on.
    fixed: tuple[str, ...] = ()
    # A sentence for each change of the other fields that is more than an addition.
    differences: Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[str]] = _nothing_grows
    # What a stage of it measures of models and items, by which these may move on to a later phase: its tasks are
    # `Measures` then. Each has its limits too: `rate`, `rate_lwr`, `rate_upr`.
    measures: tuple[str, ...] = ()
    # Why questions that are chosen in rounds cannot be sampled or written down beforehand, and what to do instead.
    in_rounds: str = "its questions are chosen by the answers to others"
    # The tables that it makes beside results.parquet, by their names, and how they are made at the end of every pass:
    # from that file, for the stages of this kind. Kinds may make rows of the same table; then it holds those of all.
    # A table that is not made is not there.
    tables: tuple[str, ...] = ()
    make_tables: Callable[[Path, Sequence[Stage]], Iterator[tuple[str, "pl.LazyFrame"]]] = _no_tables
    # How it goes on after "run 'x' has no ": what the table is called, and why it is not there.
    missing_table: Callable[[str, Path], str] = _none_of_its_stages
    # What is shown when a run has ended, and under its results: from the tables in the folder, the run's name, and a
    # function that makes a command as the user would type it. Kinds that share a summary share one function: it is
    # called once.
    summary: Callable[[Path, str, Callable[[str], str]], Iterator["RenderableType"]] = _no_summary
    # Its sections of the run's report, from the run's tables and items: plain data, which is drawn elsewhere.
    report: Callable[["Source"], Iterator["Section"]] = _no_sections
    # Files of other programs that a run's tables can be written as, by how their names end: from the tables' folder,
    # for any run that has what it takes.
    exports: Mapping[str, Callable[[Path], bytes]] = field(default_factory=dict)
    # Its command: a study from flags.
    command: "Command | None" = None
    # Where a whole table may stand in the own keys, besides `items`: it is left as it is.
    holds_tables: tuple[Route, ...] = ()
