"""`cancel`, `adopt`, `resolve`, `rebuild` on the emulator."""

import json
from pathlib import Path

import pytest

from overnight.cli import main

TWO_BATCHES = "faults:\n  - {on: create, do: twice, times: 1}\n"


def status_of(run: str, capsys: pytest.CaptureFixture[str]) -> dict:
    capsys.readouterr()
    assert main(["status", run, "--emulate", "--json"]) == 0
    (status,) = json.loads(capsys.readouterr().out)
    return status


@pytest.fixture
def undecided(study: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """A run whose only shard has made two batches; their ids."""
    (study / "twice.yaml").write_text(TWO_BATCHES)
    assert main(["run", "fruit.yaml", "--emulate", "--truth", "twice.yaml"]) == 4
    said = capsys.readouterr().out.splitlines()[0]
    assert "overnight resolve --emulate fruit --shard 1 --none" in said
    assert "overnight adopt --emulate --shard fruit:1 batch_" in said
    status = status_of("fruit", capsys)
    assert status["to_do"]
    return said.partition("(")[2].partition(")")[0].split(", ")


def test_one_of_two_batches_is_kept(undecided: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["adopt", "--shard", "fruit:1", undecided[1], "--emulate"]) == 0
    assert capsys.readouterr().out == (
        f"shard 1 is batch {undecided[1]}; 1 other batch counts as presumed spent: overnight resume --emulate fruit\n"
    )
    assert main(["resume", "fruit", "--emulate", "-q"]) == 0
    assert status_of("fruit", capsys)["batches"][0]["batch_id"] == undecided[1]


def test_no_batch_is_ours(undecided: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["resolve", "fruit", "--shard", "1", "--none", "--emulate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"run": "fruit", "shard": 1, "batch_id": None}
    assert main(["resume", "fruit", "--emulate", "-q"]) == 0
    assert status_of("fruit", capsys)["batches"][-1]["batch_id"] not in undecided
    assert main(["resolve", "fruit", "--shard", "1", "--none", "--emulate"]) == 2


def test_a_run_is_called_off_and_asked_after_all(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["submit", "fruit.yaml", "--emulate", "-q"]) == 0
    assert main(["cancel", "fruit", "--emulate", "--json"]) == 0
    document = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert document["state"] == "cancelled"
    assert status_of("fruit", capsys)["cancelled"]
    assert main(["run", "fruit.yaml", "--emulate", "-q"]) == 0
    assert capsys.readouterr().out == "fruit: all rows are settled\n"


def test_a_batch_is_called_off(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["submit", "fruit.yaml", "--emulate", "-q"]) == 0
    batch_id = status_of("fruit", capsys)["batches"][0]["batch_id"]
    assert main(["cancel", batch_id, "--emulate"]) == 0
    seen = capsys.readouterr()
    assert seen.out == f"{batch_id}: called off\n"
    assert f"asked the provider to cancel {batch_id}" in seen.err
    assert "overnight resume --emulate fruit collects" in seen.err


def test_a_batch_from_elsewhere_becomes_a_run(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["submit", "fruit.yaml", "--emulate", "-q"]) == 0
    batch_id = status_of("fruit", capsys)["batches"][0]["batch_id"]
    assert main(["adopt", "openai", batch_id, "--emulate", "--as", "foreign", "--raw", "raw.jsonl", "-q"]) == 0
    assert capsys.readouterr().out == "foreign: all rows are settled\n"
    assert len((study / "raw.jsonl").read_text().splitlines()) == 3

    assert main(["adopt", "openai", "--output-file", "raw.jsonl", "--emulate", "--json"]) == 0
    (adopted,) = json.loads(capsys.readouterr().out)
    assert adopted["run"] == "adopted-raw"
    assert adopted["rows"]["answered"] == 3

    (study / "tracking.json").write_text(json.dumps({"batches": [{"provider": "openai", "batch_id": batch_id}]}))
    assert main(["adopt", "--from", "tracking.json", "--emulate", "--once", "-q"]) == 0
    assert capsys.readouterr().out == f"adopted-{batch_id}: all rows are settled\n"


def test_tables_are_made_anew(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "fruit.yaml", "--emulate", "-q"]) == 0
    table = study / "runs/.rehearsal/fruit/tables/results.parquet"
    before = table.read_bytes()
    table.unlink()
    capsys.readouterr()
    assert main(["rebuild", "fruit", "--emulate"]) == 0
    assert capsys.readouterr().out == "fruit: tables made anew, 3 rows\n"
    assert table.read_bytes() == before
    assert main(["rebuild", "fruit", "--emulate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"run": "fruit", "rows": 3, "pending": 0, "kept": True}
