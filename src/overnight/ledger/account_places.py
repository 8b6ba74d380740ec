"""Where what runs have learned of accounts is kept: a file beside the runs, or the database that keeps them."""

import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from overnight.core.errors import OvernightError
from overnight.core.opening import make_folders_above, make_private
from overnight.core.surroundings import disk_trouble
from overnight.ledger.connection import SqliteDatabase, connect
from overnight.ledger.database import Database
from overnight.ledger.postgres import address as postgres
from overnight.ledger.postgres.dialect import SHARED
from overnight.ledger.postgres.registry import found_database, founding, has_table, looking
from overnight.ledger.trouble import ledger_trouble

SCHEMA = """
CREATE TABLE IF NOT EXISTS queue_limit(
    place TEXT, model TEXT, tokens INTEGER NOT NULL, PRIMARY KEY(place, model)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS density(
    place TEXT, model TEXT, bytes INTEGER NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY(place, model)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answer_length(
    provider TEXT, model TEXT, thinking TEXT, task TEXT, step INTEGER,
    answers INTEGER NOT NULL, tokens INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY(provider, model, thinking, task, step)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS request_size(
    provider TEXT, model TEXT, step INTEGER,
    requests INTEGER NOT NULL, bytes INTEGER NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY(provider, model, step)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turnaround(
    provider TEXT, step INTEGER, batches INTEGER NOT NULL, sum REAL NOT NULL, squares REAL NOT NULL,
    PRIMARY KEY(provider, step)) WITHOUT ROWID;
"""
# What runs of a database have at their accounts now: those who share an account share its room.
_IN_USE = """
CREATE TABLE IF NOT EXISTS account_use(
    account TEXT, model TEXT, run TEXT, batches INTEGER NOT NULL, tokens INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY(account, model, run)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS account_create(
    account TEXT, run TEXT, at REAL, PRIMARY KEY(account, run, at)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS account_doubt(
    account TEXT PRIMARY KEY, run TEXT NOT NULL, name TEXT NOT NULL, possible INTEGER NOT NULL, at REAL NOT NULL)
    WITHOUT ROWID;
"""
# The table that came last: where it is, all are.
_LAST = "account_doubt"


class AccountPlace(Protocol):
    # Whether runs tell one another what they have at their accounts.
    shared: bool

    def is_there(self) -> bool: ...

    def open(self) -> Database:
        """Made where there was none."""
        ...

    def look(self) -> Database:
        """To be read, and closed by who asked."""
        ...

    def trouble(self, error: Exception) -> OvernightError | None:
        """An error of the file or the database in words; None for any other."""
        ...


class AccountFile:
    """`accounts.db` beside the runs. A folder that is taken away says nothing: what runs have now is not kept here."""

    shared = False

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_there(self) -> bool:
        return self._path.exists()

    def open(self) -> SqliteDatabase:
        make_folders_above(self._path)
        make_private(self._path)
        db = sqlite3.connect(
            self._path, isolation_level=None, timeout=5, check_same_thread=False, factory=SqliteDatabase
        )
        with ExitStack() as stack:
            stack.callback(db.close)
            db.execute("PRAGMA journal_mode=WAL")
            db.executescript(SCHEMA)
            stack.pop_all()
        return db

    def look(self) -> SqliteDatabase:
        return connect(self._path, read_only=True)

    def trouble(self, error: Exception) -> OvernightError | None:
        if isinstance(error, sqlite3.Error):
            return ledger_trouble(self._path, error)
        return disk_trouble(self._path, error) if isinstance(error, OSError) else None


class SharedAccounts:
    """The same in the database that keeps the runs: all who work there learn from one another."""

    shared = True

    def __init__(self, address: postgres.Address, *, rehearsal: bool) -> None:
        self._address = address
        # Rehearsals have what they learn for themselves.
        self._schema = f"{SHARED}_rehearsal" if rehearsal else SHARED

    def is_there(self) -> bool:
        return has_table(looking(self._address), self._schema, "queue_limit")

    def open(self) -> Database:
        db = postgres.connect(self._address, schema=self._schema)
        with ExitStack() as stack:
            stack.callback(db.close)
            found_database(db, self._address)
            if not has_table(db, self._schema, _LAST):
                with founding(db):
                    for statement in (f"CREATE SCHEMA IF NOT EXISTS {self._schema}", *_in_postgres().split(";\n")):
                        db.execute(statement)
            stack.pop_all()
        return db

    def look(self) -> Database:
        return postgres.connect(self._address, schema=self._schema, read_only=True)

    def trouble(self, error: Exception) -> OvernightError | None:
        if isinstance(error, OvernightError):
            return error
        return postgres.refused(self._address.shown, error) if isinstance(error, postgres.driver().Error) else None


def _in_postgres() -> str:
    text = (
        (SCHEMA.strip() + _IN_USE)
        .strip()
        .removesuffix(";")
        .replace(" WITHOUT ROWID", "")
        .replace(" INTEGER", " BIGINT")
    )
    return text.replace(" REAL", " DOUBLE PRECISION").replace(" TEXT", ' TEXT COLLATE "C"')
