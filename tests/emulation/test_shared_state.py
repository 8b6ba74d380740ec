"""Small folders name the folder whose emulator they share; nobody can make them name anything else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overnight.emulation import share_emulator
from overnight.emulation.shared_state import NAME, state_of
from overnight.settings import Settings


def place(folder: Path, *, emulate: bool = True) -> Settings:
    return Settings(runs=folder, emulate=emulate)


def test_many_folders_share_one_and_travel_together(tmp_path: Path) -> None:
    main, *small = (place(tmp_path / "work" / name) for name in ("runs", "out/a", "out/b"))
    for one in small:
        one.runs.mkdir(parents=True)
        share_emulator(one, main)
        assert state_of(one) == state_of(main) == tmp_path / "work/runs/.rehearsal/.emulator"
    moved = (tmp_path / "work").rename(tmp_path / "elsewhere")
    assert state_of(place(moved / "out/a")) == moved / "runs/.rehearsal/.emulator"


def test_who_has_one_keeps_it_and_a_real_run_has_none(tmp_path: Path) -> None:
    own, main, real = place(tmp_path / "own"), place(tmp_path / "runs"), place(tmp_path / "real", emulate=False)
    (own.root / NAME).mkdir(parents=True)
    share_emulator(own, main)
    assert state_of(own) == own.root / NAME
    share_emulator(real, main)
    assert not real.runs.exists()


def test_the_same_folder_is_its_own(tmp_path: Path) -> None:
    share_emulator(place(tmp_path), place(tmp_path))
    assert state_of(place(tmp_path)) == tmp_path / ".rehearsal" / NAME
    assert state_of(place(tmp_path)).is_dir()


@pytest.mark.parametrize("named", ["../../../victim", "/etc", "../../../gone/.emulator", "\0", "", "../link/.emulator"])
def test_a_stranger_cannot_name_another_folder(tmp_path: Path, named: str) -> None:
    (tmp_path / "victim").mkdir()
    one = place(tmp_path / "out" / "a")
    one.root.mkdir(parents=True)
    (one.root / NAME).write_text(named)
    assert state_of(one) == one.root / NAME
    assert not (one.root / NAME).exists()
    assert list((tmp_path / "victim").iterdir()) == []


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    one = place(tmp_path / "out")
    one.root.mkdir(parents=True)
    (tmp_path / "file").write_text("mine")
    (one.root / NAME).symlink_to(tmp_path / "file")
    assert state_of(one) == one.root / NAME
    assert (tmp_path / "file").read_text() == "mine"


def test_a_working_folder_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    one, main = place(tmp_path / "out"), place(tmp_path / "file" / "runs")
    (tmp_path / "file").write_text("")
    one.runs.mkdir()
    share_emulator(one, main)
    assert state_of(one) == one.root / NAME
    assert not os.path.lexists(one.root / NAME)
