from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.errors import FolderUnfit, LedgerError, RunBusy
from overnight.store.local import DurableFile
from overnight.store.run_folder import RunFolder, file_system_of

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 254:1 / /home/me/local rw - ext4 /dev/vdb rw
32 22 0:41 / /mnt/with\\040space rw - cifs //server/share rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/tmp/x", "ext4"),
        ("/home/me/runs", "nfs4"),
        ("/home/me/local/runs", "ext4"),
        ("/home/me/locality", "nfs4"),
        ("/mnt/with space/runs", "cifs"),
        ("/homework", "ext4"),
    ],
)
def test_the_file_system_of_the_nearest_mount(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert file_system_of(Path(path), mounts) == kind


def test_a_system_that_does_not_tell_is_trusted(tmp_path: Path) -> None:
    assert file_system_of(tmp_path, tmp_path / "nothing") is None


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "whole"
    with DurableFile(path) as file:
        file.write(b"one")
        file.write(b"two")
        assert not path.exists()
    assert path.read_bytes() == b"onetwo"
    assert file.sha256 == hashlib.sha256(b"onetwo").hexdigest()
    with pytest.raises(ValueError, match="stop"):
        _stop_half_way(tmp_path / "half")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["whole"]


def test_lines_get_their_newlines(tmp_path: Path) -> None:
    lines = [b"one", b"", b"two"]
    with DurableFile(tmp_path / "lines") as file:
        file.write_lines(lines)
        file.write_lines(lines)
    assert lines == []
    assert file.bytes == len(b"one\n\ntwo\n")
    assert file.path.read_bytes() == b"one\n\ntwo\n"


def _stop_half_way(path: Path) -> None:
    with DurableFile(path) as half:
        half.write(b"half")
        raise ValueError("stop")


def test_a_second_process_is_told_who_has_the_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.make()
    code = (
        "import sys; from pathlib import Path; from overnight.store.run_folder import RunFolder\n"
        f"with RunFolder(Path({str(folder.path)!r})).locked():\n"
        "    print('locked', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "locked\n"
    with pytest.raises(RunBusy, match=f"process {other.pid}"), folder.locked():
        pass
    other.kill()
    other.communicate()
    with folder.locked():
        pass


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FolderUnfit, match="cannot make the run's folder: a file is in the place of a folder"):
        RunFolder(tmp_path / "file" / "run").make()


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_a_full_disk_is_one_clear_error(tmp_path: Path, size: int) -> None:
    file = DurableFile(tmp_path / "file")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, file._handle.fileno())
    os.close(full)
    with pytest.raises(LedgerError, match="cannot write: the disk is full"), file:
        file.write(b"x" * size)
    file.drop()
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=20, deadline=None)
@given(pieces=st.lists(st.integers(0, 70_000), max_size=8))
def test_a_durable_file_is_what_was_written(pieces: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("durable") / "file"
    data = [bytes([number % 251]) * size for number, size in enumerate(pieces)]
    with DurableFile(path) as file:
        for piece in data:
            file.write(piece)
        early = file.sha256
        assert file.bytes == sum(pieces)
    whole = b"".join(data)
    assert path.read_bytes() == whole
    assert early == file.sha256 == hashlib.sha256(whole).hexdigest()
