"""`accounts.db`: what all runs together have learned of accounts. Advisory, and there once there is something in it."""

import sqlite3
import threading
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from overnight.core.opening import make_folders_above, make_private
from overnight.core.surroundings import disk_trouble
from overnight.ledger.connection import connect
from overnight.ledger.trouble import ledger_trouble

_SCHEMA = """
CREATE TABLE IF NOT EXISTS queue_limit(
    place TEXT, model TEXT, tokens INTEGER NOT NULL, PRIMARY KEY(place, model)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS density(
    place TEXT, model TEXT, bytes INTEGER NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY(place, model)) WITHOUT ROWID;
"""


class KnownAccount(NamedTuple):
    """What is remembered of one model at one account; None and nought where nothing is."""

    account: str
    model: str
    queue_limit: int | None
    bytes: int
    tokens: int


def known_accounts(path: Path) -> list[KnownAccount]:
    """Everything in the book, read from outside; nothing where there is no book."""
    if not path.exists():
        return []
    query = (
        "SELECT place, model, max(tokens), max(bytes), max(counted) FROM ("
        "SELECT place, model, tokens, 0 AS bytes, 0 AS counted FROM queue_limit "
        "UNION ALL SELECT place, model, NULL, bytes, tokens FROM density) GROUP BY 1, 2 ORDER BY 1, 2"
    )
    try:
        with closing(connect(path, read_only=True)) as db:
            return [KnownAccount._make(row) for row in db.execute(query)]
    except sqlite3.Error as error:
        raise ledger_trouble(path, error) from error


class AccountBook:
    """By account and model: how many tokens its queue holds, and how many tokens its bytes made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None
        self._opening = threading.Lock()
        # Why nothing is remembered, once that is so: no run depends on it.
        self.trouble: str | None = None

    def limits(self, account: str) -> dict[str, int]:
        rows = self._recall("SELECT model, tokens FROM queue_limit WHERE place=?", account)
        return {str(model): int(tokens) for model, tokens in rows}

    def keep_limit(self, account: str, model: str, tokens: int) -> None:
        self._remember("INSERT OR REPLACE INTO queue_limit VALUES(?,?,?)", account, model, tokens)

    def measured(self, account: str, model: str) -> tuple[int, int]:
        """(request bytes, input tokens that they were counted as), of everything so far."""
        rows = self._recall("SELECT bytes, tokens FROM density WHERE place=? AND model=?", account, model)
        return next(((int(sent), int(tokens)) for sent, tokens in rows), (0, 0))

    def add_measure(self, account: str, model: str, sent: int, tokens: int) -> None:
        self._remember(
            "INSERT INTO density VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET "
            "bytes=bytes+excluded.bytes, tokens=tokens+excluded.tokens",
            *(account, model, sent, tokens),
        )

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _recall(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        if self.trouble is not None or (self._opened is None and not self._path.exists()):
            return []
        try:
            return self._db().execute(question, values).fetchall()
        except (sqlite3.Error, OSError) as error:
            self._forget(error)
            return []

    def _remember(self, statement: str, *values: str | int) -> None:
        if self.trouble is None:
            try:
                self._db().execute(statement, values)
            except (sqlite3.Error, OSError) as error:
                self._forget(error)

    def _forget(self, error: sqlite3.Error | OSError) -> None:
        if isinstance(error, sqlite3.Error):
            told = ledger_trouble(self._path, error)
        else:
            told = disk_trouble(self._path, error)
        self.trouble = f"limits of accounts are not remembered: {told}"

    def _db(self) -> sqlite3.Connection:
        with self._opening:  # the loop and the ledger's writer both ask
            if self._opened is None:
                make_folders_above(self._path)
                make_private(self._path)
                db = sqlite3.connect(self._path, isolation_level=None, timeout=5, check_same_thread=False)
                with ExitStack() as stack:
                    stack.callback(db.close)
                    db.execute("PRAGMA journal_mode=WAL")
                    db.executescript(_SCHEMA)
                    stack.pop_all()
                self._opened = db
            return self._opened
