"""Whether more is to be asked because of what has landed: told from the records, while nobody works on the run."""

import sqlite3

import msgspec

from overnight.engine.intake import StageSettings
from overnight.ledger.identity import StageRow, stages
from overnight.ledger.threads import landed_slots, last_round
from overnight.tasks import open_task
from overnight.tasks._contract import Rounds, Task

_ALL = 1_000_000_000


def more_follows(db: sqlite3.Connection) -> bool:
    """A next turn, a next round, or rows for a later stage: answers have landed, and the process ended before these."""
    known = {row.name: (row, _task(row)) for row in stages(db)}
    for row, task in known.values():
        if isinstance(task, Rounds):
            last = last_round(db, row.id)
            if last is None or last.asks > 0:
                return True
        elif task.multi_turn and landed_slots(db, row.id, row.id, over=False, attempt=None, limit=1):
            return True
        settings = msgspec.json.decode(row.settings, type=StageSettings)
        if settings.of is not None:
            source, its_task = known[settings.of]
            over = not isinstance(its_task, Rounds) and its_task.multi_turn
            landed = landed_slots(db, source.id, row.id, over=over, attempt=None, limit=_ALL)
            if any(slot.outcome in settings.take for slot in landed):
                return True
    return False


def _task(row: StageRow) -> Task | Rounds:
    return open_task(row.task, (), msgspec.json.decode(row.spec))
