"""A stage's questions go on record: all of them in one transaction, or none."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from overnight.core.ask import Ask, Item
from overnight.core.errors import StudyChanged
from overnight.core.stage import Stage
from overnight.core.task import Rounds
from overnight.engine.flow.sampling import address, stratified
from overnight.ledger.questions import Taken
from overnight.ledger.transaction import Transaction
from overnight.store.contract import Store


def take_stage(
    tx: Transaction,
    files: Store,
    stage: Stage,
    encode: Callable[[Ask], bytes],
    limit: int | None = None,
) -> Taken:
    """Put the stage and its first questions on record; those already there are passed over."""
    task = stage.task
    intake = tx.intake(files, (stage.name, task.name, task.version), stage.arms, stage.priority)
    spec, kept = (msgspec.json.encode(part).decode() for part in (task.spec(), stage.rules))
    tx.stages.describe(intake.stage, spec, kept)
    if stage.items is None:
        return Taken(items=0, slots=0, asks=0, shared=0)
    counted = _Counted(stage.items)
    asks = _first_asks(stage, intake.items(counted.items()), limit)
    taken = intake.asks(asks, encode, shared=stage.dedupe)
    gone = tx.questions.removed_items(stage.name, counted.count)
    if gone:
        message = (
            f"items: {gone:,} of those the run began with are no longer there; put them back, "
            "or start a copy with --as NAME"
        )
        raise StudyChanged(message)
    return taken


def _first_asks(stage: Stage, kept: Iterable[Item], limit: int | None) -> Iterator[Ask]:
    """What is asked before any answer is there.

    Of a task that asks in rounds, and of a stage that comes after another, only the items are kept for now.
    """
    task, seed = stage.task, stage.seed
    if isinstance(task, Rounds):
        for _ in kept:
            pass
        return
    if stage.after is not None:
        for _ in task.start(kept, seed):
            pass  # what is wrong with an item is said before anything is paid
        return
    if limit is None or stage.items is None:
        yield from task.start(kept, seed)
        return
    chosen = stratified(task.start(stage.items(), seed), limit, seed)
    yield from (ask for ask in task.start(kept, seed) if address(ask) in chosen)


class _Counted:
    def __init__(self, items: Callable[[], Iterable[Item]]) -> None:
        self._items = items
        self.count = 0

    def items(self) -> Iterable[Item]:
        for item in self._items():
            self.count += 1
            yield item
