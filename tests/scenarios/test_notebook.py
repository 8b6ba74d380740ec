"""An interrupt in a real notebook kernel: the cell ends, cells that were to follow do not run, and the next one resumes.

Needs ipykernel, which is no dependency of ours: `make notebook` runs it in an environment of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from scenarios.conftest import Scenario

pytest.importorskip("ipykernel", reason="run by `make notebook`")
pytest.importorskip("jupyter_client", reason="run by `make notebook`")

# Nothing ends by itself: only the interrupt does.
SLOW = {"latency": {"batch": [40_000, 40_001], "live": [0, 0]}, "time_scale": 1}
PATIENT = 60.0


class Notebook:
    """Cells of one kernel: sent at once, as "run all" does, and waited for one by one."""

    def __init__(self, manager: Any, client: Any) -> None:
        self._manager = manager
        self._client = client
        self._ended: dict[str, dict[str, Any]] = {}

    def send(self, cell: str) -> str:
        return str(self._client.execute(cell))

    def reply(self, cell: str) -> dict[str, Any]:
        """How a cell ended."""
        while cell not in self._ended:
            message = self._client.get_shell_msg(timeout=PATIENT)
            self._ended[message["parent_header"].get("msg_id")] = message["content"]
        return self._ended[cell]

    def run(self, cell: str) -> dict[str, Any]:
        return self.reply(self.send(cell))

    def value(self, expression: str) -> str:
        """What an expression comes to, in the kernel's words."""
        cell = str(self._client.execute("", user_expressions={"it": expression}))
        return str(self.reply(cell)["user_expressions"]["it"]["data"]["text/plain"])

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()


@contextmanager
def kernel_for(one: Scenario) -> Iterator[Notebook]:
    from jupyter_client.manager import start_new_kernel

    own = {name: str(one.folder / "jupyter") for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR")}
    environ = {**os.environ, **one.addresses, **one.environ, **own}
    manager, client = start_new_kernel(kernel_name="python3", env=environ, cwd=str(one.folder))
    try:
        yield Notebook(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENT
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_cell_ends_and_the_next_one_resumes(scenario: Callable[..., Scenario]) -> None:
    one = scenario(SLOW)
    first, second = one.study(4, name="one"), one.study(4, name="two")
    with kernel_for(one) as notebook:
        assert notebook.run("import sys, overnight as on")["status"] == "ok"
        asked = notebook.send(f"on.run({first!r})")
        follows = notebook.send(f"on.run({second!r})")
        wait_until(lambda: bool(one.batches()))
        notebook.interrupt()
        ended = notebook.reply(asked)
        assert (ended["status"], ended.get("ename")) == ("error", "Interrupted"), ended
        assert "To go on: overnight resume one" in ended["evalue"]
        assert notebook.value("issubclass(sys.last_type, KeyboardInterrupt)") == "True"
        assert notebook.value("[run.state for run in sys.last_value.runs]") == "['stopped']"
        # The cell after it was waiting already: it is not run, and nothing of it is paid.
        assert notebook.reply(follows)["status"] == "aborted"
        assert not (one.folder / "runs" / "two").exists()
        (batch,) = one.batches()
        assert one.status("one").batches[0].batch_id == batch["id"]
        one.emulator.finish()
        assert notebook.run("done = on.resume('one', once=True)")["status"] == "ok"
        assert notebook.value("[run.state for run in done]") == "['done']"
    assert one.statuses("one") == {"answered": 4}
    one.assert_paid_once()
