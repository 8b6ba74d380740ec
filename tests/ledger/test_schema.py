"""Ledgers of older versions are brought up to date with all that is in them."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from overnight.core.ask import Arm, Item, Model
from overnight.core.errors import LedgerError, StudyChanged
from overnight.core.shard import token_of
from overnight.ledger.connection import connect
from overnight.ledger.counts import Counts
from overnight.ledger.identity import Facts
from overnight.ledger.ledger import look_at, open_ledger
from overnight.ledger.questions import Intake
from overnight.ledger.raw import digest_of
from overnight.ledger.rows import OF_ARM
from overnight.ledger.schema import MIGRATIONS, _add_counts, migrate
from overnight.ledger.transaction import View
from overnight.store.run_folder import RunFolder


@pytest.fixture
def first(tmp_path: Path) -> tuple[sqlite3.Connection, RunFolder]:
    """A ledger as the first version left it, with one item and one question on record."""
    folder = RunFolder(tmp_path)
    folder.make()
    db = connect(folder.ledger)
    MIGRATIONS[0](db, tmp_path)
    db.execute("PRAGMA user_version=1")
    (tmp_path / "items" / "00001.jsonl").write_text('{"text":"a word"}\n')
    db.execute("INSERT INTO file VALUES(1, 'items/00001.jsonl', 18, '')")
    db.execute("INSERT INTO stage(name, task, version) VALUES('s', 'generate', '1')")
    db.execute("INSERT INTO item VALUES(1, 'one', x'00', 1, 0, 17)")
    db.execute("INSERT INTO ask VALUES(1, 1, x'01', 1, 0, 17)")
    return db, folder


def test_the_first_versions_items_are_known_by_their_text(first: tuple[sqlite3.Connection, RunFolder]) -> None:
    db, folder = first
    migrate(db, folder.ledger)
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
    migrate(db, folder.ledger)
    assert [row[0] for row in db.execute("SELECT digest FROM result")] == [digest_of(b"as it was\n"), None]
    for table in ("item", "ask"):
        assert db.execute(f"SELECT digest FROM {table}").fetchone()[0] == digest_of(b'{"text":"a word"}')


def test_what_older_ledgers_presume_is_borne_by_a_row(first: tuple[sqlite3.Connection, RunFolder]) -> None:
    db, folder = first
    db.execute("INSERT INTO shard VALUES(1, 1, 3, 10, 0.0)")
    db.execute(
        "INSERT INTO attempt(id, shard, n, token, account, estimate, sha256, intended_at) VALUES(1,1,1,'t',1,0,'',0)"
    )
    row = "INSERT INTO result(attempt, line, ask, outcome, cost, received_at) VALUES(1, ?, 1, 'failed', ?, 0.0)"
    db.executemany(row, [(0, None), (1, None), (2, 7)])
    db.execute("INSERT INTO spent VALUES(1, 7, 500)")
    migrate(db, folder.ledger)
    assert db.execute("SELECT * FROM presumption").fetchall() == [(1, 1, 500)]


def test_a_changed_item_is_still_noticed(first: tuple[sqlite3.Connection, RunFolder]) -> None:
    db, folder = first
    migrate(db, folder.ledger)
    intake = Intake(db, folder.files, ("s", "generate", "1"), ())
    with pytest.raises(StudyChanged, match="'one' is not what it was"):
        list(intake.items([Item("one", {"text": "a  word"})]))


@pytest.fixture(params=range(1, len(MIGRATIONS)))
def older(request: pytest.FixtureRequest, tmp_path: Path) -> RunFolder:
    """A run of an older version: four addresses, of which two share a question, and four tries."""
    folder = RunFolder(tmp_path)
    folder.make()
    db = connect(folder.ledger)
    for step in MIGRATIONS[: request.param]:
        step(db, tmp_path)
    db.execute(f"PRAGMA user_version={request.param}")
    db.execute("INSERT INTO fact VALUES('run_id', 'of old')")
    db.execute("INSERT INTO fact VALUES('shared', '1')")
    db.execute("INSERT INTO stage(id, name, task, version) VALUES(1, 's', 'generate', '1')")
    arm = Arm(stage="s", name="one", template="t", model=Model(provider="openai", name="gpt-4.1-mini"))
    db.execute("INSERT INTO arm VALUES(1, 1, 'one', ?)", (msgspec.json.encode(arm).decode(),))
    db.execute("INSERT INTO file VALUES(1, 'requests/00001.jsonl', 0, '')")
    (tmp_path / "requests" / "00001.jsonl").touch()
    db.executemany(
        "INSERT INTO ask(id, arm, key, file, offset, length) VALUES(?, 1, ?, 1, 0, 0)",
        [(n, bytes([n])) for n in (1, 2, 3)],
    )
    slots = [("a", 1), ("b", 1), ("c", 2), ("d", 3)]
    db.executemany("INSERT INTO slot(arm, item, replicate, turn, ask) VALUES(1, ?, 0, 0, ?)", slots)
    db.execute("INSERT INTO shard(id, arm, rows, bytes, made_at) VALUES(1, 1, 3, 10, 0)")
    db.execute("INSERT INTO account VALUES(1, 'openai', 'here', '', '', '', NULL)")
    token = token_of("of old", "s", "one", 1, 1)
    db.execute(
        "INSERT INTO attempt(id, shard, n, token, account, estimate, sha256, intended_at) VALUES(1,1,1,?,1,0,'',0)",
        (token,),
    )
    row = "INSERT INTO result(attempt, line, ask, outcome, cause, input, output, received_at) VALUES(1,?,?,?,?,?,?,0)"
    db.execute(row, (0, 1, "answered", None, 7, 3))
    db.execute(row, (1, 2, "failed", "invalid_request", None, None))
    db.execute(row, (2, 3, "failed", "lost", None, None))
    db.executemany("INSERT INTO settled VALUES(?, 1, ?)", [(1, 0), (2, 1)])
    db.execute("INSERT INTO queue(ask, tries) VALUES(3, 1)")
    if request.param >= MIGRATIONS.index(_add_counts) + 1:
        Counts(db).recount()
    db.close()
    return folder


def stands(view: View) -> None:
    assert view.counts.outcomes() == {
        (1, "answered", None): 2,
        (1, "failed", "invalid_request"): 1,
        (1, "pending", None): 1,
    }
    assert (view.counts.tokens(), view.counts.asked_again()) == ((7, 3), {"lost": 1})
    assert view.answers.asks_by_key([bytes([3]), b"never asked", bytes([1])]) == [3, 1]
    assert view.counts.by_arm()[1].unbilled == 2
    assert list(view.checks.wrong_counts()) == []
    assert [attempt.state for attempt in view.attempts.everything()] == ["intended"]


def test_a_ledger_of_any_older_version_is_brought_up_to_date(older: RunFolder) -> None:
    with open_ledger(older) as ledger:
        stands(ledger.view())
    with look_at(older) as view:
        stands(view)
        assert list(view.checks.damages()) == []


def test_whoever_only_looks_leaves_an_older_ledger_as_it_is(older: RunFolder) -> None:
    before = older.ledger.read_bytes()
    with look_at(older) as view:
        stands(view)
    assert older.ledger.read_bytes() == before


def test_a_view_cannot_write(older: RunFolder) -> None:
    for _ in range(2):  # of a ledger that is older, and of one that is not
        with pytest.raises(LedgerError), look_at(older) as view:
            Facts(view.facts._db).keep("a", "b")
        with open_ledger(older) as ledger, pytest.raises(sqlite3.OperationalError, match="readonly"):
            Facts(ledger.view().facts._db).keep("a", "b")


def test_tables_are_made_along_an_index(tmp_path: Path) -> None:
    """What is sorted by SQLite is in memory, and grows with the run."""
    folder = RunFolder(tmp_path / "run")
    folder.make()
    with open_ledger(folder) as ledger:
        stage = ("s", "generate", "1")
        ledger.write("i", lambda tx: tx.intake(folder.files, stage, []).asks([], lambda _: b"", shared=True)).result()
    with closing(sqlite3.connect(folder.ledger)) as db:
        steps = [row[-1] for row in db.execute(f"EXPLAIN QUERY PLAN {OF_ARM}", (1,))]
    assert steps[0] == "SEARCH slot USING INDEX slot_address (arm=?)"
    assert not any("TEMP B-TREE" in step for step in steps)
