from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from overnight.core.errors import FolderUnfit, LedgerError, RunBusy
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


def test_a_run_that_did_not_begin_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked() as made:
        folder.make()
        folder.ledger.touch()
        with folder.files.put("raw/x") as file:
            file.write(b"x")
        folder.keep_prices(b"mine")
        folder.clear(whole=made)
        assert [path.name for path in folder.path.iterdir()] == ["prices.yaml"]
        folder.keep_prices(None)
        folder.keep_prices(None)
        folder.clear(whole=made)
    assert not folder.path.exists()


def test_a_run_is_called_off_and_goes_on(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert not folder.called_off
    for _ in range(2):
        folder.call_off()
        assert folder.called_off
    for _ in range(2):
        folder.go_on()
        assert not folder.called_off


@pytest.mark.parametrize("name", ["sent", "cancelled", "prices.yaml", "tables/x", "ledger.db", "lock"])
def test_no_ledger_names_what_is_beside_the_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(LedgerError, match="names a file outside the run"):
        RunFolder(tmp_path).files.reader(name)
