"""What all runs together have learned of an account: queue limits, and how many tokens a byte makes.

Advisory: losing it costs a refusal or two, never a row.
"""

import sqlite3
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from overnight.core.opening import make_private
from overnight.core.surroundings import disk_trouble, ledger_trouble
from overnight.engine.decisions import Learned
from overnight.providers.contract import Provider

# Before anything was measured: a little over what English text makes, so that room is not overestimated.
DEFAULT_TOKENS_PER_BYTE = 0.28
# From here on a measure is better than the default.
_ENOUGH_BYTES = 1000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS queue_limit(
    place TEXT, model TEXT, tokens INTEGER NOT NULL, PRIMARY KEY(place, model)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS density(
    place TEXT, model TEXT, bytes INTEGER NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY(place, model)) WITHOUT ROWID;
"""


def place_of(provider: Provider) -> str:
    endpoint = provider.endpoint
    where = endpoint.identity or endpoint.base_url
    return "|".join((provider.name, where, endpoint.organization or "", endpoint.project or ""))


class AccountHistory:
    """Its file is there once there is something to remember."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None
        self._opening = threading.Lock()
        # Why nothing is remembered, once that is so: no run depends on it.
        self.trouble: str | None = None

    def limits(self, provider: Provider) -> dict[str, Learned]:
        rows = self._recall("SELECT model, tokens FROM queue_limit WHERE place=?", place_of(provider))
        return {str(model): Learned(token_limit=int(tokens)) for model, tokens in rows}

    def remember_limit(self, provider: Provider, model: str, tokens: int) -> None:
        self._remember("INSERT OR REPLACE INTO queue_limit VALUES(?,?,?)", place_of(provider), model, tokens)

    def tokens_per_byte(self, provider: Provider, model: str) -> float:
        rows = self._recall("SELECT bytes, tokens FROM density WHERE place=? AND model=?", place_of(provider), model)
        return next((tokens / sent for sent, tokens in rows if sent >= _ENOUGH_BYTES), DEFAULT_TOKENS_PER_BYTE)

    def remember_density(self, provider: Provider, model: str, sent: int, tokens: int) -> None:
        """So many request bytes were counted as so many input tokens."""
        if sent and tokens:
            self._remember(
                "INSERT INTO density VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET "
                "bytes=bytes+excluded.bytes, tokens=tokens+excluded.tokens",
                *(place_of(provider), model, sent, tokens),
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
                self._path.parent.mkdir(parents=True, exist_ok=True)
                make_private(self._path)
                db = sqlite3.connect(self._path, isolation_level=None, timeout=5, check_same_thread=False)
                with ExitStack() as stack:
                    stack.callback(db.close)
                    db.execute("PRAGMA journal_mode=WAL")
                    db.executescript(_SCHEMA)
                    stack.pop_all()
                self._opened = db
            return self._opened
