from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from overnight.ledger.bulk import TOGETHER, insert_rows


@given(count=st.integers(0, 3 * TOGETHER + 1), width=st.integers(1, 4))
def test_every_row_comes_out_as_it_went_in(count: int, width: int) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute(f"CREATE TABLE kept({', '.join(f'c{n}' for n in range(width))})")
    rows = [tuple(f"{row}.{column}" for column in range(width)) for row in range(count)]
    assert insert_rows(db, "kept", width, [value for row in rows for value in row]) == count
    assert db.execute("SELECT * FROM kept ORDER BY rowid").fetchall() == rows
    db.close()


def test_columns_may_be_named() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE TABLE kept(id INTEGER PRIMARY KEY, a, b DEFAULT 7)")
    assert insert_rows(db, "kept(a)", 1, ["x", "y"]) == 2
    assert db.execute("SELECT * FROM kept").fetchall() == [(1, "x", 7), (2, "y", 7)]
    db.close()
