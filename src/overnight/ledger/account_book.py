"""`accounts.db`: what all runs together have learned of accounts. Advisory, and there once there is something in it."""

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from overnight.core.errors import OvernightError
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
# Sums stay below what SQLite can hold.
_MOST = 2**53


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


class AnswerSize(NamedTuple):
    """Answers of one step of length: who gave them, to which task, how many, their tokens and their bytes as text."""

    provider: str
    model: str
    thinking: str
    task: str
    step: int
    answers: int
    tokens: int
    bytes: int


class RequestSize(NamedTuple):
    """Requests of one step of size: their bytes, and the tokens that the provider counted."""

    provider: str
    model: str
    step: int
    requests: int
    bytes: int
    tokens: int


class Turnaround(NamedTuple):
    """Batches of one step of size that came back whole: the logarithms of their seconds, summed, and their squares."""

    provider: str
    step: int
    batches: int
    sum: float
    squares: float


class Lessons(NamedTuple):
    """What all runs together have seen of answers, requests and batches."""

    answers: Sequence[AnswerSize] = ()
    requests: Sequence[RequestSize] = ()
    batches: Sequence[Turnaround] = ()


def lessons_in(path: Path) -> Lessons:
    """Read from outside; nothing where there is no book, and nothing where it cannot be read: it only advises."""
    if not path.exists():
        return Lessons()
    with suppress(sqlite3.Error, OvernightError), closing(connect(path, read_only=True)) as db:
        return Lessons(
            [AnswerSize._make(row) for row in db.execute("SELECT * FROM answer_length")],
            [RequestSize._make(row) for row in db.execute("SELECT * FROM request_size")],
            [Turnaround._make(row) for row in db.execute("SELECT * FROM turnaround")],
        )
    return Lessons()


class AccountBook:
    """By account and model: how many tokens its queue holds, and how many tokens its bytes made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None
        self._opening = threading.Lock()
        self._writing = threading.Lock()
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

    def learn(self, lessons: Lessons) -> None:
        """Added to what is known, in one transaction."""
        if self.trouble is not None:
            return
        try:
            db = self._db()
            with self._writing:
                db.execute("BEGIN IMMEDIATE")
                try:
                    self._add(db, "answer_length", ("answers", "tokens", "bytes"), lessons.answers)
                    self._add(db, "request_size", ("requests", "bytes", "tokens"), lessons.requests)
                    self._add(db, "turnaround", ("batches", "sum", "squares"), lessons.batches)
                    db.execute("COMMIT")
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
        except (sqlite3.Error, OSError) as error:
            self._forget(error)

    def _add(self, db: sqlite3.Connection, table: str, sums: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        added = ", ".join(f"{name}=min({name}+excluded.{name}, {_MOST})" for name in sums)
        for row in rows:
            marks = ",".join("?" * len(row))
            db.execute(f"INSERT INTO {table} VALUES({marks}) ON CONFLICT DO UPDATE SET {added}", row)

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
                db = self._db()
                with self._writing:  # not in the middle of another's transaction
                    db.execute(statement, values)
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
