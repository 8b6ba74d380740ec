"""Rows by the thousand: many of them in one statement, because a statement of its own costs more than the row."""

import sqlite3
from functools import cache

# Rows in one statement: more would bring little, and hold more long texts in memory where these go with the rows.
TOGETHER = 50


def insert_rows(db: sqlite3.Connection, into: str, width: int, values: list[object]) -> int:
    """How many rows these were. `values` are those of the first row, then those of the next; each row has `width`.

    `into` is a table, with the names of its columns where not all are given.
    """
    together = width * TOGETHER
    whole = len(values) - len(values) % together
    many = _statement(into, width, TOGETHER)
    for start in range(0, whole, together):
        db.execute(many, values[start : start + together])
    rest = range(whole, len(values), width)
    db.executemany(_statement(into, width, 1), (values[start : start + width] for start in rest))
    return len(values) // width


@cache
def _statement(into: str, width: int, rows: int) -> str:
    row = f"({','.join('?' * width)})"
    return f"INSERT INTO {into} VALUES {','.join([row] * rows)}"
