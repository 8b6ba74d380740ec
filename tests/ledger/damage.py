"""A ledger that is changed, or looked into, behind its back.

The one place for tests outside of the ledger's own that want one to be damaged, edited by a stranger or put back: they
name its tables, and everything else is asked by its verbs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any


def edit(run: Path, statement: str, *values: object) -> None:
    """One statement, as somebody with another program would give it."""
    with closing(sqlite3.connect(run / "ledger.db")) as db, db:
        db.execute(statement, values)


def edits(run: Path, *statements: str) -> None:
    for statement in statements:
        edit(run, statement)


def found(run: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """What is to be damaged, before it is."""
    with closing(sqlite3.connect(run / "ledger.db")) as db:
        return db.execute(query, values).fetchall()


def back_up(run: Path, target: Path) -> None:
    """A whole copy, as a backup tool makes it."""
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(run / "ledger.db")) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)


def columns(run: Path) -> dict[str, list[str]]:
    """By table."""
    tables = found(run, "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'")
    return {table: [row[1] for row in found(run, f"PRAGMA table_info({table})")] for (table,) in tables}


def spoiling(table: str, statement: str, column: str | None) -> Callable[[Path], None]:
    """As somebody with another program would: the constraints of the schema are taken away first."""

    def spoil(run: Path) -> None:
        if column is not None:
            with closing(sqlite3.connect(run / "ledger.db", isolation_level=None)) as db:
                db.execute("PRAGMA writable_schema=ON")
                db.execute("UPDATE sqlite_master SET sql=replace(sql, ' NOT NULL', '') WHERE name=?", (table,))
        # A key that is a row's number takes nothing but numbers.
        with closing(sqlite3.connect(run / "ledger.db", isolation_level=None)) as db, suppress(sqlite3.Error):
            db.execute(statement.replace("UPDATE", "UPDATE OR IGNORE", 1))

    return spoil
