"""Whether more is to be asked because of what has landed: told from the records, while nobody works on the run."""

import sqlite3
from collections.abc import Sequence

from overnight.core.stage import Stage
from overnight.core.task import Rounds
from overnight.ledger.threads import landed_slots, last_round

_ALL = 1_000_000_000


def more_follows(db: sqlite3.Connection, stages: Sequence[Stage]) -> bool:
    """A next turn, a next round, or rows for a later stage: answers have landed, and the process ended before these."""
    known = {stage.name: stage for stage in stages}
    for stage in stages:
        if isinstance(stage.task, Rounds):
            last = last_round(db, stage.id)
            if last is None or last.asks > 0:
                return True
        elif stage.task.most_turns > 1 and landed_slots(db, stage.id, stage.id, over=False, attempt=None, limit=1):
            return True
        if stage.of is not None:
            source = known[stage.of]
            over = source.task.most_turns > 1
            landed = landed_slots(db, source.id, stage.id, over=over, attempt=None, limit=_ALL)
            if any(slot.outcome in stage.take for slot in landed):
                return True
    return False
