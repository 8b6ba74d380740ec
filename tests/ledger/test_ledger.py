"""Facts handed to a ledger: durable together, each on its own, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ledger.stores import Run
from overnight.core.errors import LedgerError
from overnight.ledger.ledger import look_at
from overnight.ledger.transaction import Transaction

NAMES = ["a", "b", "cancelled", "half", "last", "late", "never", "next", "slow", *(f"{n:04d}" for n in range(500))]


def put(tx: Transaction, name: str) -> None:
    tx.facts.keep(name, "1")


def names(run: Run) -> list[str]:
    """What is on record, as another process would see it."""
    with look_at(run.folder) as view:
        return [name for name in NAMES if view.facts.get(name) is not None]


def test_what_is_done_is_on_disk(run: Run) -> None:
    db = run.ledger
    db.write("a", lambda tx: put(tx, "a")).result()
    assert names(run) == ["a"]
    db.close()


def test_one_bad_fact_takes_back_only_itself(run: Run) -> None:
    db = run.ledger

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
    assert names(run) == ["a", "b"]
    db.close()


def test_many_writers_share_few_commits(run: Run) -> None:
    db = run.ledger
    futures = [db.write(str(n), lambda tx, n=n: put(tx, f"{n:04d}")) for n in range(500)]
    for future in futures:
        future.result()
    assert len(names(run)) == 500
    db.close()


def test_closing_finishes_what_was_handed_in(run: Run) -> None:
    db = run.ledger
    future = db.write("last", lambda tx: put(tx, "last"))
    db.close()
    assert future.done()
    assert names(run) == ["last"]


def test_a_cancelled_fact_is_not_run_and_the_next_one_is_written(run: Run) -> None:
    db = run.ledger
    hold = threading.Event()
    first = db.write("hold", lambda _: hold.wait(5))
    cancelled = db.write("cancelled", lambda tx: put(tx, "cancelled"))
    assert cancelled.cancel()
    hold.set()
    assert first.result()
    db.write("next", lambda tx: put(tx, "next")).result(timeout=5)
    db.close()
    assert names(run) == ["next"]


def test_a_commit_that_is_cancelled_while_it_runs_is_kept_and_hurts_nobody(run: Run) -> None:
    db = run.ledger
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
    assert names(run) == ["next", "slow"]


class Odd(BaseException):
    """Nothing that anybody expects."""


def test_whatever_ends_the_writer_is_told_to_all_who_wait_and_to_all_who_come_later(run: Run) -> None:
    db = run.ledger
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


def test_nobody_waits_for_a_ledger_that_is_closed(run: Run) -> None:
    db = run.ledger
    db.close()
    with pytest.raises(LedgerError, match="is closed"):
        db.write("late", lambda tx: put(tx, "late")).result(timeout=5)
