"""What a file of SQLite's can have that no ledger has: torn pages, missing tables, values of another kind."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from overnight.ledger.schema import migrate

_KINDS = {"INTEGER": ("integer",), "REAL": ("real", "integer"), "TEXT": ("text",), "BLOB": ("blob",)}
LAST_TIME = 253_402_300_799  # the end of the year 9999, past which there is no date


class Column(NamedTuple):
    """A column as this version makes it: its type in SQLite's words, and its place in the primary key, from 1 on."""

    number: int
    name: str
    declared: str
    not_null: int
    default: str | None
    key: int


def tables_of_today() -> dict[str, list[Column]]:
    """Every table that a new ledger has, with its columns in their order."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as wanted:
        migrate(wanted, Path("a new ledger"))
        return tables_of(wanted)


def tables_of(db: sqlite3.Connection) -> dict[str, list[Column]]:
    names = db.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name").fetchall()
    return {name: [Column._make(row) for row in db.execute(f"PRAGMA table_info({name})")] for (name,) in names}


def damages_of_pages(db: sqlite3.Connection) -> Iterator[str]:
    (problem,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if problem != "ok":
        yield f"ledger.db is damaged: {problem}"


def damages_of_columns(db: sqlite3.Connection) -> Iterator[str]:
    """The tables are held against those that this version would make."""
    for table, columns in tables_of_today().items():
        there = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        if not there:
            yield f"the table {table} is missing"
            continue
        for column in columns:
            if column.name not in there:
                yield f"the column {table}.{column.name} is missing"
            else:
                yield from _strange_values(db, table, column)


def _strange_values(db: sqlite3.Connection, table: str, column: Column) -> Iterator[str]:
    declared = _KINDS[column.declared]
    kinds = declared if column.not_null or column.key else (*declared, "null")
    allowed = ", ".join(f"'{kind}'" for kind in kinds)
    name = f'"{column.name}"'
    query = f"SELECT count(*) FROM {table} WHERE typeof({name}) NOT IN ({allowed})"
    yield from _counted(db, query, f"{table}.{column.name} is not {' or '.join(kinds)}")
    if is_time(column.name):
        query = f"SELECT count(*) FROM {table} WHERE {name} NOT BETWEEN 0 AND {LAST_TIME}"
        yield from _counted(db, query, f"{table}.{column.name} is no time")


def is_time(column: str) -> bool:
    return column == "at" or column.endswith("_at")


def _counted(db: sqlite3.Connection, query: str, words: str) -> Iterator[str]:
    (count,) = db.execute(query).fetchone()
    if count:
        yield f"{words} in {count:,} {'row' if count == 1 else 'rows'}"
