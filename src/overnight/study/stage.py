"""One stage of a study as it was written: the keys that every task has."""

from collections.abc import Sequence
from typing import Any

import msgspec

from overnight.core.names import name_problem
from overnight.core.wording import found_text
from overnight.study.arms import Grid, check_grid
from overnight.study.handing_on import check_source
from overnight.study.items import check_items
from overnight.study.models import ModelEntry, check_models
from overnight.study.origin import Origin
from overnight.study.pace import BatchSettings, check_batch, gather_seconds
from overnight.study.phases import AfterEntry, check_after
from overnight.study.priority import PriorityEntry, check_priority
from overnight.study.prompts import check_text
from overnight.study.size import MOST_REPLICATES


class WrittenStage(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's fields in the only types that are right. A task adds keys of its own in a struct that extends this."""

    name: str
    task: str
    models: list[str | ModelEntry]
    items: Any = None
    of: str | None = None
    when: str | None = None
    take: list[str] | None = None
    group: str | None = None
    id: str | None = None
    after: str | AfterEntry | None = None
    priority: str | PriorityEntry | None = None
    empty: str | None = None
    system: str | None = None
    grid: Grid | None = None
    replicates: int = 1
    seed: int = 0
    dedupe: bool = True
    gather: str | float | None = None
    batch: BatchSettings | None = None


def check_name(name: str, what: str, origin: Origin) -> None:
    problem = name_problem(name)
    if problem is not None:
        raise origin.error(("name",), f"{found_text(name)} cannot name {what}; {problem}")


def check_numbers(stage: WrittenStage, origin: Origin) -> None:
    if stage.id is not None and not stage.id:
        raise origin.error(("id",), "wanted the name of a column")
    if not 1 <= stage.replicates <= MOST_REPLICATES:
        raise origin.error(("replicates",), f"{stage.replicates:,} is not between 1 and {MOST_REPLICATES:,}")
    if stage.seed < 0:
        raise origin.error(("seed",), f"{stage.seed} is less than 0")


def check_stage(stage: WrittenStage, origin: Origin, item_keys: Sequence[str] = ()) -> None:
    """Everything that can be known of the common keys without opening a file or asking a provider.

    `item_keys` are keys of the task's own that may name the items.
    """
    check_source(stage, origin, item_keys)
    if stage.items is not None:
        check_items(stage.items, origin)
    if stage.system is not None:
        check_text(stage.system, origin, ("system",))
    check_models(stage.models, origin)
    check_grid(stage.grid, origin)
    check_after(stage.after, origin, has_items=stage.of is None)
    check_priority(stage.priority, origin, has_items=stage.of is None)
    check_batch(stage.batch, origin)
    if stage.gather is not None:
        gather_seconds(stage.gather, origin)
