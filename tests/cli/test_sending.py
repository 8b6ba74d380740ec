"""`run`, `submit`, `resume` on the emulator: what is printed where, and how they end."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.shell import STUDY, clean_environment, overnight
from cli.terminal import Terminal
from overnight.cli import main

SLOW = {"OVERNIGHT_TIME_SCALE": "60"}


def test_a_run_in_a_pipe(study: Path):
    done = overnight("run", "fruit.yaml", "--emulate", cwd=study)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "fruit: all rows are settled",
        "  rows    3 answered",
        re.search(r"  tokens  \d+ in, \d+ out", done.stdout)[0],
        re.search(r"  cost    \$0\.\d+", done.stdout)[0],
        "  table   runs/.rehearsal/fruit/tables/results.parquet",
        "  report  runs/.rehearsal/fruit/report.html",
        "  next    overnight results --emulate fruit",
    ]
    log = done.stderr.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line) for line in log)
    assert any(line.endswith(" generate: 3 rows on record") for line in log)
    assert any(line.endswith(" 0/3 settled") for line in log)


def test_a_run_on_a_terminal(study: Path):
    # Three real seconds at the provider: long enough for some pictures on any machine.
    (study / "an_hour.yaml").write_text("latency: {batch: [3600, 3600]}\n")
    command = [sys.executable, "-m", "overnight", "run", "fruit.yaml", "--emulate", "--truth", "an_hour.yaml"]
    environment = clean_environment(OVERNIGHT_TIME_SCALE="1200")
    del environment["COLUMNS"]
    terminal = Terminal(command, columns=80, cwd=study, env=environment)
    assert terminal.code == 0
    assert any(re.search(r"^fruit  ─+  0/3    0%  \d+s$", frame, re.MULTILINE) for frame in terminal.frames)
    assert any(re.search(r"shard 1 +gpt-4.1-mini +\d/3  running", frame) for frame in terminal.frames)
    assert all(len(line) <= 80 for frame in terminal.frames for line in frame.splitlines())
    # The picture goes when the work ends; messages and the result stay.
    left = terminal.screen.text
    assert "generate: 3 rows on record" in left
    assert "fruit: all rows are settled" in left
    assert "━" not in left
    assert "shard 1" not in left


def test_rows_that_failed(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "fruit.yaml", "--emulate", "--truth", "pears_fail.yaml"]) == 3
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("1 row failed for good: overnight results --emulate fruit --failed")
    assert said[1] == "  rows    2 answered, 1 failed (invalid_request 1)"


def test_no_key(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "fruit.yaml"]) == 4
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.count("\n") == 1
    assert "OPENAI_API_KEY" in seen.err
    assert "--emulate" in seen.err
    assert not (study / "runs").exists()


def test_json_is_all_there_is_on_stdout(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "fruit.yaml", "--emulate", "--json"]) == 0
    seen = capsys.readouterr()
    document = json.loads(seen.out)
    assert document["state"] == "done"
    assert document["exit_code"] == 0
    assert document["rows"] == {
        "total": 3, "answered": 3, "refused": 0, "truncated": 0, "failed": 0, "pending": 0
    }  # fmt: skip
    assert (study / document["results"]).exists()
    assert "3 rows on record" in seen.err


def test_quiet_is_one_line(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "fruit.yaml", "--emulate", "-q"]) == 0
    seen = capsys.readouterr()
    assert seen.out == "fruit: all rows are settled\n"
    assert seen.err == ""


def stopped_by(stop: signal.Signals, study: Path) -> "subprocess.CompletedProcess[str]":
    """A run that gets the signal while its batch is at the provider."""
    command = [sys.executable, "-m", "overnight", "run", "fruit.yaml", "--emulate", "-v"]
    process = subprocess.Popen(
        command, cwd=study, env=clean_environment(**SLOW), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if "running as batch_" in line:
            break
    process.send_signal(stop)
    said, told = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, said, told)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_the_middle_and_resumed(study: Path, stop: signal.Signals, capsys: pytest.CaptureFixture[str]):
    stopped = stopped_by(stop, study)
    assert stopped.returncode == 130
    assert "stopping: finishing the step at hand" in stopped.stderr
    assert stopped.stdout.startswith(
        "fruit: stopped; 1 batch goes on at the provider. To go on: overnight resume --emulate fruit\n"
    )
    assert main(["resume", "--emulate", "-q"]) == 0
    assert capsys.readouterr().out == "fruit: all rows are settled\n"


def test_time_is_up(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "fruit.yaml", "--emulate", "--timeout", "1s", "-q"]) == 4
    assert "overnight resume --emulate fruit" in capsys.readouterr().out
    assert main(["resume", "fruit", "--emulate", "-q"]) == 0
    assert capsys.readouterr().out == "fruit: all rows are settled\n"
    assert main(["resume", "--emulate"]) == 0
    assert capsys.readouterr().out == "nothing is open: every run is finished\n"


def test_submit_sends_and_comes_back(study: Path, capsys: pytest.CaptureFixture[str]):
    (study / "second.yaml").write_text(STUDY.replace("fruit", "second"))
    (study / "broken.yaml").write_text(STUDY.replace("task", "tsak"))
    assert main(["submit", "fruit.yaml", "broken.yaml", "second.yaml", "--emulate", "--json"]) == 2
    seen = capsys.readouterr()
    sent = json.loads(seen.out)
    assert [(run["run"], run["state"]) for run in sent] == [("fruit", "submitted"), ("second", "submitted")]
    # One wrong study does not hold up the others, and is not passed over either.
    assert seen.err.splitlines()[-1].startswith("overnight: broken.yaml:2:1: unknown key 'tsak'; did you mean 'task'?")

    assert main(["resume", "--emulate", "--json", "--interval", "10"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert [(run["run"], run["state"]) for run in done] == [("fruit", "done"), ("second", "done")]


def test_a_ready_made_file(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "fruit.yaml", "--write", "requests", "--emulate", "-q"]) == 0
    (file,) = (study / "requests").glob("*.jsonl")
    capsys.readouterr()
    ready = ["submit", str(file), "--provider", "openai", "--description", "a note", "--as", "ready", "--emulate"]
    assert main([*ready, "-q"]) == 0
    assert main(["resume", "ready", "--emulate", "-q"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "ready: all rows are settled"


def test_a_sample_first_then_the_rest_under_another_name(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "fruit.yaml", "--emulate", "--limit", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["total"] == 1
    assert main(["run", "fruit.yaml", "--emulate", "--as", "copy", "--json"]) == 0
    seen = capsys.readouterr()
    assert json.loads(seen.out)["run"] == "copy"
    assert "1 answer of 'fruit' still fits and is reused" in seen.err


def test_failed_rows_are_asked_again(study: Path, capsys: pytest.CaptureFixture[str]):
    main(["run", "fruit.yaml", "--emulate", "--truth", "pears_fail.yaml", "-q"])
    assert main(["run", "fruit.yaml", "--emulate", "--reask", "failed", "--reask", "refused"]) == 0
    seen = capsys.readouterr()
    assert "1 failed row is asked again" in seen.err
    assert "  rows    3 answered" in seen.out


def test_nobody_reads_what_is_printed(study: Path):
    """Both streams are closed at once: the run goes on, and ends as it would have."""
    command = [sys.executable, "-m", "overnight", "run", "fruit.yaml", "--emulate", "-v"]
    process = subprocess.Popen(
        command, cwd=study, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    process.stderr.close()
    assert process.wait(60) == 0
    deadline = time.monotonic() + 5
    while not (study / "runs/.rehearsal/fruit/tables/results.parquet").exists():
        assert time.monotonic() < deadline
