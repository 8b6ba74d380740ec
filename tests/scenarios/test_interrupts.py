"""Ctrl-C in Python: a safe stop, and then KeyboardInterrupt, so that a loop over studies ends where the user wants it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.conftest import Scenario

# Three studies in a loop, and whoever catches errors to go on with the next one must not catch this.
LOOP = """
import json, sys
import overnight as on
ended = []
try:
    for study in sys.argv[2:]:
        ended.append(study)
        print("begun", flush=True)
        try:
            if sys.argv[1] == "resume":
                on.submit(study)
                on.resume()
            else:
                on.run(study, mode=sys.argv[1])
        except Exception as error:
            print(repr(error), flush=True)
except KeyboardInterrupt as stop:
    print(json.dumps([len(ended), str(stop), [run.state for run in getattr(stop, 'runs', [])]]))
"""
SLOW = {"latency": {"batch": [400_000, 400_001], "live": [1, 2]}, "time_scale": 2000}


@pytest.mark.parametrize("verb", ["batch", "live", "resume"])
def test_a_loop_over_studies_ends(scenario: Callable[..., Scenario], verb: str) -> None:
    # The emulator notes a call when it has answered: of the live ones all but the last come at once.
    last = {"on": "live", "do": "slow", "seconds": 100_000, "where": "number 3 "}
    one = scenario(SLOW) if verb != "live" else scenario(faults=[last])
    studies = [one.study(4, name=name) for name in ("one", "two", "three")]
    environ = {**os.environ, **one.addresses, **one.environ}
    child = subprocess.Popen(
        [sys.executable, "-c", LOOP, verb, *studies],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=one.folder, env=environ,
    )  # fmt: skip
    sent = one.folder / "runs" / "one" / "sent"
    while not sent.exists():
        assert child.poll() is None, child.communicate()
    _wait_until(lambda: bool(one.batches()) if verb != "live" else bool(one.log()["calls"]))
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    count, message, states = json.loads(out.splitlines()[-1])
    assert count == 1, (out, err)
    if verb != "resume":  # there it may come between two verbs, which is Python's own
        assert states == ["stopped"]
        assert "To go on: overnight resume one" in message
    assert not (one.folder / "runs" / "two").exists()
    assert one.findings("one") == [] or one.status("one").total("pending")


def _wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if done():
            return
        time.sleep(0.01)
    pytest.fail("it never happened")


def test_a_stop_that_comes_before_the_engine_has_begun_is_kept(tmp_path: Path) -> None:
    import asyncio

    from overnight.core.clock import WallClock
    from overnight.engine.session import opened
    from overnight.engine.work import Work
    from overnight.store.run_folder import RunFolder

    def none(_: object) -> None: ...

    with opened(RunFolder(tmp_path / "run"), RunFolder(tmp_path), WallClock()) as session:
        session.begun = True
        session.stop()
        worked = asyncio.run(session.work(Work(), none, none, none, []))  # type: ignore[arg-type]
    assert worked.stopped
