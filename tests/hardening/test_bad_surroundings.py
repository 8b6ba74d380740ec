"""A good study in a bad world: no key, no host, no room, no right to write, somebody else at work, another version."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator_process import EmulatorProcess
from hardening.conftest import KEY, Shell
from ledger.damage import edit
from overnight.core.errors import FolderUnfit
from overnight.store.run_folder import NETWORK_FILE_SYSTEMS, file_system_of, refuse_network

HOLD = (
    "import sys; from pathlib import Path; from overnight.store.run_folder import RunFolder\n"
    "with RunFolder(Path(sys.argv[1])).locked():\n    print('held', flush=True); sys.stdin.read()\n"
)


def test_no_key_names_the_variable_and_the_way_without_one(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    ending = shell.type("run", "study.yaml")
    assert ending.code == 4
    assert "OPENAI_API_KEY" in ending.complaint
    assert "--emulate" in ending.complaint
    assert shell.left() == []


@pytest.mark.parametrize(("truth", "told"), [("refuse", "key"), ("no_credit", "quota"), ("hard_limit", "limit")])
def test_a_dead_key_is_told_and_never_shown(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, truth: str, told: str
) -> None:
    with EmulatorProcess({"keys": {truth: [KEY]}, "time_scale": 20000}) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        ending = shell.type("run", "study.yaml")
    assert ending.code == 4
    assert told in ending.complaint
    assert KEY not in ending.err + ending.out
    assert not [path for path in shell.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "https://no-such-host.invalid/v1"])
def test_an_unreachable_host_is_named_and_nothing_is_lost(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    ending = shell.type("run", "study.yaml")
    assert ending.code == 4
    assert address.split("/")[2].split(":", maxsplit=1)[0] in ending.complaint
    assert "the same command again" in ending.complaint
    assert shell.type("status", "fruit").code == 0


def test_a_key_that_would_travel_unencrypted_stays_here(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://no-such-host.invalid/v1")
    ending = shell.type("run", "study.yaml")
    assert ending.code == 2
    assert "OPENAI_API_KEY would travel unencrypted to no-such-host.invalid" in ending.complaint
    assert "https://" in ending.complaint
    assert shell.left() == []


@pytest.mark.parametrize(
    ("change", "told"),
    [({"prompt": "Other {text}."}, "prompt"), ({"models": [{"model": "openai/gpt-4.1", "temperature": 0}]}, "model")],
)
def test_a_study_that_changed_names_the_field_and_offers_a_copy(begun: Shell, change: dict, told: str) -> None:
    before = begun.left()
    begun.study(**change)
    ending = begun.type("run", "study.yaml")
    if ending.code == 4:  # another model is an extension, not a change
        assert told == "model"
        return
    assert ending.code == 2
    assert told in ending.complaint
    assert "--as" in ending.complaint
    assert begun.left() == before


def test_items_that_changed_or_vanished_are_named(begun: Shell) -> None:
    begun.items("id,text\n1,apples\n2,PEARS\n3,plums\n")
    ending = begun.type("run", "study.yaml")
    assert (ending.code, "'2'" in ending.complaint, "--as" in ending.complaint) == (2, True, True)
    begun.items("id,text\n1,apples\n")
    ending = begun.type("run", "study.yaml")
    assert (ending.code, "--as" in ending.complaint) == (2, True)


@pytest.mark.parametrize(
    "verb", [("run", "study.yaml"), ("resume", "fruit"), ("rebuild", "fruit"), ("status", "fruit")]
)
def test_a_ledger_of_a_newer_version_is_left_alone(begun: Shell, verb: tuple[str, ...]) -> None:
    edit(begun.folder / "runs" / "fruit", "PRAGMA user_version=999")
    ending = begun.type(*verb)
    assert ending.code == 2
    assert "newer Overnight" in ending.complaint
    assert "999" in ending.complaint


@pytest.mark.parametrize("verb", [("run", "study.yaml"), ("resume", "fruit"), ("status", "fruit")])
def test_a_ledger_that_is_no_ledger(begun: Shell, verb: tuple[str, ...]) -> None:
    for path in (begun.folder / "runs" / "fruit").glob("ledger.db*"):
        path.unlink()
    (begun.folder / "runs" / "fruit" / "ledger.db").write_bytes(b"not a database at all" * 100)
    ending = begun.type(*verb)
    assert ending.code == 2
    assert "ledger.db" in ending.complaint
    # Starting anew pays again, and a batch that was sent can still be had.
    assert "adopt PROVIDER --token TOKEN" in ending.complaint
    assert "asks and pays again" in ending.complaint


def test_a_second_process_is_told_who_works_on_the_run(begun: Shell) -> None:
    run = begun.folder / "runs" / "fruit"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for verb in (("run", "study.yaml"), ("resume", "fruit")):
            ending = begun.type(*verb)
            assert ending.code == 2
            assert f"process {holder.pid}" in ending.complaint
        assert begun.type("status", "fruit").code == 0
        # What only reads is nobody's rival: it says what can be read by now.
        rebuilt = begun.type("rebuild", "fruit")
        assert rebuilt.code == 0
        assert "another process works on the run" in rebuilt.out
        holder.communicate()


@pytest.mark.parametrize("place", ["items.csv", "/proc/nowhere"])
def test_a_folder_that_cannot_be_made_is_named(shell: Shell, place: str) -> None:
    ending = shell.type("run", "study.yaml", "--runs", place)
    assert ending.code == 2
    assert place in ending.complaint
    assert shell.left() == []


def test_network_file_systems_are_refused(tmp_path: Path) -> None:
    for kind in sorted(NETWORK_FILE_SYSTEMS):
        mounts = tmp_path / kind
        mounts.write_text(f"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:40 / {tmp_path} rw - {kind} far:/x rw\n")
        assert file_system_of(tmp_path / "runs", mounts) == kind
    refuse_network(tmp_path)
    assert issubclass(FolderUnfit, Exception)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a ledger and little more."""
    point = tmp_path / "small"
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(point)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs rights that are not given here")
    yield point
    subprocess.run(["umount", "-l", str(point)], check=True)


def test_a_full_disk_stops_the_run_and_room_lets_it_go_on(
    shell: Shell, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.items("id,text\n" + "".join(f"{n},{'word ' * 400}{n}\n" for n in range(600)))
    ending = shell.type("run", "study.yaml", "--runs", str(small_disk))
    assert ending.code == 2
    assert str(small_disk) in ending.complaint
    assert "room" in ending.complaint
    assert subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=False).returncode == 0
    with EmulatorProcess({"time_scale": 20000, "latency": {"batch": [60, 600], "live": [0, 0]}}) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        assert shell.type("run", "study.yaml", "--runs", str(small_disk)).code == 0
        assert emulator.log()["rows_run_twice"] == []
