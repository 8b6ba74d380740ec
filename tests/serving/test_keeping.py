"""Open runs that nobody works on are taken up, on both databases; those that somebody works on are left alone."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import overnight as on
import own_database
from overnight.api.places import folder_of
from overnight.serving.commands import Commands
from overnight.serving.keeping import RESUME, Keeper
from overnight.settings import Settings, settings

STUDY = """
name: night
task: generate
items: items.csv
prompt: "Say {text}"
models: [openai/gpt-4.1-mini]
"""


@pytest.fixture(params=["folder", "database"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "items.csv").write_text("id,text\na,hello\nb,there\n")
    runs = tmp_path / "runs"
    return settings(runs=runs if request.param == "folder" else own_database.address_of(runs), emulate=True)


def runs_of(place: Settings) -> str:
    return str(place.runs) if place.database is None else place.database.text


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not what():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_a_run_that_was_submitted_is_carried_on_by_somebody_else(place: Settings) -> None:
    on.submit("study.yaml", runs=runs_of(place), emulate=True)
    commands, said = Commands(place), []
    keeper = Keeper(place, commands, said.append)
    try:
        with folder_of("night", place).locked():
            keeper.look()  # somebody works on it
        assert said == []
        keeper.look()
        assert said == ["night: taken up"]
        latest = commands.latest("night", RESUME)
        assert latest is not None
        wait_for(lambda: latest.exit_code is not None)
        assert latest.exit_code == 0, list(latest.lines)
        keeper.look()
        assert said == ["night: taken up"]
    finally:
        commands.close()
    (status,) = on.status("night", runs=runs_of(place), emulate=True)
    assert status.total("answered") == 2


def test_whoever_is_interrupted_twice_leaves_no_command_behind(place: Settings) -> None:
    """The first time, commands come to a safe stop, and are waited for. One that does not end is suspended here."""
    on.submit("study.yaml", runs=runs_of(place), emulate=True)
    commands = Commands(place)
    begun = commands.start("night", RESUME, RESUME)
    wait_for(lambda: folder_of("night", place).worked_on)
    os.kill(begun.process.pid, signal.SIGSTOP)
    again = threading.Timer(0.5, _thread.interrupt_main)
    # Who starts tests in the background may have them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        again.start()
        with pytest.raises(KeyboardInterrupt):
            commands.close()
        again.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert begun.process.poll() == -signal.SIGKILL
