"""Files of a run: no link is followed, and nobody else may read them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from overnight.core.errors import FileDamaged
from overnight.core.opening import make_private, make_private_folder, open_to_read, open_to_write, refuse_strange


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("precious")
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    return path


@pytest.mark.parametrize("name", ["link", "dangling", "pipe"])
@pytest.mark.parametrize("use", [open_to_read, open_to_write, make_private, make_private_folder, refuse_strange])
def test_links_and_pipes_are_refused(victim: Path, name: str, use: object) -> None:
    with pytest.raises(FileDamaged, match="remove it"):
        use(victim.parent / name)  # type: ignore[operator]
    assert victim.read_text() == "precious"
    assert not (victim.parent / "nothing").exists()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_are_for_their_owner_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        os.close(open_to_write(tmp_path / "file"))
        make_private_folder(tmp_path / "folder")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    make_private(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "kept"
    (tmp_path / "folder").mkdir(mode=0o750)
    make_private_folder(tmp_path / "folder")
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750


@pytest.mark.parametrize("use", [open_to_read, open_to_write, make_private])
def test_a_link_that_comes_between_the_look_and_the_opening_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], object]
) -> None:
    other, file, really_open = tmp_path / "other", tmp_path / "file", os.open
    other.write_text("of somebody else")

    def after_somebody_else(path: Path, *rest: int) -> int:
        file.symlink_to(other)
        return really_open(path, *rest)

    monkeypatch.setattr(os, "open", after_somebody_else)
    with pytest.raises(OSError, match=re.escape(str(file))):
        use(file)
    monkeypatch.undo()
    assert other.read_text() == "of somebody else"
