"""Rows by the thousand: many of them in one statement, because a statement of its own costs more than the row."""

import sqlite3
from functools import cache

# Rows in one statement: more bring nothing, and some builds of SQLite take no more than a thousand values.
_TOGETHER = 100
# Rows that wait for each other: SQLite then has the processor's cache to itself for a while.
_WAITING = 2_000


class Bulk:
    """Rows for one table, written when enough of them wait, and at `flush`."""

    def __init__(self, db: sqlite3.Connection, into: str, width: int) -> None:
        """`into` is a table, with the names of its columns where not all are given; `width` is how many there are."""
        self._db = db
        self._width = width
        self._many, self._one = _statement(into, width, _TOGETHER), _statement(into, width, 1)
        # The values of the first row, then those of the next.
        self._values: list[object] = []
        self.rows = 0

    def add(self, values: list[object]) -> None:
        """Whole rows, one after another."""
        self._values += values
        if len(self._values) >= _WAITING * self._width:
            self.flush()

    def flush(self) -> None:
        values, width, together = self._values, self._width, self._width * _TOGETHER
        whole = len(values) - len(values) % together
        for start in range(0, whole, together):
            self._db.execute(self._many, values[start : start + together])
        rest = range(whole, len(values), width)
        self._db.executemany(self._one, (values[start : start + width] for start in rest))
        self.rows += len(values) // width
        self._values = []


@cache
def _statement(into: str, width: int, rows: int) -> str:
    row = f"({','.join('?' * width)})"
    return f"INSERT INTO {into} VALUES {','.join([row] * rows)}"
