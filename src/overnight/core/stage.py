"""One stage, from the study to the engine: its task and arms, where its items come from, and how they travel."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from overnight.core.ask import Arm, Item
from overnight.core.handed_on import Group
from overnight.core.screening import After
from overnight.core.task import Rounds, Task

When = Literal["landed", "done"]

# Seconds that few new questions wait for others, so that few large batches are made and not many small ones.
GATHER = 600.0


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """A second stage, which says something about what the rows of the first one name.

    A row's field `by` holds the id of an item of that stage; the answer about this item goes with the row, as `field`.
    A row without such an answer is not handed on.
    """

    stage: str
    by: str
    field: str


class StageRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a run keeps of a stage beside its task: where its items come from, and how its questions are drawn.

    Its items are a table of its own, or the rows of the stage `of`: those with a status that `take` names, each
    when it has landed, or all of them when that stage is done; one by one, or all of a `group` as one item.

    `after`: nothing is asked before another stage is over, and then what moves on. `priority` is the column of the
    items that says what is asked first.
    """

    of: str | None = None
    when: When = "landed"
    take: tuple[str, ...] = ("answered",)
    group: Group | None = None
    beside: Beside | None = None
    seed: int = 0
    dedupe: bool = True
    round_deadline: float | None = None
    after: After | None = None
    priority: str | None = None


class StagePace(msgspec.Struct, frozen=True, kw_only=True):
    """How a stage's rows are cut and gathered. None of it changes what is asked."""

    max_requests: int | None = None
    segments: int | None = None
    # The account's own floor: what a provider says of its accounts in general need not hold for all of them.
    min_requests: int | None = None
    gather: float = GATHER

    def least(self, usual: int) -> int:
        """The fewest rows in a batch, at a provider that usually takes no fewer than this."""
        return self.min_requests if self.min_requests is not None and usual > 1 else usual


class Stage(StageRules, frozen=True, kw_only=True, eq=False):
    """A stage with everything that is needed to ask its questions and to read the answers."""

    name: str
    task: Task | Rounds
    arms: tuple[Arm, ...]
    # As often as they are asked for. None: they come from an earlier stage, the task needs none, or the run has them.
    items: Callable[[], Iterable[Item]] | None = None
    pace: StagePace = StagePace()
    # What the user should know before paying.
    notes: tuple[str, ...] = ()
    # Its number in the run's ledger, once it is on record.
    id: int = 0

    @property
    def rules(self) -> StageRules:
        return StageRules(**{field: getattr(self, field) for field in StageRules.__struct_fields__})


def is_beside(stage: Stage, stages: Sequence[Stage]) -> bool:
    """Whether its answers go with the rows of others: then a sample of the others still needs all of it."""
    return any(one.beside is not None and one.beside.stage == stage.name for one in stages)
