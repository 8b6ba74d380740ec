"""A store in a folder: what only a disk can get wrong."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from overnight.core import checkpoint
from overnight.core.errors import FileDamaged, FolderUnfit, LedgerError
from overnight.store.local import LocalStore


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    made = LocalStore(tmp_path / "run", folders=("raw", "outbox"), files=("sent",))
    (tmp_path / "run").mkdir()
    made.prepare()
    return made


@pytest.fixture
def passed(tmp_path: Path) -> Callable[[], list[str]]:
    log = tmp_path / "checkpoints"
    log.touch()
    checkpoint.rearm({"OVERNIGHT_CHECKPOINTS": str(log)})
    yield lambda: log.read_text().splitlines()
    checkpoint.rearm({})


def test_checkpoints_stand_around_every_flush(store: LocalStore, passed: Callable[[], list[str]]) -> None:
    with store.put("raw/whole") as whole:
        whole.write(b"x\n")
    with closing(store.append("sent")) as log:
        log.add(b"one\n")
        log.add(b"two\n")
    store.mend("raw/whole", 0)
    assert passed() == [
        *("fsync raw", "kept raw"),
        *("fsync sent", "kept sent", "fsync sent", "kept sent"),
        *("fsync raw", "kept raw"),
    ]


def test_nobody_else_may_read_a_runs_files(store: LocalStore, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with store.put("raw/whole") as file:
            file.write(b"x")
        store.append("sent").close()
        LocalStore(tmp_path, folders=("new",)).prepare()
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.name != "run"}
    assert modes == {"new": 0o700, "raw": 0o700, "outbox": 0o700, "whole": 0o600, "sent": 0o600}


STRANGE: dict[str, Callable[[Path], object]] = {
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to a file": lambda path: path.symlink_to("../victim"),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("make", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("name", ["raw/x", "sent"])
def test_what_is_strange_is_neither_read_nor_written(
    store: LocalStore, tmp_path: Path, make: Callable[[Path], object], name: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = Path(store.where(name))
    make(path)
    verbs: list[Callable[[str], object]] = [
        *(store.put, store.append, store.reader, store.stream, store.exists, store.size),
        lambda one: store.mend(one, 0),
    ]
    for verb in verbs:
        with pytest.raises(FileDamaged, match=r"is a symbolic link|is no plain file"):
            verb(name)
    assert store.problem(name) in (
        "is a symbolic link, which a run has none of; it is not followed",
        "is no plain file, which all of a run's are",
    )
    with store.put(name, over_anything=True) as file:
        file.write(b"whole")
    assert (path.is_symlink(), path.read_bytes(), victim.read_text()) == (False, b"whole", "precious")
    path.unlink()
    make(path)
    store.remove(name)
    assert (os.path.lexists(path), victim.read_text()) == (False, "precious")


def test_no_part_is_a_link(store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "raw").rmdir()
    (tmp_path / "run" / "raw").symlink_to(tmp_path / "elsewhere")
    for verb in (store.put, store.reader, store.remove, store.problem, store.exists):
        with pytest.raises(FileDamaged, match="run/raw is a symbolic link"):
            verb("raw/x")
    with pytest.raises(FileDamaged, match="run/raw is a symbolic link"):
        store.names("raw")
    with pytest.raises(FileDamaged, match="run/raw is a symbolic link"):
        store.prepare()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_in_the_place_of_a_file(store: LocalStore, tmp_path: Path) -> None:
    path = tmp_path / "run" / "raw" / "x"
    path.mkdir()
    assert store.problem("raw/x") == "is not a file"
    with pytest.raises(FileDamaged, match="raw/x: cannot read: Is a directory"):
        store.stream("raw/x")
    with pytest.raises(FileDamaged, match="raw/x is a folder where a file was; move it away"), store.put("raw/x"):
        pass
    with pytest.raises(FileDamaged, match="raw/x: cannot be removed, and does not belong there"):
        store.remove("raw/x")
    assert store.names("raw") == ["raw/x"]


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_a_full_disk_is_one_clear_error(store: LocalStore, tmp_path: Path, size: int) -> None:
    file = store.put("raw/x")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, file._handle.fileno())
    os.close(full)
    with pytest.raises(LedgerError, match="raw/x: cannot write: the disk is full"), file:
        file.write(b"x" * size)
    file.drop()
    assert list((tmp_path / "run" / "raw").iterdir()) == []


def test_lines_half_written_on_a_full_disk_are_written_over(store: LocalStore) -> None:
    with closing(store.append("raw/x", anew=True)) as file:
        file.add(b"one\n")
        kept, full = os.dup(file._handle), os.open("/dev/full", os.O_WRONLY)
        os.pwrite(kept, b"tw", 4)
        os.dup2(full, file._handle)
        with pytest.raises(LedgerError, match="raw/x: cannot write: the disk is full"):
            file.add(b"two\n")
        os.dup2(kept, file._handle)
        os.close(full)
        os.close(kept)
        assert file.add(b"2\n") == 4
    with store.stream("raw/x") as content:
        assert content.read() == b"one\n2\n"


def test_a_place_that_cannot_be_prepared_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("in the way")
    with pytest.raises(FolderUnfit, match="cannot make the run's folder: something else has that name"):
        LocalStore(tmp_path, folders=("raw",)).prepare()


def test_names_that_are_none_of_ours_are_passed_over(store: LocalStore, tmp_path: Path) -> None:
    for name in ("fine.jsonl", "half.jsonl.part", "two\nlines"):
        (tmp_path / "run" / "raw" / name).touch()
    assert store.names("raw") == ["raw/fine.jsonl", "raw/half.jsonl.part"]
    (tmp_path / "run" / "sent").touch()
    assert store.names("sent") == []
