"""`overnight report`: where it goes, what it says, and that it is the same whenever it is drawn."""

import json
import shutil
from pathlib import Path

import pytest

from overnight.cli import main

RUN = Path("runs/.rehearsal/fruit")


def test_every_run_ends_with_a_report(looking: Path):
    for folder in (RUN, Path("bad/.rehearsal/fruit")):
        assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_it_is_the_same_byte_for_byte_here_and_elsewhere(looking: Path, tmp_path: Path):
    first = (RUN / "report.html").read_bytes()
    assert main(["report", "fruit", "--emulate", "-q"]) == 0
    assert (RUN / "report.html").read_bytes() == first
    moved = tmp_path / "other" / ".rehearsal" / "fruit"
    shutil.copytree(RUN, moved)
    (moved / "report.html").unlink()
    shutil.rmtree(moved / "tables")
    assert main(["rebuild", "fruit", "--emulate", "--runs", str(tmp_path / "other"), "-q"]) == 0
    assert main(["report", "fruit", "--emulate", "--runs", str(tmp_path / "other"), "-q"]) == 0
    assert (moved / "report.html").read_bytes() == first


def test_what_failed_is_counted_and_shown(looking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page = tmp_path / "page.html"
    assert main(["report", "fruit", "--emulate", "--runs", "bad", "-o", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["report"] == str(page)
    assert told["findings"][0].startswith("66.7% of 3 rows were answered (95% interval ")
    text = page.read_text()
    assert "Of 3 rows, 2 were answered and 1 failed." in text
    assert "1 row failed for good: their causes are in the table above." in text
    assert "invalid_request" in text


def test_figures_as_files(looking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("resvg_py")
    assert main(["report", "fruit", "--emulate", "--figures", str(tmp_path / "figures"), "--png"]) == 0
    assert "files of figures to" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"rows.svg", "rows.csv", "rows.png", "costs.svg", "batches.csv"} <= names
    assert (tmp_path / "figures" / "rows.png").read_bytes().startswith(b"\x89PNG")
    assert "<style>" in (tmp_path / "figures" / "rows.svg").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report", "fruits", "--emulate"], "did you mean 'fruit'?"),
        (["report", "fruit", "--emulate", "--png"], "--png goes with --figures DIR"),
        (["report", "fruit", "--emulate", "-o", "/nowhere/page.html"], "-o /nowhere/page.html: cannot write"),
        (["report", "fruit", "--emulate", "--figures", "fruit.yaml"], "--figures fruit.yaml: cannot write"),
    ],
)
def test_wrong_use_is_one_line(looking: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str):
    assert main(words) == 2
    assert said in capsys.readouterr().err
