"""Files that users name: anything but a plain file is refused in words, without opening it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overnight.core.errors import StudyError
from overnight.core.files import plain_file


def test_a_plain_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert plain_file(tmp_path / "a", "--from") == tmp_path / "a"
    assert plain_file(tmp_path / "link", "--from") == tmp_path / "link"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "there is no such file"),
        ("folder", "this is a folder, not a file"),
        ("pipe", "this is a pipe, not a file"),
        ("/dev/zero", "this is a device, not a file"),
        ("loop", "cannot read: "),
        ("a/b", "cannot read: Not a directory"),
        ("a\0b", "cannot be the name of a file"),
        ("x" * 300, "cannot be the name of a file"),
    ],
)
def test_what_is_no_file_is_told(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(StudyError, match=r"^--from") as told:
        plain_file(tmp_path / name, "--from")
    assert words in str(told.value)
    assert "\n" not in str(told.value)
