"""Ledgers of older versions are brought up to date with all that is in them."""

import hashlib
import sqlite3
from pathlib import Path

import pytest

from overnight.core.ask import Item
from overnight.core.errors import StudyChanged
from overnight.ledger.connection import connect
from overnight.ledger.questions import Intake
from overnight.ledger.raw import digest_of
from overnight.ledger.schema import MIGRATIONS, migrate
from overnight.store.run_folder import RunFolder


@pytest.fixture
def first(tmp_path: Path) -> tuple[sqlite3.Connection, RunFolder]:
    """A ledger as the first version left it, with one item and one question on record."""
    folder = RunFolder(tmp_path)
    folder.make()
    db = connect(folder.ledger)
    MIGRATIONS[0](db)
    db.execute("PRAGMA user_version=1")
    (tmp_path / "items" / "00001.jsonl").write_text('{"text":"a word"}\n')
    db.execute("INSERT INTO file VALUES(1, 'items/00001.jsonl', 18, '')")
    db.execute("INSERT INTO stage(name, task, version) VALUES('s', 'generate', '1')")
    db.execute("INSERT INTO item VALUES(1, 'one', x'00', 1, 0, 17)")
    db.execute("INSERT INTO ask VALUES(1, 1, x'01', 1, 0, 17)")
    return db, folder


def test_the_first_versions_items_are_known_by_their_text(first: tuple[sqlite3.Connection, RunFolder]) -> None:
    db, folder = first
    migrate(db, "here")
    intake = Intake(db, folder.files, ("s", "generate", "1"), ())
    same, other = Item("one", {"text": "a word"}), Item("two", {"text": "more"})
    assert list(intake.items([same, other])) == [same, other]
    assert [row[0] for row in db.execute("SELECT item_id FROM item")] == ["one", "two"]


def test_older_lines_get_their_digests_unless_their_file_has_changed(
    first: tuple[sqlite3.Connection, RunFolder],
) -> None:
    db, folder = first
    for number, text in ((2, b"as it was\n"), (3, b"as it is not\n")):
        (folder.path / "raw" / f"{number}.jsonl").write_bytes(text)
        db.execute(
            "INSERT INTO file VALUES(?,?,?,?)",
            (number, f"raw/{number}.jsonl", len(text), hashlib.sha256(b"as it was\n").hexdigest()),
        )
        row = (number, 0, 1, "answered", number, 0, len(text), 0.0)
        db.execute(
            "INSERT INTO result(attempt, line, ask, outcome, file, offset, length, received_at) VALUES(?,?,?,?,?,?,?,?)",
            row,
        )
    migrate(db, "here")
    assert [row[0] for row in db.execute("SELECT digest FROM result")] == [digest_of(b"as it was\n"), None]
    for table in ("item", "ask"):
        assert db.execute(f"SELECT digest FROM {table}").fetchone()[0] == digest_of(b'{"text":"a word"}')


def test_what_older_ledgers_presume_is_borne_by_a_row(first: tuple[sqlite3.Connection, RunFolder]) -> None:
    db, _ = first
    db.execute("INSERT INTO shard VALUES(1, 1, 3, 10, 0.0)")
    db.execute(
        "INSERT INTO attempt(id, shard, n, token, account, estimate, sha256, intended_at) VALUES(1,1,1,'t',1,0,'',0)"
    )
    row = "INSERT INTO result(attempt, line, ask, outcome, cost, received_at) VALUES(1, ?, 1, 'failed', ?, 0.0)"
    db.executemany(row, [(0, None), (1, None), (2, 7)])
    db.execute("INSERT INTO spent VALUES(1, 7, 500)")
    migrate(db, "here")
    assert db.execute("SELECT * FROM presumption").fetchall() == [(1, 1, 500)]


def test_a_changed_item_is_still_noticed(first: tuple[sqlite3.Connection, RunFolder]) -> None:
    db, folder = first
    migrate(db, "here")
    intake = Intake(db, folder.files, ("s", "generate", "1"), ())
    with pytest.raises(StudyChanged, match="'one' is not what it was"):
        list(intake.items([Item("one", {"text": "a  word"})]))
