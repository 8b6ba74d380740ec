"""Rows by the thousand in SQLite: many in one statement, because a statement of its own costs more than a row."""

import sqlite3
from collections.abc import Sequence
from functools import cache

from overnight.ledger.database import WaitingRows

# Rows in one statement: more bring nothing, and some builds of SQLite take no more values than these.
_TOGETHER = 100
_MOST_VALUES = 999
# Rows that wait for each other: SQLite then has the processor's cache to itself for a while.
_WAITING = 2_000


class BulkInsert(WaitingRows):
    """Rows for one table, written when enough of them wait, and at `flush`."""

    def __init__(
        self, db: sqlite3.Connection, into: str, width: int, *, same: Sequence[object] = (), or_ignore: bool = False
    ) -> None:
        super().__init__(width, same, _WAITING)
        self._db = db
        self._together = min(_TOGETHER, (_MOST_VALUES - len(same)) // width)
        self._many = _statement(into, len(same), width, self._together, or_ignore=or_ignore)
        self._one = _statement(into, len(same), width, 1, or_ignore=or_ignore)

    def flush(self) -> None:
        values, width, same, together = self._values, self._width, self._same, self._width * self._together
        whole = len(values) - len(values) % together
        for start in range(0, whole, together):
            self.written += self._db.execute(self._many, same + values[start : start + together]).rowcount
        if whole < len(values):
            rest = range(whole, len(values), width)
            self.written += self._db.executemany(
                self._one, (same + values[start : start + width] for start in rest)
            ).rowcount
        self.rows += len(values) // width
        self._values = []


@cache
def _statement(into: str, same: int, width: int, rows: int, *, or_ignore: bool) -> str:
    """What all rows have in common is handed over once for all of them: its marks have the same numbers in each."""
    shared = [f"?{number}" for number in range(1, same + 1)]
    starts = range(same + 1, same + 1 + rows * width, width)
    each = [",".join((*shared, *(f"?{start + place}" for place in range(width)))) for start in starts]
    ending = " ON CONFLICT DO NOTHING" if or_ignore else ""
    # Where a row is refused, more is taken back than this statement: the fact, or a savepoint in it. For one that could
    # be taken back by itself, SQLite would copy each page that it changes into a file.
    return f"INSERT OR FAIL INTO {into} VALUES ({'),('.join(each)}){ending}"
