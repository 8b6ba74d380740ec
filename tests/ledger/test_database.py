from __future__ import annotations

import asyncio
import sqlite3
import threading
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


def test_what_is_done_is_on_disk(path: Path) -> None:
    db = Ledger(path)
    db.write("a", lambda tx: put(tx, "a")).result()
    assert names(path) == ["a"]
    db.close()


def test_one_bad_fact_takes_back_only_itself(path: Path) -> None:
    db = Ledger(path)

    def half(tx: Transaction) -> None:
        put(tx, "half")
        raise ValueError("no")

    hold = threading.Event()
    first = db.write("hold", lambda _: hold.wait(5))
    together = [
        db.write("a", lambda tx: put(tx, "a")),
        db.write("half", half),
        db.write("b", lambda tx: put(tx, "b")),
    ]
    hold.set()
    assert first.result()
    with pytest.raises(ValueError, match="no"):
        together[1].result()
    together[0].result()
    together[2].result()
    assert names(path) == ["a", "b"]
    db.close()


def test_many_writers_share_few_commits(path: Path) -> None:
    db = Ledger(path)
    futures = [db.write(str(n), lambda tx, n=n: put(tx, f"{n:04d}")) for n in range(500)]
    for future in futures:
        future.result()
    assert len(names(path)) == 500
    db.close()


def test_closing_finishes_what_was_handed_in(path: Path) -> None:
    db = Ledger(path)
    future = db.write("last", lambda tx: put(tx, "last"))
    db.close()
    assert future.done()
    assert names(path) == ["last"]


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
    pages = db.write("limit", lambda tx: tx._db.execute("PRAGMA max_page_count=40").fetchone()[0]).result()
    assert pages == 40

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


def test_a_cancelled_fact_is_not_run_and_the_next_one_is_written(path: Path) -> None:
    db = Ledger(path)
    hold = threading.Event()
    first = db.write("hold", lambda _: hold.wait(5))
    cancelled = db.write("cancelled", lambda tx: put(tx, "cancelled"))
    assert cancelled.cancel()
    hold.set()
    assert first.result()
    db.write("next", lambda tx: put(tx, "next")).result(timeout=5)
    db.close()
    assert names(path) == ["next"]


def test_a_commit_that_is_cancelled_while_it_runs_is_kept_and_hurts_nobody(path: Path) -> None:
    db = Ledger(path)
    begun, hold = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        begun.set()
        hold.wait(5)
        put(tx, "slow")

    async def cancelled_commit() -> None:
        task = asyncio.create_task(db.commit("slow", slow))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        hold.set()
        await asyncio.wait_for(db.commit("next", lambda tx: put(tx, "next")), 5)

    asyncio.run(cancelled_commit())
    db.close()
    assert names(path) == ["next", "slow"]


class Odd(BaseException):
    """Nothing that anybody expects."""


def test_whatever_ends_the_writer_is_told_to_all_who_wait_and_to_all_who_come_later(path: Path) -> None:
    db = Ledger(path)
    hold = threading.Event()

    def odd(_: Transaction) -> None:
        hold.wait(5)
        raise Odd("of all things")

    waiting = [db.write("odd", odd), *(db.write(str(n), lambda tx: put(tx, "never")) for n in range(3))]
    hold.set()
    for future in waiting:
        with pytest.raises(LedgerError, match="writer has ended: Odd: of all things"):
            future.result(timeout=5)
    with pytest.raises(LedgerError, match="writer has ended"):
        db.write("late", lambda tx: put(tx, "late")).result(timeout=5)
    db.close()


def test_nobody_waits_for_a_ledger_that_is_closed(path: Path) -> None:
    db = Ledger(path)
    db.close()
    with pytest.raises(LedgerError, match="is closed"):
        db.write("late", lambda tx: put(tx, "late")).result(timeout=5)


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
