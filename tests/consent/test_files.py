"""Files that a study names: in its folder, or with the user's word."""

from __future__ import annotations

from pathlib import Path

import pytest

from overnight import consent
from overnight.consent.files import check_path, is_inside
from overnight.core.errors import ConsentNeeded, StudyError


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    (folder / "texts").mkdir(parents=True)
    (folder / "items.csv").write_text("id,text\n1,a\n")
    (folder / ".env").write_text("OPENAI_API_KEY=x\n")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home" / ".ssh" / "id").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    return folder


@pytest.mark.parametrize("name", ["items.csv", "texts", "texts/../items.csv", "missing.csv", ".", "./texts"])
def test_what_lies_in_the_folder_is_its_own(study: Path, name: str) -> None:
    check_path(study / name, study, "here")


@pytest.mark.parametrize(
    "name", ["../secret.txt", "link.txt", "up/secret.txt", "/etc/passwd", ".env", "texts/../../secret.txt", "up"]
)
def test_every_way_out_needs_a_word(study: Path, name: str) -> None:
    with pytest.raises(ConsentNeeded, match=r"^here: /.* --allow-path /"):
        check_path(study / name, study, "here")


def test_a_word_for_a_folder_is_good_for_what_lies_in_it(study: Path, tmp_path: Path) -> None:
    consent.allow(paths=[tmp_path / "home"])
    check_path(tmp_path / "home" / "a.csv", study, "here")
    with pytest.raises(ConsentNeeded):  # hidden there as well
        check_path(tmp_path / "home" / ".ssh" / "id", study, "here")
    consent.allow(paths=tmp_path / "home" / ".ssh" / "id")
    check_path(tmp_path / "home" / ".ssh" / "id", study, "here")
    with pytest.raises(ConsentNeeded):
        check_path(tmp_path / "homely", study, "here")


def test_a_loop_leads_nowhere(study: Path) -> None:
    check_path(study / "loop", study, "here")  # the reader says what is wrong with it
    with pytest.raises(StudyError, match="is not a path"):
        check_path(study / "a\0b", study, "here")


def test_hidden_means_below_the_root() -> None:
    assert is_inside(Path("/home/me/.lab/a.csv"), Path("/home/me/.lab"))
    assert not is_inside(Path("/home/me/.lab/a.csv"), Path("/home/me"))
