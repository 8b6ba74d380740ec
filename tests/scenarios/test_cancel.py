"""Calling off, going on, watching beside a run, and a second process that must not touch it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import own_database
from overnight import api
from scenarios.conftest import Scenario

# A day takes a minute and a half, and batches take most of it until somebody arms other faults.
PACE = {"time_scale": 1000}
SLOW = {"on": "batch", "do": "slow", "seconds": 50_000}


def test_cancel_keeps_what_finished(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"time_scale": 500}, faults=[SLOW])
    one.call("submit", one.study(40, batch={"max_requests": 40}))
    one.emulator.advance(25_000)
    ending = one.call("cancel", "night")
    assert ending.state == "cancelled", ending
    counts = one.statuses()
    assert counts["answered"] > 0
    assert counts["pending"] > 0
    # A cancelled run is not gone on with by cron ...
    assert one.call("resume", "night", once=True).state == "running"
    assert len(one.batches()) == 1
    # ... but by the user, who says `run` again: only the rest is asked.
    one.emulator.arm([])
    assert one.run(one.study(40, batch={"max_requests": 40})).state == "done"
    assert one.statuses() == {"answered": 40}
    one.assert_paid_once()


def test_what_was_never_sent_is_taken_back(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "status", "status": 429, "retry_after": 50_000}])
    one.call("submit", one.study(5), environ={"OVERNIGHT_KILL_AT": "30"})
    assert one.call("cancel", "night").state == "cancelled"
    assert one.batches() == []


def test_a_second_process_is_refused(scenario: Callable[..., Scenario]) -> None:
    one = scenario(PACE, faults=[SLOW])
    study = one.study()
    environ = {**os.environ, **one.environ, **one.addresses, "PYTHONPATH": str(Path(own_database.__file__).parent)}
    code = f"""
import overnight
import own_database
own_database.use_own_database()
try:
    overnight.run({study!r})
except KeyboardInterrupt as stop:
    print(stop.runs[0].exit_code)
"""
    first = subprocess.Popen(
        [sys.executable, "-c", code], cwd=one.folder, env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        _wait_for(lambda: len(one.batches()) == 3)
        second = one.run(study)
        assert second.error == "RunBusy"
        assert f"process {first.pid}" in second.message
        # Looking is always allowed.
        assert api.status("night", runs=one.folder / "runs")[0].total("pending") == 12
        # Ctrl-C: the first process stops safely; everything goes on later.
        first.send_signal(signal.SIGINT)
        out, _ = first.communicate(timeout=30)
        assert out.strip() == "130"
    finally:
        first.kill()
        first.wait()
    one.emulator.finish()
    assert one.run(study).state == "done"
    one.assert_paid_once()


def _wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def test_one_batch_can_be_cancelled_by_its_id(scenario: Callable[..., Scenario]) -> None:
    one = scenario(PACE, faults=[SLOW])
    one.call("submit", one.study())
    batch = one.batches()[0]["id"]
    assert one.call("cancel", batch).state is None
    one.emulator.finish()
    ending = one.call("resume", "night")
    assert ending.state == "held up", ending
    one.emulator.arm([])
    # Not even the next process asks its rows again, until the user says `run`.
    made = len(one.batches())
    for _ in range(2):
        again = one.call("resume", "night")
        assert again.state == "held up", again
        assert "to ask its rows again, type again what began the run" in again.message
    assert len(one.batches()) == made
    assert one.run(one.study()).state == "done"
    assert one.statuses() == {"answered": 12}


def test_a_batch_cancelled_at_the_console_is_not_asked_again_by_cron(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "cancel", "times": 1}])
    study = one.study()
    assert one.run(study).state == "held up"
    made = len(one.batches())
    assert one.call("resume", "night", once=True).state == "held up"
    assert len(one.batches()) == made
    assert one.run(study).state == "done"
    one.assert_paid_once()


@pytest.mark.parametrize("provider", ["mistral", "openai"])
def test_rows_of_a_cancelled_batch_wait_for_the_user_and_no_longer(
    scenario: Callable[..., Scenario], provider: str
) -> None:
    """Also where it takes several looks, in passes of their own, until it is clear what the batch has run."""
    one = scenario(faults=[{"on": "batch", "do": "cancel", "times": 1}], provider=provider)
    study = one.study(5)
    assert one.call("submit", study).state == "submitted"
    one.emulator.finish()
    for _ in range(3):
        ending = one.call("resume", "night", once=True, environ=one.going_on)
        assert ending.state in ("running", "held up"), ending
        one.emulator.advance(7200)
    assert ending.state == "held up", ending
    assert len(one.batches()) == 1
    assert one.run(study, environ=one.going_on).state == "done"
    one.assert_paid_once()


@pytest.mark.parametrize("provider", ["mistral", "openai"])
def test_who_says_run_after_cancel_need_not_say_it_twice(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario({"time_scale": 1_000}, faults=[SLOW], provider=provider)
    study = one.study(12)
    one.call("submit", study)
    one.emulator.advance(25_000)
    assert one.call("cancel", "night").state == "cancelled"
    one.emulator.arm([])
    ending = one.run(study)
    assert ending.state == "done", ending
    one.assert_paid_once()


def test_a_finished_run_cannot_be_cancelled(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    assert one.run(one.study()).state == "done"
    ending = one.call("cancel", "night")
    assert ending.state == "done", ending
    assert any("nothing to call off" in text for text in ending.said)
    assert not (one.folder / "runs" / "night" / "cancelled").exists()


def test_status_finds_the_run_of_a_batch(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study())
    batch = one.batches()[0]["id"]
    assert api.status(batch, runs=one.folder / "runs")[0].run == "night"


def test_watch_ends_when_the_run_does(scenario: Callable[..., Scenario], tmp_path: Path) -> None:
    one = scenario()
    one.run(one.study())
    seen = list(api.watch("night", interval=0.01, runs=one.folder / "runs"))
    assert [status.total("answered") for status in seen] == [12]
