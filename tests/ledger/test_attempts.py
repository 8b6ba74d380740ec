"""Attempts as they are read while others are written."""

import sqlite3
from pathlib import Path

import pytest

from overnight.core.errors import LedgerError
from overnight.core.shard import Shard, token_of
from overnight.ledger.connection import connect
from overnight.ledger.ledger import Ledger
from overnight.ledger.transaction import Transaction, View


def begin(db: sqlite3.Connection, n: int) -> None:
    """One more attempt of the first shard, with its first event."""
    token = token_of("run", "stage", "arm", 1, n)
    shard = Shard(id=1, arm=1, rows=1, bytes=1)
    Transaction(db).attempts.intend(shard, n, token, 1, estimate=1, sha256="", at=0.0)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    Ledger(path).close()
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("INSERT INTO shard VALUES(1, 1, 1, 1, 0.0, 0, 0.0)")
        begin(db, 1)
    return path


def test_attempts_can_be_read_while_one_begins(ledger: Path) -> None:
    """Between any two statements of the reader, somebody else commits an attempt with its first event."""
    reader, writer = connect(ledger, read_only=True), sqlite3.connect(ledger, isolation_level=None)
    begun = [1]

    def between(statement: str) -> None:
        if statement.startswith("SELECT"):
            begun.append(begun[-1] + 1)
            begin(writer, begun[-1])

    reader.set_trace_callback(between)
    found = View(reader).attempts.everything()
    reader.set_trace_callback(None)
    assert [attempt.n for attempt in found] == begun[: len(found)]
    assert {attempt.state for attempt in found} == {"intended"}
    assert len(View(reader).attempts.everything()) == len(begun)
    reader.close()
    writer.close()


def test_an_event_of_no_attempt_is_named(ledger: Path) -> None:
    with sqlite3.connect(ledger, isolation_level=None) as db:
        db.execute("UPDATE event SET attempt=7")
        with pytest.raises(LedgerError, match="an event is of attempt 7, which is not on record"):
            View(db).attempts.everything()
