"""Results of a run that is not done: under way in another process, between two passes, killed; batch and live."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

import overnight as on
import own_database
from overnight.api import Run
from overnight.api.tables import rebuilt
from overnight.cli import main
from scenarios.conftest import Scenario

ROWS = 40
# Calls come one after another, for some seconds. Three batches end, and all others wait until the test lets them.
SLOW = {
    "time_scale": 2_000.0,
    "latency": {"batch": [60, 600], "live": [500, 1_500]},
    "faults": [{"on": "batch", "do": "stuck", "skip": 3}],
}


@contextmanager
def under_way(one: Scenario, study: str, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "overnight", "run", study, "-q", *flags]
    environ = {**os.environ, **one.addresses, **one.environ, **own_database.of_commands(one.folder / "runs")}
    with subprocess.Popen(command, cwd=one.folder, env=environ, stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)


def landed(frame: pl.DataFrame) -> int:
    assert (frame["status"].is_in(["answered", "pending"])).all()
    assert (frame["answer"].is_null() == (frame["status"] == "pending")).all()
    return frame.filter(pl.col("status") != "pending").height


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_what_has_landed_is_read_while_another_process_works(
    scenario: Callable[..., Scenario], mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = scenario(SLOW)
    study, runs = one.study(ROWS, poll={"interval_seconds": 0.2}), one.folder / "runs"
    seen: list[int] = []
    with under_way(one, study, "--mode", mode, "--concurrency", "2") as process:
        until = time.monotonic() + 90
        while process.poll() is None and time.monotonic() < until:
            if one.kept().exists() and on.status("night", runs=runs)[0].total("rows") == ROWS:
                frame = on.results("night", runs=runs)
                assert frame.height == ROWS
                seen.append(landed(frame))
                if 0 < seen[-1] < ROWS and (mode == "batch" or seen[-1] != seen[0]):
                    break
            time.sleep(0.02)
        # It holds still, so that a busy machine does not end a live run before it was looked at.
        process.send_signal(signal.SIGSTOP)
        assert 0 < landed(on.results("night", runs=runs)) < ROWS, seen
        assert on.status("night", runs=runs)[0].worked_on
        tables = sorted((runs / "night" / "tables").iterdir())
        assert main(["results", "night", "--runs", str(runs), "-o", str(one.folder / "part.csv")]) == 0
        assert main(["costs", "night", "--runs", str(runs)]) == 0
        assert main(["rebuild", "night", "--runs", str(runs)]) == 0
        said = capsys.readouterr().out
        assert sorted((runs / "night" / "tables").iterdir()) == tables == []
        process.send_signal(signal.SIGCONT)
        while process.poll() is None and time.monotonic() < until + 60:
            one.emulator.finish()
            time.sleep(0.1)
        assert process.returncode == 0
    assert "of them pending" in said
    assert "another process works on the run and makes its tables when it ends" in said
    assert pl.read_csv(one.folder / "part.csv").height == ROWS
    assert seen == sorted(seen)
    last = on.results("night", runs=runs)
    assert landed(last) == ROWS
    assert last.equals(one.table())


def test_between_two_passes(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"time_scale": 2_000.0, "latency": {"batch": [1_000, 80_000], "live": [0, 0]}})
    runs = one.folder / "runs"
    assert one.call("submit", one.study(ROWS)).state == "submitted"
    assert on.results("night", runs=runs)["status"].to_list() == ["pending"] * ROWS
    for _ in range(100):
        assert one.call("resume", "night", once=True).state == "running"
        found = landed(on.results("night", runs=runs))
        if found:
            break
        one.emulator.advance(1_000)
    assert 0 < found < ROWS
    assert not one.status().worked_on
    assert on.results("night", runs=runs).equals(one.table())


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_after_a_kill_before_there_were_tables(scenario: Callable[..., Scenario], mode: str) -> None:
    one = scenario()
    study, runs = one.study(12), one.folder / "runs"
    assert one.run(study, mode=mode, environ={"OVERNIGHT_KILL_AT": "fsync tables"}).signal == signal.SIGKILL
    assert not (runs / "night" / "tables" / "results.parquet").exists()
    found = on.results("night", runs=runs)
    assert landed(found) == 12
    assert on.costs("night", runs=runs)["rows"].sum() == 12
    assert one.run(study, mode=mode).state == "done"
    assert one.table().equals(found)


def test_tables_of_an_earlier_pass_are_not_taken_for_today_s(scenario: Callable[..., Scenario]) -> None:
    """A sample is asked, then the rest, and the process dies between the answers and the tables."""
    one = scenario()
    study, runs = one.study(12), one.folder / "runs"
    assert one.run(study, limit=4).state == "done"
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": "fsync tables"}).signal == signal.SIGKILL
    assert one.table().height == 4
    assert landed(on.results("night", runs=runs)) == 12
    run = Run(name="night", path=runs / "night", state="running", message="", snapshot=None, kept=one.kept())
    assert run.results().height == 12
    assert on.scan_results("night", runs=runs).collect().height == 12
    assert rebuilt("night", runs=runs).kept
    assert one.table().height == 12


def test_a_run_that_others_hold_is_read_and_left_alone(scenario: Callable[..., Scenario], tmp_path: Path) -> None:
    one = scenario()
    runs = one.folder / "runs"
    assert one.run(one.study(12)).state == "done"
    digest = one.table_digest()
    with one.kept().locked():
        done = rebuilt("night", runs=runs)
        assert (done.rows, done.pending, done.kept) == (12, 0, False)
        assert on.rebuild("night", runs=runs) == 12
    assert one.table_digest() == digest
    assert one.findings() == []
