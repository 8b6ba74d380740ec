"""A run damaged in every way that can be thought of: each is found, named, and comes with a way out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator_process import EmulatorProcess
from hardening.conftest import KEY, STUDY
from ledger.damage import edit, edits, found
from overnight import api
from overnight.api.verify import Finding, verify
from overnight.cli import main

FAULTS = [
    {"on": "batch", "do": "expire", "share": 0.5, "times": 1},
    {"on": "row", "do": "omit", "odds": 0.3, "times": 2},
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs folder of a run that has seen some trouble and is done."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "items.csv").write_text("id,text\n" + "".join(f"{n},thing {n // 2}\n" for n in range(12)))
    (folder / "study.yaml").write_text(json.dumps({**STUDY, "batch": {"max_requests": 4}}))
    truth = {"time_scale": 20000, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7, "faults": FAULTS}
    with EmulatorProcess(truth) as emulator, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("OVERNIGHT_TIME_SCALE", "20000")
        assert api.run(folder / "study.yaml", runs=folder / "runs").state == "done"
    return folder / "runs"


@pytest.fixture
def runs(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(whole, tmp_path / "runs")
    return tmp_path / "runs"


def first(run: Path, kind: str) -> Path:
    return min((run / kind).glob("*.jsonl"))


def swapped(run: Path, columns: str = "offset, length") -> None:
    """Two rows of one file point to each other's lines: every size fits, the joins do not."""
    ((attempt, one, other),) = found(
        run,
        "SELECT a.attempt, a.line, b.line FROM result AS a JOIN result AS b ON a.attempt=b.attempt AND a.file=b.file "
        "AND a.line<b.line LIMIT 1",
    )
    place = f"SELECT {columns} FROM result WHERE attempt=? AND line=?"
    first_place, second_place = (found(run, place, attempt, line)[0] for line in (one, other))
    for line, there in ((one, second_place), (other, first_place)):
        change = f"UPDATE result SET ({columns})=({','.join('?' * len(there))}) WHERE attempt=? AND line=?"
        edit(run, change, *there, attempt, line)


def flipped(path: Path) -> None:
    """One byte of the same length is another."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: list[tuple[str, Callable[[Path], object], str, str, str]] = [
    ("a raw file is gone", lambda r: first(r, "raw").unlink(), "file", "is missing", "copy of the run"),
    ("a raw byte is flipped", lambda r: flipped(first(r, "raw")), "file", "other bytes", "copy of the run"),
    (
        "a raw file is cut",
        lambda r: first(r, "raw").write_bytes(first(r, "raw").read_bytes()[:-9]),
        "file",
        "are on record",
        "copy of the run",
    ),
    ("requests are gone", lambda r: first(r, "requests").unlink(), "file", "is missing", "--as NAME"),
    ("items are gone", lambda r: first(r, "items").unlink(), "file", "is missing", "copy of the run"),
    (
        "a question is nowhere",
        lambda r: edits(r, "DELETE FROM settled WHERE ask=(SELECT min(ask) FROM settled)"),
        "place",
        "nowhere",
        "--as NAME",
    ),
    (
        "a question is in two places",
        lambda r: edits(r, "INSERT INTO queue(ask, tries) SELECT min(ask), 0 FROM settled"),
        "place",
        "queued and settled",
        "--as NAME",
    ),
    (
        "a settlement points nowhere",
        lambda r: edits(r, "UPDATE settled SET line=9999 WHERE ask=(SELECT min(ask) FROM settled)"),
        "place",
        "not on record",
        "--as NAME",
    ),
    (
        "a settlement points to another's answer",
        lambda r: edits(
            r,
            "UPDATE settled SET (attempt, line)=(SELECT attempt, line FROM settled WHERE ask=(SELECT max(ask) "
            "FROM settled)) WHERE ask=(SELECT min(ask) FROM settled)",
        ),
        "place",
        "another question's result",
        "--as NAME",
    ),
    (
        "the ledger says otherwise",
        lambda r: edits(r, "UPDATE result SET outcome='refused' WHERE outcome='answered' AND line=0"),
        "answer",
        "today's reader",
        "overnight rebuild fruit",
    ),
    ("lines are swapped", swapped, "answer", "the bytes are not those on record", "copy of the run"),
    (
        "lines are swapped with their digests",
        lambda r: swapped(r, "offset, length, digest"),
        "answer",
        "names another row",
        "copy of the run",
    ),
    (
        "a question's bytes are another's",
        lambda r: edits(r, "UPDATE ask SET offset=offset+1 WHERE id=1"),
        "file",
        "1 question: the bytes are not those on record",
        "--as NAME",
    ),
    (
        "an item's bytes are another's",
        lambda r: edits(r, "UPDATE item SET length=length-1 WHERE item_id='3'"),
        "file",
        "1 item: the bytes are not those on record",
        "--as NAME",
    ),
    (
        "an answer is in a file that nobody knows",
        lambda r: edits(r, "UPDATE result SET file=99 WHERE attempt=1 AND line=0"),
        "answer",
        "file 99: 1 row: the bytes are not those on record",
        "copy of the run",
    ),
    (
        "the bill is a nano-dollar too high",
        lambda r: edits(r, "UPDATE spent SET settled=settled+1"),
        "money",
        "what is spent is on record as",
        "overnight rebuild fruit",
    ),
    (
        "a row's cost is another",
        lambda r: edits(
            r, "UPDATE result SET cost=cost+1 WHERE (attempt, line)=(SELECT attempt, line FROM result WHERE cost>0)"
        ),
        "money",
        "what is spent is on record as",
        "overnight rebuild fruit",
    ),
    (
        "something is presumed of which no row tells",
        lambda r: edits(r, "UPDATE spent SET presumed=presumed+1"),
        "money",
        "what is presumed spent is on record as 1 nano-dollars, and its rows come to 0",
        "overnight rebuild fruit",
    ),
    (
        "something is set aside for a shard that is over",
        lambda r: edits(r, "UPDATE reservation SET amount=coalesce(amount, 0)+7 WHERE shard=1"),
        "money",
        "shard 1: what is set aside for it does not fit",
        "copy of the run",
    ),
    (
        "less than nothing is set aside",
        lambda r: edits(r, "UPDATE reservation SET released=released+1 WHERE shard=2"),
        "money",
        "shard 2: what is set aside for it does not fit",
        "copy of the run",
    ),
    (
        "a kept count is one too high",
        lambda r: edits(r, "UPDATE counted SET addresses=addresses+1 WHERE outcome='answered'"),
        "count",
        "(answered): addresses kept as 13, and the rows come to 12",
        "overnight rebuild fruit",
    ),
    (
        "a kept count is not there",
        lambda r: edits(r, "DELETE FROM counted"),
        "count",
        "(answered): addresses kept as 0, and the rows come to 12",
        "overnight rebuild fruit",
    ),
    ("a raw file is a folder", lambda r: a_folder(first(r, "raw")), "file", "is not a file", "copy of the run"),
    ("a table is gone", lambda r: (r / "tables/results.parquet").unlink(), "table", "not there", "overnight rebuild"),
    ("a table is another", lambda r: flipped(r / "tables/results.parquet"), "table", "results", "overnight rebuild"),
    (
        "the attempts are another",
        lambda r: (r / "tables/attempts.parquet").write_bytes(b"x"),
        "table",
        "attempts",
        "overnight rebuild",
    ),
    ("half a download", lambda r: (r / "raw/x.jsonl.part").write_bytes(b"x"), "leftover", "half a file", "harmless"),
    ("an old input", lambda r: (r / "outbox/x.jsonl").write_bytes(b"x"), "leftover", "is over", "harmless"),
    ("a stray raw file", lambda r: (r / "raw/x.jsonl").write_bytes(b"x"), "leftover", "not on record", "harmless"),
    (
        "events out of order",
        lambda r: edits(r, "DELETE FROM event WHERE kind='creating'"),
        "ledger",
        "cannot follow",
        "copy of the run",
    ),
    (
        "an attempt of no account",
        lambda r: edits(r, "UPDATE attempt SET account=0 WHERE id=1"),
        "ledger",
        "attempt.account names no account in 1 row",
        "copy of the run",
    ),
    (
        "a stage has another name",
        lambda r: edits(r, "UPDATE stage SET name='other'"),
        "ledger",
        "arm.definition names another stage than its own in 1 row",
        "copy of the run",
    ),
    (
        "a bill of no arm",
        lambda r: edits(r, "UPDATE spent SET arm=7"),
        "ledger",
        "spent.arm names no arm in 1 row",
        "copy of the run",
    ),
    (
        "half a place of an answer",
        lambda r: edits(r, "UPDATE result SET length=NULL WHERE attempt=1 AND line=0"),
        "ledger",
        "result.offset and length do not go with its file in 1 row",
        "copy of the run",
    ),
    (
        "a failure without a cause",
        lambda r: edits(r, "UPDATE result SET outcome='failed', cause=NULL WHERE attempt=1 AND line=0"),
        "ledger",
        "result.cause is missing in 1 row",
        "copy of the run",
    ),
    (
        "a beginning beyond all dates",
        lambda r: edits(r, "UPDATE fact SET value='9223372036854775807' WHERE name='begun_at'"),
        "ledger",
        "fact.value of begun_at is no time in 1 row",
        "copy of the run",
    ),
    (
        "an open attempt",
        lambda r: edits(r, "DELETE FROM event WHERE kind='closed' AND attempt=(SELECT max(id) FROM attempt)"),
        "unfinished",
        "1 attempt under way",
        "overnight resume fruit",
    ),
]


@pytest.mark.parametrize(("damage", "kind", "words", "mend"), [d[1:] for d in DAMAGES], ids=[d[0] for d in DAMAGES])
def test_every_damage_is_found(runs: Path, damage: Callable[[Path], object], kind: str, words: str, mend: str) -> None:
    damage(runs / "fruit")
    found = [finding for finding in verify("fruit", runs=runs) if finding.kind == kind]
    assert any(words in finding.message and mend in finding.mend for finding in found), found


def test_a_run_that_is_whole_has_no_findings(runs: Path) -> None:
    before = {path: path.read_bytes() for path in (runs / "fruit").rglob("*") if path.is_file()}
    assert verify("fruit", runs=runs) == []
    kept = {path: data for path, data in before.items() if path.name not in ("lock", "ledger.db-shm", "ledger.db-wal")}
    assert all(path.read_bytes() == data for path, data in kept.items())


def test_a_damaged_page_is_found(runs: Path) -> None:
    ledger = runs / "fruit" / "ledger.db"
    data = bytearray(ledger.read_bytes())
    data[8192:12288] = b"\xff" * 4096
    ledger.write_bytes(data)
    (finding,) = verify("fruit", runs=runs)
    assert (finding.kind, "copy of the run" in finding.mend) == ("ledger", True)


def test_a_rebuild_mends_what_it_can(runs: Path) -> None:
    edits(runs / "fruit", "UPDATE result SET outcome='refused' WHERE outcome='answered' AND line=0")
    (runs / "fruit" / "tables" / "results.parquet").unlink()
    assert {finding.kind for finding in verify("fruit", runs=runs)} == {"answer", "count", "table"}
    api.rebuild("fruit", runs=runs)
    assert verify("fruit", runs=runs) == []


def test_a_rebuild_counts_the_bill_again(runs: Path) -> None:
    edits(runs / "fruit", "UPDATE spent SET settled=settled+1, presumed=presumed+5")
    assert {finding.kind for finding in verify("fruit", runs=runs)} == {"money"}
    api.rebuild("fruit", runs=runs)
    assert verify("fruit", runs=runs) == []


def test_findings_are_values() -> None:
    finding = Finding(kind="file", message="a", mend="b")
    assert finding == Finding(kind="file", message="a", mend="b")


def test_the_verb_says_what_is_wrong_and_what_to_type(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(runs.parent)
    assert main(["verify", "fruit"]) == 0
    assert "agree" in capfd.readouterr().out
    (runs / "fruit" / "tables" / "results.parquet").unlink()
    assert main(["verify", "fruit", "--runs", "runs"]) == 3
    out = capfd.readouterr().out
    assert "tables/results.parquet is not there" in out
    assert "overnight rebuild --runs runs fruit" in out
    assert main(["verify", "fruit", "--json"]) == 3
    (finding,) = json.loads(capfd.readouterr().out)
    assert finding["kind"] == "table"
