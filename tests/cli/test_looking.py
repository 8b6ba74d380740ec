"""`status`, `watch`, `results`, `keys`: readable on a terminal, aligned in a pipe, JSON for programs."""

import csv
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from rich.table import Table

from cli.shell import clean_environment
from cli.terminal import Terminal
from emulator_process import EmulatorProcess
from overnight.cli import main
from overnight.cli.row_pictures import plain_rows


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    seen = capsys.readouterr()
    assert "overnight: " not in seen.err
    return seen.out


@pytest.mark.usefixtures("looking")
def test_status_of_one_run(capsys: pytest.CaptureFixture[str]):
    lines = printed(capsys, "status", "fruit", "--emulate", "--runs", "bad").splitlines()
    assert lines[0].startswith("fruit: done, 1 failed, begun 20")
    assert lines[2].split() == ["arm", "rows", "answered", "refused", "truncated", "failed", "pending"]
    assert lines[3].split() == ["gpt-4.1-mini", "3", "2", "0", "0", "1", "0"]
    # The numbers end where their headings end.
    assert [len(line) for line in lines[2:4]] == [len(lines[2])] * 2
    assert "  causes  invalid_request 1" in lines
    assert lines[-1] == "  next    overnight results --emulate --runs bad fruit --failed"


@pytest.mark.usefixtures("looking")
def test_status_for_programs(capsys: pytest.CaptureFixture[str]):
    (status,) = json.loads(printed(capsys, "status", "--emulate", "--json"))
    assert status["run"] == "fruit"
    assert status["arms"][0]["answered"] == 3
    batch_id = status["batches"][0]["batch_id"]
    assert json.loads(printed(capsys, "status", batch_id, "--emulate", "--json")) == [status]
    assert printed(capsys, "status", batch_id, "--emulate", "-q") == "fruit: done\n"


@pytest.mark.usefixtures("looking")
def test_the_audit_log(capsys: pytest.CaptureFixture[str]):
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "status", "--emulate", "--log"))))
    kinds = [row["kind"] for row in rows]
    assert kinds.index("intended") < kinds.index("creating") < kinds.index("accepted")
    assert len(json.loads(printed(capsys, "status", "--emulate", "--log", "--json"))) == len(rows)


def test_many_runs_are_an_overview(study: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("one", "two"):
        assert main(["run", "fruit.yaml", "--emulate", "--as", name, "--limit", "1", "-q"]) == 0
    capsys.readouterr()
    lines = printed(capsys, "status", "--emulate").splitlines()
    assert lines[0].split() == ["run", "state", "settled", "rows", "failed", "begun"]
    assert [line.split()[:5] for line in lines[1:]] == [[name, "done", "1", "1", "0"] for name in ("one", "two")]
    assert main(["status", "--emulate", "--log"]) == 2
    assert capsys.readouterr().err == "overnight: --log: name one run of one, two\n"


@pytest.mark.usefixtures("looking")
def test_results_as_a_table(capsys: pytest.CaptureFixture[str]):
    lines = printed(capsys, "results", "fruit", "--emulate").splitlines()
    assert lines[0].split() == ["item", "model", "status", "answer"]
    assert [line.split()[:3] for line in lines[1:4]] == [[item, "gpt-4.1-mini", "answered"] for item in "123"]
    assert all(line.endswith("…") and len(line) <= 100 for line in lines[1:4])
    assert lines[4:] == ["fruit: 3 rows"]


@pytest.mark.usefixtures("looking")
def test_failed_rows_say_why(capsys: pytest.CaptureFixture[str]):
    lines = printed(capsys, "results", "fruit", "--emulate", "--runs", "bad", "--failed").splitlines()
    assert lines[0].split() == ["item", "model", "cause", "why"]
    assert lines[1].split()[:3] == ["2", "gpt-4.1-mini", "invalid_request"]
    assert lines[1].endswith("this is no fruit")
    assert lines[2:] == ["fruit: 1 failed row"]


@pytest.mark.usefixtures("looking")
def test_results_for_programs(capsys: pytest.CaptureFixture[str]):
    rows = json.loads(printed(capsys, "results", "fruit", "--emulate", "--json"))
    assert [row["item_id"] for row in rows] == ["1", "2", "3"]
    assert json.loads(printed(capsys, "results", "fruit", "--emulate", "--failed", "--json")) == []


@pytest.mark.usefixtures("looking")
def test_results_into_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for ending, read in ((".csv", pl.read_csv), (".parquet", pl.read_parquet), (".jsonl", pl.read_ndjson)):
        target = tmp_path / f"rows{ending}"
        said = printed(capsys, "results", "fruit", "--emulate", "-o", str(target), "--stage", "generate")
        assert said == f"fruit: wrote 3 rows to {target}\n"
        assert read(target).height == 3
    assert main(["results", "fruit", "--emulate", "-o", "rows.xlsx"]) == 2
    assert main(["results", "fruit", "--emulate", "--stage", "generaet"]) == 2
    assert "did you mean 'generate'?" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [80, 120])
def test_results_fit_the_terminal(finished: Path, columns: int):
    environment = clean_environment()
    del environment["COLUMNS"]
    command = [sys.executable, "-m", "overnight", "results", "fruit", "--emulate"]
    terminal = Terminal(command, columns=columns, cwd=finished, env=environment)
    lines = terminal.screen.text.splitlines()
    assert len(lines) == 5
    assert all(columns - 10 < len(line) <= columns for line in lines[1:4])


def test_a_reader_that_leaves_early(finished: Path):
    command = f"{sys.executable} -m overnight status --emulate --log | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=finished, env=clean_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("event,at,kind")
    assert done.stderr == ""


@pytest.mark.usefixtures("looking")
def test_watching_what_is_finished(capsys: pytest.CaptureFixture[str]):
    assert main(["watch", "--emulate"]) == 0
    seen = capsys.readouterr()
    assert seen.err.endswith(" fruit: 3/3 settled, done\n")
    assert seen.out.startswith("fruit: done, begun ")
    assert main(["watch", "fruit", "--emulate", "--runs", "bad", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)[0]["causes"] == {"invalid_request": 1}


def test_watching_until_another_process_is_done(study: Path):
    assert main(["submit", "fruit.yaml", "--emulate", "-q"]) == 0
    command = [sys.executable, "-m", "overnight", "watch", "fruit", "--emulate", "--interval", "0.1"]
    with subprocess.Popen(
        command, cwd=study, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        first = watching.stderr.readline()
        assert main(["resume", "fruit", "--emulate", "-q"]) == 0
        said, told = watching.communicate(timeout=60)
    # Nobody collects after `submit`: that is said, and how to.
    alone = "nobody works on it now, and nothing is collected until: overnight resume --emulate fruit"
    assert first.partition(" ")[2] == f"fruit: 0/3 settled, 1 batch open, {alone}\n"
    assert told.splitlines()[-1].partition(" ")[2] == "fruit: 3/3 settled, done"
    assert said.startswith("fruit: done")
    assert watching.returncode == 0


def test_the_provider_is_asked_once(study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with EmulatorProcess({"time_scale": 1_000_000.0, "latency": {"batch": [60, 61]}}) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        assert main(["submit", "fruit.yaml", "-q"]) == 0
        capsys.readouterr()
        before = {path: path.stat().st_mtime_ns for path in (study / "runs" / "fruit" / "raw").rglob("*")}
        (status,) = json.loads(printed(capsys, "status", "fruit", "--check", "--json"))
        (check,) = status["checked"]
        assert check["batch_id"] == status["batches"][0]["batch_id"]
        for _ in range(100):
            (status,) = json.loads(printed(capsys, "status", "fruit", "--check", "--json"))
            if status["checked"][0]["ended"]:
                break
        shown = printed(capsys, "status", "fruit", "--check")
        assert "ended (completed)" in shown
        assert "1 batch has ended, to be collected: overnight resume fruit" in " ".join(shown.split())
        # Nothing of that is on record, and nothing was fetched.
        assert status["batches"][0]["state"] == "running"
        assert {path: path.stat().st_mtime_ns for path in (study / "runs" / "fruit" / "raw").rglob("*")} == before
        beginning = check["batch_id"][:14]
        assert printed(capsys, "status", beginning, "-q") == "fruit: 1 batch open\n"
    assert main(["status", "fruit", "--check", "-q"]) == 4
    assert "overnight: " in capsys.readouterr().err


def test_watching_can_be_stopped(study: Path):
    assert main(["submit", "fruit.yaml", "--emulate", "-q"]) == 0
    command = [sys.executable, "-m", "overnight", "watch", "--emulate"]
    with subprocess.Popen(
        command, cwd=study, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        watching.stderr.readline()
        watching.send_signal(signal.SIGINT)
        said, told = watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert (said, told) == ("", "overnight: stopped watching; the run itself is not touched\n")


def test_keys(study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    shown = re.sub(" +", " ", printed(capsys, "keys"))
    assert "openai OPENAI_API_KEY none" in shown
    assert "anthropic ANTHROPIC_API_KEY none" in shown
    assert printed(capsys, "keys", "-q") == "no key is set; --emulate needs none\n"
    assert printed(capsys, "keys", "--emulate", "-q") == "a rehearsal needs no key\n"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    found = printed(capsys, "keys", "--no-check")
    assert "OPENAI_API_KEY found" in re.sub(" +", " ", found)
    assert "sk-never-shown" not in found


def test_keys_are_tried(study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    with EmulatorProcess({"keys": {"refuse": ["sk-bad-one"]}}) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-good")
        told = {one["provider"]: one["works"] for one in json.loads(printed(capsys, "keys", "--json"))}
        assert told["openai"] is True
        assert set(told.values()) == {True, None}
        monkeypatch.setenv("OPENAI_API_KEY", "sk-bad-one")
        refused = printed(capsys, "keys", code=4)
    assert "refused" in refused
    assert "sk-bad-one" not in refused


def test_keys_of_a_study_are_those_of_its_accounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pool = {"model": "openai/gpt-4.1", "keys": ["FIRST_OPENAI_KEY", "SECOND_OPENAI_KEY", "THIRD_OPENAI_KEY"]}
    pooled = tmp_path / "pooled.yaml"
    fields = {"name": "pooled", "task": "generate", "items": [{"id": "a", "x": "y"}], "prompt": "{x}", "models": [pool]}
    pooled.write_text(json.dumps(fields))
    with EmulatorProcess({"keys": {"refuse": ["sk-bad-one"]}}) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        monkeypatch.setenv("FIRST_OPENAI_KEY", "sk-good")
        monkeypatch.setenv("SECOND_OPENAI_KEY", "sk-bad-one")
        shown = printed(capsys, "keys", str(pooled), "--json", code=4)
    told = {one["variable"]: (one["found"], one["works"]) for one in json.loads(shown)}
    assert told == {
        "FIRST_OPENAI_KEY": (True, True),
        "SECOND_OPENAI_KEY": (True, False),
        "THIRD_OPENAI_KEY": (False, None),
    }


@pytest.mark.usefixtures("looking")
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("verdict", "--table: no table 'verdict'; did you mean 'verdicts'? (there are: results)"),
        ("../../fruit", "--table: no table '../../fruit' (there are: results)"),
        ("rankings", "run 'fruit' has no rankings: none of its stages compares anything"),
        ("agreement", "run 'fruit' has no agreement: none of its stages compares anything"),
    ],
)
def test_a_table_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str], table: str, said: str):
    assert main(["results", "fruit", "--emulate", "--table", table]) == 2
    assert said in capsys.readouterr().err


ALIKE = "the same in each of these rows: stage compliance, unparsed 0"
WIDE = pl.DataFrame(
    {
        "stage": ["compliance"] * 3,
        "model": ["openai/gpt-4.1", "openai/gpt-4.1-nano", "anthropic/claude-haiku-4-5"],
        "unparsed": [0, 0, 0],
        "note": [None, None, None],
        "score": [0.5, 0.75, 1.0],
        "score_lwr": [0.25, 0.5, 0.75],
        "score_upr": [0.75, 0.875, 1.0],
        "remark": ["x" * 20, "y", "z"],
    }
)


@pytest.mark.parametrize(
    ("width", "headings", "below"),
    [
        (200, list(WIDE.columns), []),
        (90, ["model", "score", "score_lwr", "score_upr", "remark"], [ALIKE]),
        (65, ["model", "score", "score_lwr", "score_upr"], [ALIKE, "columns without room here: remark"]),
        (3, ["model"], [ALIKE, "columns without room here: score, score_lwr, score_upr, remark"]),
    ],
)
def test_what_is_alike_makes_room_and_what_has_none_is_named(width: int, headings: list[str], below: list[str]) -> None:
    """A score without its interval, and no word about it, is worse than no score."""
    table, *lines = plain_rows(WIDE, width)
    assert isinstance(table, Table)
    assert [column.header for column in table.columns] == headings
    assert [str(line) for line in lines] == below


def test_one_row_is_shown_as_it_is() -> None:
    table, *lines = plain_rows(WIDE.head(1), 30)
    assert isinstance(table, Table)
    assert [column.header for column in table.columns] == ["stage", "model"]
    assert [str(line) for line in lines] == [
        "columns without room here: unparsed, note, score, score_lwr, score_upr, remark"
    ]
    assert len(plain_rows(WIDE.clear(), 40)) == 2
