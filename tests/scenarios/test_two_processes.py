"""Two processes start one run at once: one works, the other is told, and nothing of the first one's is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

import own_time
from overnight.core.clock import WallClock
from overnight.core.errors import StudyError
from overnight.engine.session import opened
from overnight.ledger.ledger import open_ledger
from overnight.store import run_folder
from overnight.store.run_folder import RunFolder
from scenarios.bill import priced
from scenarios.conftest import Scenario

pytestmark = pytest.mark.in_folder("its lock and its paths")

# Begins when `go` is there, so that two of them begin together; may hang at the first folder it makes for a run.
CODE = """
import json, os, sys, time
from pathlib import Path
import overnight.api as api
from overnight.core.errors import OvernightError
from own_time import use_own_time
import overnight.providers.openai, aiohttp, polars

use_own_time()
study, options, hang_until = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
hung = []
def hook(event, arguments):
    if event == "os.mkdir" and "runs/" in os.fsdecode(arguments[0]) and "night" in os.fsdecode(arguments[0]).split(
        "runs/")[1] and hang_until and not hung:
        hung.append(True)
        print("hangs", flush=True)
        until = time.monotonic() + 8
        while not Path(hang_until).exists() and time.monotonic() < until:
            time.sleep(0.005)
sys.addaudithook(hook)
print("ready", flush=True)
sys.stdin.readline()
try:
    run = api.run(study, **options)
    print(json.dumps(["run", run.state, run.message]), flush=True)
except OvernightError as error:
    print(json.dumps([type(error).__name__, "", str(error)]), flush=True)
"""


class Starter:
    """One process that is about to run the study."""

    def __init__(self, one: Scenario, study: str, hang_until: str = "", **options: object) -> None:
        beside = {"PYTHONPATH": str(Path(own_time.__file__).parent)}
        environ = {**os.environ, **one.addresses, **one.environ, **beside}
        command = [sys.executable, "-c", CODE, study, json.dumps(options), hang_until]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=one.folder, env=environ
        )
        assert self.line() == "ready"

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def ending(self) -> list[str]:
        out, _ = self._process.communicate(timeout=60)
        found: list[str] = json.loads(out.splitlines()[-1])
        return found


SLOW = {"latency": {"batch": [40_000, 40_001], "live": [0, 0]}}


@pytest.mark.parametrize("options", [{}, {"as_name": "night-two"}], ids=["plain", "as"])
def test_a_process_that_finds_the_run_busy_removes_nothing(
    scenario: Callable[..., Scenario], options: dict[str, str]
) -> None:
    one = scenario(SLOW)
    study = one.study(12)
    run = one.folder / "runs" / options.get("as_name", "night")
    second = Starter(one, study, str(run / "outbox" / ".." / "ledger.db"), **options)
    second.go()
    first = Starter(one, study, **options)
    assert second.line() == "hangs"
    first.go()
    assert second.ending()[0] in ("RunBusy", "run")
    assert (run / "ledger.db").exists()
    assert first.ending()[:2] in (["run", "done"], ["RunBusy", ""])
    assert one.run(study, **options).state == "done"
    assert len(one.batches()) == 3
    one.assert_paid_once()


def test_many_natural_starts(scenario: Callable[..., Scenario]) -> None:
    for _ in range(3):
        one = scenario()
        study = one.study(6)
        both = [Starter(one, study), Starter(one, study)]
        for process in both:
            process.go()
        endings = [process.ending() for process in both]
        assert {"run"} <= {ending[0] for ending in endings} <= {"run", "RunBusy"}, endings
        assert one.run(study).state == "done"
        assert len(one.batches()) == 2
        one.assert_paid_once()


def test_a_rehearsal_that_finds_the_run_busy_leaves_the_others_provider_alone(
    scenario: Callable[..., Scenario],
) -> None:
    one = scenario()
    study = one.study(12)
    second = Starter(one, study, str(one.folder / "runs/.rehearsal/night/ledger.db"), emulate=True)
    second.go()
    assert second.line() == "hangs"
    first = Starter(one, study, emulate=True)
    first.go()
    endings = [second.ending(), first.ending()]
    assert ["run", "done"] in [ending[:2] for ending in endings], endings
    state = one.folder / "runs" / ".rehearsal" / ".emulator"
    assert [path.name for path in state.iterdir() if path.suffix == ".db"]
    assert one.run(study, emulate=True).state == "done"


def test_a_study_that_cannot_begin_leaves_nothing(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = one.study(12)
    (one.folder / "night.jsonl").write_text('{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n')
    for emulate in (False, True):
        assert one.run(study, emulate=emulate).error == "StudyError"
        assert sorted(path.name for path in one.folder.iterdir()) == ["night.jsonl", "night.yaml"]


def test_a_folder_that_the_user_made_stays(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = one.study(12)
    run = one.folder / "runs" / "night"
    run.mkdir(parents=True)
    (run / "notes.txt").write_text("mine")
    (one.folder / "night.jsonl").write_text('{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n')
    assert one.run(study).error == "StudyError"
    assert [path.name for path in run.iterdir()] == ["notes.txt"]


def test_a_study_that_is_refused_once_its_run_is_held_leaves_nothing(scenario: Callable[..., Scenario]) -> None:
    """Too few rows for a batch of this provider, which shows when they are counted on record."""
    one = scenario(provider="bedrock")
    study = priced(one, 4, batch={"min_requests": 100})
    before = sorted(path.name for path in one.folder.iterdir())
    for emulate in (False, True):
        ending = one.run(study, emulate=emulate)
        assert ending.error == "StudyError"
        assert "4 rows wait" in ending.message
        assert sorted(path.name for path in one.folder.iterdir()) == before
    run = one.folder / "runs" / "night"
    run.mkdir(parents=True)
    assert one.run(study).error == "StudyError"
    assert [*run.iterdir()] == []


def test_a_run_that_another_process_has_just_begun_is_not_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second waits for the lock while the first begins the run, and then fails itself."""
    monkeypatch.setattr(run_folder, "_LOOKS", run_folder._TRIES)
    folder = RunFolder(tmp_path / "runs" / "night")

    def fail() -> None:
        with (
            pytest.raises(StudyError, match="not this time"),
            opened(folder, RunFolder(tmp_path / "runs"), WallClock()),
        ):
            raise StudyError("not this time")

    with folder.locked():
        second = Thread(target=fail)
        second.start()
        second.join(0.3)
        folder.make()
        with open_ledger(folder) as ledger:
            ledger.write("begun", lambda tx: tx.facts.begin_run(0.0)).result()
    second.join(60)
    assert folder.exists()
