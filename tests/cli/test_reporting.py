"""`overnight report`: where it goes, what it says, and that it is the same whenever it is drawn."""

import base64
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import polars as pl
import pytest

import overnight
from cli.shell import clean_environment
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
    # Zipped and unpacked under another name, by somebody in another place, whose Python orders sets otherwise.
    packed = shutil.make_archive(str(tmp_path / "sent"), "zip", tmp_path / "other")
    far = tmp_path / "f\u00e4r away" / "runs"
    shutil.unpack_archive(packed, far)
    (far / ".rehearsal" / "fruit" / "report.html").unlink()
    place = {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "LANG": "tr_TR", "PYTHONHASHSEED": "7", "HOME": str(tmp_path)}
    words = [sys.executable, "-m", "overnight", "report", "fruit", "--emulate", "-q"]
    subprocess.run([*words, "--runs", str(far)], env=clean_environment() | place, cwd=tmp_path, check=True)
    assert (far / ".rehearsal" / "fruit" / "report.html").read_bytes() == first


def test_a_bill_in_a_table_of_an_older_version_is_made_anew(looking: Path, tmp_path: Path):
    """The page shows the table of costs; one that lacks columns is not believed."""
    place = tmp_path / "other" / ".rehearsal" / "fruit"
    shutil.copytree(RUN, place)
    costs = place / "tables" / "costs.parquet"
    pl.read_parquet(costs).drop("per_answer").with_columns(rows=pl.col("rows") + 1000).write_parquet(costs)
    assert main(["report", "fruit", "--emulate", "--runs", str(tmp_path / "other"), "-q"]) == 0
    pages = [(folder / "report.html").read_text() for folder in (RUN, place)]
    first, second = (re.sub(r"SHA-256 [0-9a-f]{16}", "", page) for page in pages)
    assert first == second
    assert pages[0] != pages[1]  # the hash of the table


def test_what_failed_is_counted_and_shown(looking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page = tmp_path / "page.html"
    assert main(["report", "fruit", "--emulate", "--runs", "bad", "-o", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["report"] == str(page)
    assert told["findings"][0].startswith("66.7% of 3 rows were answered (95% interval ")
    text = page.read_text()
    assert "Of 3 rows, 2 were answered and 1 failed." in text
    assert "1 row failed for good: its cause is in the table above." in text
    assert "invalid_request" in text
    # The same items have the same mark in any run of them.
    marks = [
        re.findall(r"<td>SHA-256 ([0-9a-f]{16})</td>", one)[0] for one in (text, (RUN / "report.html").read_text())
    ]
    assert '<th scope="col">hash of items</th>' in text
    assert marks[0] == marks[1]


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


def test_in_a_notebook_a_run_shows_what_was_found_and_its_figures(looking: Path, tmp_path: Path):
    (run,) = overnight.resume("fruit", emulate=True)
    shown = run._repr_html_()
    assert "All 3 rows were answered." in shown
    pictures = re.findall(r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]*)"', shown)
    assert [title for title, _ in pictures] == [
        "How often does each arm answer?",
        "How many characters does an answer have?",
    ]
    assert all(base64.b64decode(data).startswith(b"<svg ") for _, data in pictures)
    assert "$" not in re.sub(r'base64,[^"]*', "", shown)
    copy = tmp_path / "fruit"
    shutil.copytree(RUN, copy)
    (copy / "tables" / "results.parquet").write_bytes(b"no table")
    damaged = msgspec.structs.replace(run, path=copy)._repr_html_()
    assert "its figures cannot be drawn" in damaged
