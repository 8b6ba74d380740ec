"""Sums of money that no bill comes to: held at what SQLite can hold, never an error and never a wrong sign."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from overnight.ledger.spending import Charge
from overnight.ledger.transaction import Transaction


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as con:
        con.execute("CREATE TABLE spent(arm INTEGER PRIMARY KEY, settled INTEGER NOT NULL, presumed INTEGER NOT NULL)")
        con.execute("CREATE TABLE presumption(attempt INTEGER, line INTEGER, amount INTEGER)")
        con.execute("CREATE TABLE reservation(shard INTEGER, amount INTEGER, released INTEGER, density REAL)")
        con.execute("CREATE TABLE shard(id INTEGER, arm INTEGER)")
        con.executemany("INSERT INTO shard VALUES(?,1)", [(1,), (2,), (3,)])
        yield con


def test_sums_do_not_overflow(db: sqlite3.Connection) -> None:
    for shard in (1, 2, 3):
        Transaction(db).spending.reserve(shard, 2**70, 0.25)
        Transaction(db).spending.book(shard, 1, shard, Charge(settled=2**62, released=2**80, presumed=[(0, 2**63)]))
        Transaction(db).spending.settle(1, 2**62, 2**62)
    balance = Transaction(db).spending.by_arm()[1]
    assert balance.settled == balance.presumed == 2**62
    assert balance.reserved == 0


def test_ordinary_sums_are_exact_to_the_nano_dollar(db: sqlite3.Connection) -> None:
    Transaction(db).spending.reserve(1, 1_000_000_000_001, 0.25)
    Transaction(db).spending.book(1, 1, 1, Charge(settled=123_456_789, released=1, presumed=[(0, 3), (1, 4)]))
    balance = Transaction(db).spending.by_arm()[1]
    assert (balance.settled, balance.presumed, balance.reserved) == (123_456_789, 7, 1_000_000_000_000)
