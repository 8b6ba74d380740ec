"""A ledger of an older version in PostgreSQL: it is brought to this one by SQLite's migrations, in a copy.

So there is one list of migrations. One that has to read a run's files, as an early one does, would need more than that.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from overnight.ledger.connection import SqliteDatabase
from overnight.ledger.database import bring_rows
from overnight.ledger.postgres.dialect import SHARED
from overnight.ledger.postgres.tables import VERSION, statements
from overnight.ledger.questions import build_indexes
from overnight.ledger.schema import MIGRATIONS, migrate
from overnight.ledger.sqlite_damage import tables_of, tables_of_today

if TYPE_CHECKING:
    from overnight.ledger.postgres.connection import PostgresDatabase

_NO_FOLDER = Path("a ledger in a database")


def up_to_date_copy(db: PostgresDatabase, found: int, place: str = ":memory:") -> SqliteDatabase:
    """All that a ledger of that version holds at one moment, in SQLite and as this version has it."""
    copy = sqlite3.connect(place, isolation_level=None, check_same_thread=False, factory=SqliteDatabase)
    with ExitStack() as stack:
        stack.callback(copy.close)
        copy.execute("PRAGMA journal_mode=OFF")  # nobody needs it after a crash
        for step in MIGRATIONS[:found]:
            step(copy, _NO_FOLDER)
        copy.execute(f"PRAGMA user_version={found}")
        db.begin_reading()
        stack.callback(db.roll_back)
        copy.execute("BEGIN")
        for table, columns in tables_of(copy).items():
            bring_rows(db, copy, table, [column.name for column in columns])
        copy.execute("COMMIT")
        migrate(copy, _NO_FOLDER)
        copy.execute("PRAGMA query_only=ON")
        stack.pop_all()
    db.roll_back()
    return copy


def bring_up_to_date(db: PostgresDatabase, run: int, found: int) -> None:
    """In one transaction, under the lease of who writes."""
    with tempfile.TemporaryDirectory(prefix="overnight-") as scratch:
        place = str(Path(scratch) / "ledger.db")
        with closing(up_to_date_copy(db, found, place)) as copy:
            db.begin()
            try:
                tables = db.execute("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname=current_schema()")
                for (table,) in tables.fetchall():
                    db.execute(f'DROP TABLE "{table}"')
                for statement in statements():
                    db.execute(statement)
                for table, columns in tables_of_today().items():
                    bring_rows(copy, db, table, [column.name for column in columns])
                build_indexes(db)
                db.execute(f"UPDATE {SHARED}.run SET version=? WHERE number=?", (VERSION, run))
                db.commit()
            except BaseException:
                db.roll_back()
                raise
