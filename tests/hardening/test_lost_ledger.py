"""A ledger that is gone, emptied, torn or put back from a backup: what was sent is not sent again in silence."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator_process import EmulatorProcess
from hardening.conftest import Shell
from overnight.ledger.ledger import Ledger, look_at
from overnight.store.run_folder import RunFolder

FAST = {"time_scale": 20000, "latency": {"batch": [60, 600], "live": [0, 0]}}


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatorProcess]:
    with EmulatorProcess(FAST) as one:
        monkeypatch.setenv("OPENAI_BASE_URL", one.openai_url)
        yield one


def run_of(shell: Shell) -> Path:
    return shell.folder / "runs" / "fruit"


def removed(run: Path) -> None:
    for path in run.glob("ledger.db*"):
        path.unlink()


def emptied(run: Path) -> None:
    removed(run)
    (run / "ledger.db").touch()


def without_its_wal(run: Path) -> None:
    """As it was when it was founded: all that came later was in the log beside it."""
    removed(run)
    Ledger(run / "ledger.db").close()


@pytest.mark.parametrize("lost", [removed, emptied, without_its_wal])
@pytest.mark.parametrize("mode", ["batch", "live"])
def test_a_lost_ledger_is_refused_with_the_way_to_mend_it(
    shell: Shell, emulator: EmulatorProcess, lost: Callable[[Path], None], mode: str
) -> None:
    assert shell.type("run", "study.yaml", "--mode", mode).code == 0
    before = emulator.log()
    whole = shutil.copytree(run_of(shell), shell.folder / "backup")
    lost(run_of(shell))
    for verb in (("run", "study.yaml"), ("resume", "fruit"), ("resume", "--once"), ("rebuild", "fruit")):
        ending = shell.type(*verb)
        assert ending.code == 2, (verb, ending)
        if verb != ("resume", "--once"):
            assert "ledger.db" in ending.complaint
        for words in ("backup", "adopt PROVIDER --token", "--as NAME"):
            assert words in ending.err + ending.out, (verb, ending)
    assert emulator.log()["rows_run"] == before["rows_run"]
    assert emulator.log()["batches"] == before["batches"]
    assert (run_of(shell) / "tables" / "results.parquet").exists()
    shutil.copy(whole / "ledger.db", run_of(shell) / "ledger.db")
    assert shell.type("run", "study.yaml").code == 0
    assert emulator.log()["rows_run"] == before["rows_run"]


def test_a_ledger_that_was_lost_before_anything_was_sent_is_refused_too(begun: Shell) -> None:
    """The input was written, so the run was there; nobody can tell that it was not sent."""
    removed(run_of(begun))
    assert "the folder holds a run" in begun.type("run", "study.yaml").complaint


def put_back(shell: Shell, backup: Path) -> None:
    removed(run_of(shell))
    shutil.copy(backup / "ledger.db", run_of(shell) / "ledger.db")


def test_calls_that_an_old_ledger_does_not_know_of_are_not_made_again(shell: Shell, emulator: EmulatorProcess) -> None:
    assert shell.type("run", "study.yaml", "--limit", "1", "--mode", "live").code == 0
    old = shutil.copytree(run_of(shell), shell.folder / "old")
    assert shell.type("run", "study.yaml", "--mode", "live").code == 0
    newest = shutil.copytree(run_of(shell), shell.folder / "newest")
    before = emulator.log()["rows_run"]
    put_back(shell, old)
    for verb in (("run", "study.yaml"), ("resume", "fruit"), ("rebuild", "fruit")):
        ending = shell.type(*verb)
        assert ending.code == 2
        assert "this ledger is older than its folder: 1 attempt was sent" in ending.complaint
    assert emulator.log()["rows_run"] == before
    put_back(shell, newest)
    assert shell.type("run", "study.yaml").code == 0
    assert emulator.log()["rows_run"] == before


def test_batches_that_an_old_ledger_does_not_know_of_are_told(shell: Shell, emulator: EmulatorProcess) -> None:
    assert shell.type("run", "study.yaml", "--limit", "1").code == 0
    old = shutil.copytree(run_of(shell), shell.folder / "old")
    assert shell.type("run", "study.yaml").code == 0
    put_back(shell, old)
    ending = shell.type("run", "study.yaml")
    assert "this ledger is older than its folder: 1 attempt was sent" in ending.err + ending.out
    assert "listing is searched" in ending.err + ending.out


def test_another_name_starts_anew(shell: Shell, emulator: EmulatorProcess) -> None:
    assert shell.type("run", "study.yaml").code == 0
    removed(run_of(shell))
    ending = shell.type("run", "study.yaml", "--as", "again")
    assert ending.code == 0
    assert "cannot be reused" in ending.err + ending.out


def test_a_killed_start_is_no_lost_ledger(shell: Shell) -> None:
    """A ledger that was founded and nothing more: nothing can have been sent."""
    for part in ("requests", "items", "outbox", "raw", "tables"):
        (run_of(shell) / part).mkdir(parents=True)
    (run_of(shell) / "requests" / "1.jsonl.part").write_text("{")
    emptied(run_of(shell))
    assert shell.type("run", "study.yaml").code == 4
    with look_at(RunFolder(run_of(shell))) as view:
        assert sum(view.counts.outcomes().values()) == 3
