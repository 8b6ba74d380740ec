"""Rows by the thousand in SQLite: many in one statement, because a statement of its own costs more than a row."""

import sqlite3
from collections.abc import Iterable
from functools import cache

# Rows in one statement: more bring nothing, and some builds of SQLite take no more values than these.
_TOGETHER = 100
_MOST_VALUES = 999
# Rows that wait for each other: SQLite then has the processor's cache to itself for a while.
_WAITING = 2_000
# A count that is not there: None is what sqlite3 binds most slowly of all.
NO_COUNT = -1


class BulkInsert:
    """Rows for one table, written when enough of them wait, and at `flush`."""

    def __init__(
        self, db: sqlite3.Connection, into: str, width: int, *, or_ignore: bool = False, counts: int = 0
    ) -> None:
        self._db = db
        self._width = width
        self._together = min(_TOGETHER, _MOST_VALUES // width)
        self._many = _statement(into, width, counts, self._together, or_ignore=or_ignore)
        self._one = _statement(into, width, counts, 1, or_ignore=or_ignore)
        # The values of the first row, then those of the next.
        self._values: list[object] = []
        self.rows = 0
        self.written = 0

    def add(self, values: Iterable[object]) -> None:
        self._values += values
        if len(self._values) >= _WAITING * self._width:
            self.flush()

    def flush(self) -> None:
        values, width, together = self._values, self._width, self._width * self._together
        whole = len(values) - len(values) % together
        for start in range(0, whole, together):
            self.written += self._db.execute(self._many, values[start : start + together]).rowcount
        if whole < len(values):
            rest = range(whole, len(values), width)
            self.written += self._db.executemany(self._one, (values[start : start + width] for start in rest)).rowcount
        self.rows += len(values) // width
        self._values = []


@cache
def _statement(into: str, width: int, counts: int, rows: int, *, or_ignore: bool) -> str:
    marks = [*["?"] * (width - counts), *[f"nullif(?,{NO_COUNT})"] * counts]
    row = f"({','.join(marks)})"
    ending = " ON CONFLICT DO NOTHING" if or_ignore else ""
    return f"INSERT INTO {into} VALUES {','.join([row] * rows)}{ending}"
