"""Several runs, one of them busy or damaged: the others are worked on and shown, and the bad one is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator_process import EmulatorProcess
from hardening.conftest import Shell
from hardening.test_bad_surroundings import HOLD

FAST = {"time_scale": 20000, "latency": {"batch": [60, 600], "live": [0, 0]}}


@pytest.fixture
def three(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """Runs a, b and c, sent and not collected."""
    with EmulatorProcess(FAST) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        for name in "abc":
            shell.study(name=name)
            assert shell.type("submit", "study.yaml").code == 0
        yield shell


@contextmanager
def busy(run: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate()


@contextmanager
def damaged(run: Path) -> Iterator[None]:
    whole = (run / "ledger.db").read_bytes()
    (run / "ledger.db").write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    yield


@contextmanager
def no_ledger(run: Path) -> Iterator[None]:
    (run / "ledger.db").write_bytes(b"not a database at all" * 100)
    yield


@contextmanager
def lost(run: Path) -> Iterator[None]:
    (run / "ledger.db").unlink()
    yield


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may look into everything")
def test_a_folder_that_may_not_be_looked_into_hides_no_other(three: Shell) -> None:
    """A run of another user, or a disk's own `lost+found`."""
    closed = three.folder / "runs" / "a"
    closed.chmod(0)
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    command = [*(drop if os.geteuid() == 0 else ()), sys.executable, "-m", "overnight"]
    for verb in ("resume", "status"):
        ended = subprocess.run([*command, verb], capture_output=True, text=True, cwd=three.folder, check=False)
        assert ended.returncode == 2
        assert "no permission" in ended.stdout + ended.stderr
    assert ended.stdout.count("done") == 2
    closed.chmod(0o700)


@pytest.mark.parametrize("trouble", [busy, damaged, no_ledger, lost])
@pytest.mark.parametrize("options", [(), ("--once",)])
def test_the_others_are_collected(
    three: Shell, trouble: Callable[[Path], contextmanager[None]], options: tuple[str, ...]
) -> None:
    with trouble(three.folder / "runs" / "a"):
        for _ in range(3 if options else 1):
            ending = three.type("resume", *options)
        assert ending.code == 2, ending
        assert "a: " in ending.out or options
        for name in "bc":
            assert f"{name}: all rows are settled" in ending.out or options
            assert (three.folder / "runs" / name / "tables" / "results.parquet").exists()


@pytest.mark.parametrize("trouble", [damaged, no_ledger, lost])
def test_the_others_are_shown(three: Shell, trouble: Callable[[Path], contextmanager[None]]) -> None:
    assert three.type("resume").code == 0
    with trouble(three.folder / "runs" / "a"):
        for verb in ("status", "watch"):
            ending = three.type(verb)
            assert ending.code == 2
            assert "ledger.db" in ending.complaint
            assert ending.out.count("done") == 2
        assert three.type("status", "b").code == 0
        assert three.type("status", "a").code == 2


def test_a_batch_is_found_though_another_ledger_is_damaged(three: Shell) -> None:
    names = three.type("status", "c", "--json").out
    batch = names.split('"batch_id":"')[-1] if '"batch_id":"' in names else names.split('"batch_id": "')[-1]
    with damaged(three.folder / "runs" / "a"):
        assert three.type("status", batch.split('"')[0]).code == 0
