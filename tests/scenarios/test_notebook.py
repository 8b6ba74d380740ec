"""Overnight in a real notebook kernel: progress and tables in the cell; an interrupt ends it, and the next one resumes.

Needs ipykernel, which is no dependency of ours: `make notebook` runs it in an environment of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import own_time
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

    def shown(self, cell: str) -> list[dict[str, Any]]:
        """All that a cell has put on the page, first to last: what kind it is, where it goes, and what it says."""
        cell_id = self.send(cell)
        assert self.reply(cell_id)["status"] == "ok", self.reply(cell_id)
        found: list[dict[str, Any]] = []
        while True:
            message = self._client.get_iopub_msg(timeout=PATIENT)
            if message["parent_header"].get("msg_id") != cell_id:
                continue
            content = message["content"]
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return found
            found.append({"kind": message["msg_type"], **content})


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


def html_of(message: dict[str, Any]) -> str:
    return str(message["data"]["text/html"])


@pytest.mark.filterwarnings("ignore")
def test_progress_and_tables_in_the_cell(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"latency": {"batch": [20_000, 20_001], "live": [0, 0]}})
    study = one.study(4)
    with kernel_for(one) as notebook:
        # Time as it passes at the emulator, which a real run would not have.
        beside = str(Path(own_time.__file__).parent)
        begun = f"import sys; sys.path.insert(0, {beside!r}); import overnight as on, own_time; own_time.use_own_time()"
        assert notebook.run(begun)["status"] == "ok"
        messages = notebook.shown(f"run = on.run({study!r}); run")
        first = next(message for message in messages if message["kind"] == "display_data")
        updates = [message for message in messages if message["kind"] == "update_display_data"]
        (result,) = [message for message in messages if message["kind"] == "execute_result"]
        assert [message["kind"] for message in messages].count("display_data") == 1, "one picture, drawn anew"
        assert updates
        assert {message["transient"]["display_id"] for message in updates} == {first["transient"]["display_id"]}
        assert "0 of 4 rows" in html_of(first)
        assert "4 of 4 rows" in html_of(updates[-1])
        assert "&#36;0.00" in html_of(result)
        assert "done" in html_of(result)
        (status,) = [m for m in notebook.shown("run.status()") if m["kind"] == "execute_result"]
        assert "4 answered" in html_of(status)
        (costs,) = [m for m in notebook.shown("run.costs()") if m["kind"] == "execute_result"]
        assert "settled" in html_of(costs)
        assert float(notebook.value("run.costs()['settled'].sum()")) < 0.01, "in dollars"
        (several,) = [m for m in notebook.shown("on.status()") if m["kind"] == "execute_result"]
        assert "4 answered" in html_of(several)
        (plan,) = [m for m in notebook.shown(f"on.plan({study!r})") if m["kind"] == "execute_result"]
        assert "nothing was sent" in html_of(plan)
        (shown,) = [m for m in notebook.shown(f"on.Study.load({study!r})") if m["kind"] == "execute_result"]
        assert len(shown["data"]["text/plain"]) < 500
        # Nothing is drawn where somebody else tells of the progress.
        quiet = notebook.shown(f"again = on.run({study!r}, tell=lambda _: None)")
        assert [message for message in quiet if message["kind"] == "display_data"] == []
