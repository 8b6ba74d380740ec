"""Results as they go in and come out, many at once."""

import sqlite3
from collections.abc import Iterator

import pytest

from overnight.core.result import Result, Usage, failed
from overnight.ledger.answers import Fate, Landed
from overnight.ledger.schema import migrate
from overnight.ledger.shards import ShardRow
from overnight.ledger.transaction import Transaction

TURNS = {"a": 1, "b": 3, "c": 2}
FINAL = Fate(final=True, tries=1)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    ledger = sqlite3.connect(":memory:", isolation_level=None)
    migrate(ledger, "here")
    yield ledger
    ledger.close()


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_threads_come_out_whole_however_many_are_read_at_once(db: sqlite3.Connection, at_once: int) -> None:
    db.execute("INSERT INTO arm VALUES(1, 1, 'arm', '{}')")
    for item, turns in reversed(TURNS.items()):
        for turn in range(turns):
            ask = db.execute(
                "INSERT INTO ask VALUES(NULL, 1, ?, 1, 0, 1, x'00') RETURNING id", (item.encode(),)
            ).fetchone()[0]
            db.execute("INSERT INTO slot(arm, item, replicate, turn, ask) VALUES(1, ?, 0, ?, ?)", (item, turn, ask))
    chunks = list(Transaction(db).rows.addresses(at_once))
    assert all(chunk.turn[0] == 0 for chunk in chunks)
    found = [place for chunk in chunks for place in zip(chunk.item, chunk.turn, strict=True)]
    assert found == [(item, turn) for item, turns in TURNS.items() for turn in range(turns)]


def test_what_was_not_counted_is_empty_and_nothing_is_nothing(db: sqlite3.Connection) -> None:
    """Enough rows that some go in together and some alone."""
    rows = [ShardRow(ask=line + 1, tries=0, length=1) for line in range(250)]
    counted = Result(outcome="answered", answer="yes", usage=Usage(input=7, cached=0, output=1))
    told = [counted if line % 3 else failed("server_error") for line in range(250)]
    landed = [
        (Landed(line, told[line], 1, line, 1, b"digest", 5 if line % 3 else None), FINAL)
        for line in reversed(range(250))
    ]
    db.execute("INSERT INTO shard VALUES(1, 1, 250, 250, 0.0, 0)")
    db.execute("INSERT INTO attempt VALUES(1, 1, 1, 'token', 1, 0, '', 0.0, 0)")
    Transaction(db).answers.take_in(1, rows, landed, at=1.0)
    found = db.execute("SELECT input, cached, cache_write, output, cost, cause FROM result ORDER BY line").fetchall()
    good, bad = (7, 0, None, 1, 5, None), (None, None, None, None, None, "server_error")
    assert found == [good if line % 3 else bad for line in range(250)]
    assert db.execute("SELECT ask, line FROM settled").fetchall() == [(line + 1, line) for line in range(250)]
