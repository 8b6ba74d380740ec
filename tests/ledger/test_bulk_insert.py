from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.ledger.bulk_insert import BulkInsert
from overnight.ledger.connection import SqliteDatabase
from overnight.ledger.database import WaitingColumns


@given(
    portions=st.lists(st.integers(0, 900), max_size=8),
    width=st.integers(1, 4),
    same=st.lists(st.none() | st.text(max_size=3), max_size=3),
)
def test_every_row_comes_out_as_it_went_in(portions: list[int], width: int, same: list[str | None]) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute(f"CREATE TABLE kept({', '.join(f'c{n}' for n in range(len(same) + width))})")
    rows = BulkInsert(db, "kept", width, same=same)
    numbers = iter(range(sum(portions) * width))
    for portion in portions:
        rows.add([next(numbers) for _ in range(portion * width)])
    rows.flush()
    kept = db.execute("SELECT * FROM kept ORDER BY rowid").fetchall()
    db.close()
    assert all(list(row[: len(same)]) == same for row in kept)
    assert [value for row in kept for value in row[len(same) :]] == list(range(sum(portions) * width))
    assert rows.rows == sum(portions)


def test_what_is_refused_is_taken_back_with_its_fact() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None, factory=SqliteDatabase)
    db.execute("CREATE TABLE kept(id INTEGER PRIMARY KEY, a NOT NULL)")
    db.begin()
    for bad in (1, "x"), (9, None):
        rows = BulkInsert(db, "kept", 2)
        rows.add([1, "a", 2, "b", *bad])
        with pytest.raises(db.conflict):
            rows.flush()
        db.take_back()
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    db.commit()
    db.close()


def test_columns_may_be_named() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE TABLE kept(id INTEGER PRIMARY KEY, a, b DEFAULT 7)")
    rows = BulkInsert(db, "kept(a)", 1)
    rows.add(["x", "y"])
    rows.flush()
    assert db.execute("SELECT * FROM kept").fetchall() == [(1, "x", 7), (2, "y", 7)]
    db.close()


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 2), st.text(max_size=2)), max_size=40), st.sampled_from([1, 7, 70])
)
def test_columns_come_out_as_the_rows_that_they_are(some: list[tuple[int | None, str]], times: int) -> None:
    """Whether a column says the same of all rows, of some, or of none."""
    db = sqlite3.connect(":memory:", isolation_level=None, factory=SqliteDatabase)
    db.execute("CREATE TABLE kept(number INTEGER, text TEXT, id INTEGER, file INTEGER)")
    rows = WaitingColumns(db, "kept", ("id", "number", "text", "file"))
    for begin in range(0, len(some) * times, max(1, len(some))):
        ids = range(begin, begin + len(some))
        rows.add(ids, [number for number, _ in some], [text for _, text in some], [3] * len(some))
    rows.flush()
    kept = db.execute("SELECT id, number, text, file FROM kept ORDER BY rowid").fetchall()
    db.close()
    assert kept == [(place, *row, 3) for place, row in enumerate(some * times)]
    assert rows.rows == len(some) * times
