"""What is SQLite's own: versions, damaged files, full disks, and how durable a commit is."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from overnight.core.errors import LedgerError, LedgerTooNew
from overnight.ledger.connection import connect
from overnight.ledger.ledger import Ledger
from overnight.ledger.schema import MIGRATIONS
from overnight.ledger.transaction import Transaction


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a ledger with ? and # and %.db"


def put(tx: Transaction, name: str) -> None:
    tx.facts.keep(name, "1")


def names(path: Path) -> list[str]:
    db = connect(path, read_only=True)
    try:
        return [row[0] for row in db.execute("SELECT name FROM fact ORDER BY name")]
    finally:
        db.close()


def test_a_ledger_of_a_newer_version_is_refused_untouched(path: Path) -> None:
    Ledger(path).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(LedgerTooNew, match=f"written by a newer Overnight; this one reads up to {len(MIGRATIONS)}"):
        Ledger(path)
    assert path.read_bytes() == before


def test_what_is_no_ledger_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"this is not a database at all, not even close to one, but long enough")
    with pytest.raises(LedgerError, match="it is damaged"):
        Ledger(tmp_path / "x.db")


def test_a_full_disk_fails_every_waiting_fact_and_keeps_the_old_ones(path: Path) -> None:
    db = Ledger(path)
    db.write("a", lambda tx: put(tx, "a")).result()
    pages = db.write("limit", lambda tx: tx._db.execute("PRAGMA max_page_count=45").fetchone()[0]).result()
    assert pages == 45

    def large(tx: Transaction) -> None:
        tx._db.execute("INSERT INTO fact VALUES('large', ?)", ("x" * 1_000_000,))

    with pytest.raises((LedgerError, sqlite3.Error)):
        db.write("large", large).result()
    db.write("b", lambda tx: put(tx, "b")).result()
    db.close()
    assert names(path) == ["a", "b"]


def test_durability_is_not_negotiable(path: Path) -> None:
    db = Ledger(path)
    found = db.write(
        "pragmas",
        lambda tx: [tx._db.execute(f"PRAGMA {p}").fetchone()[0] for p in ("synchronous", "journal_mode")],
    )
    assert found.result() == [2, "wal"]
    db.close()


def test_a_fact_whose_transaction_sqlite_took_back_fails_them_all(path: Path) -> None:
    db = Ledger(path)

    def lost(tx: Transaction) -> None:
        tx._db.execute("ROLLBACK")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        db.write("lost", lost).result(timeout=5)
    db.write("next", lambda tx: put(tx, "next")).result(timeout=5)
    db.close()
    assert names(path) == ["next"]
