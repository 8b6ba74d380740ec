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
    asks = _first_asks(stage, intake.items(stage.items()), limit)
    taken = intake.asks(asks, encode, shared=stage.dedupe)
    gone = tx.questions.removed_items(stage.name, intake.seen)
    if gone:
        message = (
            f"items: {gone:,} of those the run began with are no longer there; put them back, "
            "or start a copy with --as NAME"
        )
        raise StudyChanged(message)
    return taken


def _first_asks(stage: Stage, kept: Iterable[Item], limit: int | None) -> Iterable[Ask]:
    """What is asked before any answer is there.

    Of a task that asks in rounds, and of a stage that comes after another, only the items are kept for now.
    """
    task, seed = stage.task, stage.seed
    if isinstance(task, Rounds):
        return _nothing(kept)
    if stage.after is not None:
        return _nothing(task.start(kept, seed))  # what is wrong with an item is said before anything is paid
    if limit is None or stage.items is None:
        return task.start(kept, seed)
    chosen = stratified(task.start(stage.items(), seed), limit, seed)
    return (ask for ask in task.start(kept, seed) if address(ask) in chosen)


def _nothing(read: Iterable[object]) -> Iterator[Ask]:
    """No question, when all of this was read."""
    for _ in read:
        pass
    yield from ()
