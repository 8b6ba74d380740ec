"""One emulator for all who rehearse in a folder: found, shared, ended by itself, and never taken for another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from overnight.core.errors import StudyError, Unavailable
from overnight.emulation import Rehearsal, emulator, rehearsal
from overnight.settings import Settings

PATIENT = 60.0
# Another process that uses the folder's emulator until a line comes.
USER = """
import sys
from pathlib import Path
from overnight.emulation import Rehearsal
from overnight.settings import Settings
one = Rehearsal(Settings(runs=Path(sys.argv[1]), emulate=True, time_scale=60.0))
print("ready", flush=True)
sys.stdin.readline()
print(one.address(), flush=True)
sys.stdin.readline()
one.close()
"""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "LINGERS", 0.3)


@pytest.fixture
def use(tmp_path: Path) -> Iterator[Callable[..., Rehearsal]]:
    """Uses of the folder's emulator, all of which are ended."""
    begun: list[Rehearsal] = []

    def begin(truth: Path | None = None, time_scale: float = 60.0) -> Rehearsal:
        one = Rehearsal(Settings(runs=tmp_path, emulate=True, truth=truth, time_scale=time_scale))
        begun.append(one)
        return one

    yield begin
    for one in begun:
        one.close()


def state(folder: Path) -> Path:
    return folder / ".rehearsal" / ".emulator"


def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((state(folder) / "address.json").read_text())
    return found


def ask(url: str, path: str = "time") -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/_emulator/{path}", timeout=PATIENT) as reply:
        answer: dict[str, Any] = json.loads(reply.read())
    return answer


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENT
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Process:
    """Somebody else's process that uses the emulator."""

    def __init__(self, folder: Path) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", USER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline().strip()

    def go(self) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write("go\n")
        self.popen.stdin.flush()

    def end(self, *, kill: bool = False) -> None:
        self.popen.kill() if kill else self.go()
        self.popen.communicate(timeout=PATIENT)


def test_calls_share_one_which_ends_by_itself_and_goes_on_from_its_state(tmp_path: Path, use) -> None:
    first, second = use(), use()
    assert first.address() == second.address()
    pid = told(tmp_path)["pid"]
    before = ask(first.address())["now"]
    first.close()
    time.sleep(1.0)
    assert ask(second.address())["time_scale"] == 60.0, "somebody uses it still"
    second.close()
    wait_until(lambda: not is_alive(pid))
    assert not (state(tmp_path) / "address.json").exists()
    assert ask(use().address())["now"] >= before
    assert told(tmp_path)["pid"] != pid


def test_nothing_is_started_until_it_is_needed(tmp_path: Path, use) -> None:
    use()
    with emulator(Settings(runs=tmp_path, emulate=True)) as one:
        assert one is not None
    assert list(tmp_path.iterdir()) == []
    with emulator(Settings(runs=tmp_path)) as real:
        assert real is None


def test_its_file_is_private(tmp_path: Path, use) -> None:
    use().address()
    assert (state(tmp_path) / "address.json").stat().st_mode & 0o777 == 0o600
    assert state(tmp_path).stat().st_mode & 0o777 == 0o700


def test_processes_that_start_at_once_start_one_and_outlive_who_started_it(tmp_path: Path) -> None:
    several = [Process(tmp_path) for _ in range(3)]
    for one in several:
        one.go()
    addresses = {one.line() for one in several}
    assert len(addresses) == 1
    (url,) = addresses
    pid = told(tmp_path)["pid"]
    for one in several[:2]:
        one.end(kill=True)
    time.sleep(1.0)
    assert ask(url)
    several[2].end(kill=True)
    wait_until(lambda: not is_alive(pid))


def test_one_that_was_killed_is_noticed(tmp_path: Path, use) -> None:
    first = use()
    old = first.address()
    pid = told(tmp_path)["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid))
    first.close()
    assert told(tmp_path)["url"] == old, "its file is still there"
    assert ask(use().address())
    assert told(tmp_path)["pid"] != pid


def test_a_file_that_nobody_stands_behind_is_not_believed(tmp_path: Path, use) -> None:
    state(tmp_path).mkdir(parents=True)
    forged = {"url": "http://127.0.0.1:9", "pid": 1, "time_scale": 60.0, "truth": []}
    (state(tmp_path) / "address.json").write_text(json.dumps(forged))
    assert use().address() != forged["url"]


def test_another_truth_waits_until_nobody_uses_the_first(tmp_path: Path, use) -> None:
    fast, slow = tmp_path / "fast.yaml", tmp_path / "slow.yaml"
    fast.write_text("latency: {batch: [1, 2]}")
    slow.write_text("latency: {batch: [100, 200]}")
    first = use(fast)
    url = first.address()
    assert use(fast).address() == url
    with pytest.raises(StudyError, match=r"under way with the truth file .*fast.yaml, and not .*slow.yaml; wait"):
        use(slow).address()
    assert use().address() == url, "who has none takes what is there"
    with pytest.raises(StudyError, match="with time 60 times as fast, and not 600 times"):
        use(fast, 600.0).address()


def test_it_is_replaced_when_another_truth_is_wanted_and_nobody_uses_it(tmp_path: Path, use, monkeypatch) -> None:
    monkeypatch.setattr(rehearsal, "LINGERS", 60)
    truth, qualities = tmp_path / "truth.yaml", tmp_path / "qualities.csv"
    truth.write_text("qualities: {file: qualities.csv}")
    qualities.write_text("text,quality\nx,1\n")
    pids = []
    for change in (None, lambda: None, lambda: truth.write_text("qualities: {file: qualities.csv}\nseed: 3")):
        change and change()
        one = use(truth)
        one.address()
        one.close()
        pids.append(told(tmp_path)["pid"])
    assert pids[0] == pids[1] != pids[2]
    qualities.write_text("text,quality\nx,2\n")
    one = use(truth)
    one.address()
    one.close()
    plain = use()
    plain.address()
    assert told(tmp_path)["truth"] == []
    wait_until(lambda: not any(is_alive(pid) for pid in pids))
    plain.close()
    assert rehearsal._end(state(tmp_path))


def test_one_that_cannot_start_says_why(tmp_path: Path, use) -> None:
    truth = tmp_path / "truth.yaml"
    truth.write_text("time_scael: 3")
    with pytest.raises(Unavailable, match=r"did not start: .*truth.yaml: time_scael: unknown key"):
        use(truth).address()


def test_what_is_not_to_be_kept_is_removed_unless_others_use_it(tmp_path: Path, use) -> None:
    first, second = use(), use()
    first.address(), second.address()
    first.close(keep=False)
    assert ask(second.address())
    second.close(keep=False)
    assert state(tmp_path).exists(), "who did not make it does not remove it"
    wait_until(lambda: not (state(tmp_path) / "address.json").exists())
    alone = Rehearsal(Settings(runs=tmp_path / "other", emulate=True, time_scale=60.0))
    alone.address()
    pid = told(tmp_path / "other")["pid"]
    alone.close(keep=False)
    assert not state(tmp_path / "other").exists()
    wait_until(lambda: not is_alive(pid))


def test_it_ends_when_its_folder_is_gone(tmp_path: Path, use) -> None:
    use().address()
    pid = told(tmp_path)["pid"]
    state(tmp_path).rename(tmp_path / "away")
    wait_until(lambda: not is_alive(pid))


def test_no_module_of_the_working_folder_is_run(tmp_path: Path, use, monkeypatch) -> None:
    (tmp_path / "aiohttp.py").write_text("raise SystemExit('a stranger was run')")
    monkeypatch.chdir(tmp_path)
    assert ask(use().address())


def test_who_waits_for_the_output_of_a_command_does_not_wait_for_the_emulator(tmp_path: Path, monkeypatch) -> None:
    code = (
        f"from overnight.emulation import rehearsal; rehearsal.LINGERS = 40\n{USER.replace('sys.stdin.readline()', '')}"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=True, timeout=PATIENT)
    pid = told(tmp_path)["pid"]
    assert is_alive(pid)
    assert rehearsal._end(state(tmp_path))
    wait_until(lambda: not is_alive(pid))
