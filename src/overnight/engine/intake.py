"""A stage's questions go on record: all of them in one transaction, or none."""

import sqlite3
from collections.abc import Callable, Iterable

import msgspec

from overnight.core.ask import Arm, Ask, Item
from overnight.core.errors import StudyChanged
from overnight.engine.sampling import address, stratified
from overnight.ledger.folder import RunFolder
from overnight.ledger.identity import get_fact, set_fact
from overnight.ledger.questions import Intake, Taken, removed_items
from overnight.tasks._contract import Task


class StageInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a stage brings: its task and arms, and its items as often as they are asked for."""

    name: str
    task: Task
    arms: tuple[Arm, ...]
    items: Callable[[], Iterable[Item]]
    seed: int = 0
    dedupe: bool = True


def take_stage(
    db: sqlite3.Connection,
    folder: RunFolder,
    stage: StageInput,
    encode: Callable[[Ask], bytes],
    limit: int | None = None,
) -> Taken:
    """Put the stage's questions on record; those already there are passed over."""
    intake = Intake(db, folder, (stage.name, stage.task.name, stage.task.version), stage.arms)
    counted = _Counted(stage.items)
    asks: Iterable[Ask] = stage.task.start(intake.items(counted.items()), stage.seed)
    if limit is not None:
        chosen = stratified(stage.task.start(stage.items(), stage.seed), limit, stage.seed)
        asks = (ask for ask in asks if address(ask) in chosen)
    taken = intake.asks(asks, encode, shared=stage.dedupe)
    gone = removed_items(db, stage.name, counted.count)
    if gone:
        message = (
            f"items: {gone:,} of those the run began with are no longer there; put them back, "
            "or start a copy with --as NAME"
        )
        raise StudyChanged(message)
    set_fact(db, "shared", str(int(get_fact(db, "shared") or "0") + taken.shared))
    return taken


class _Counted:
    def __init__(self, items: Callable[[], Iterable[Item]]) -> None:
        self._items = items
        self.count = 0

    def items(self) -> Iterable[Item]:
        for item in self._items():
            self.count += 1
            yield item
