"""The page's own task, installed as a package would be, runs a study on the emulator."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from overnight.study.task_kind import TaskKind

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-task.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
TRUTH = """
answer_with:
  "fire is hot": "yes"
  "ice is hot": "no"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The page's files, with the task where an installer would have put it: one file and an entry point."""
    information = tmp_path / "site" / "ballot-1.0.dist-info"
    information.mkdir(parents=True)
    (tmp_path / "site" / "ballot.py").write_text(FILES["ballot.py"])
    (information / "entry_points.txt").write_text(FILES["entry_points.txt"])
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: ballot\nVersion: 1.0\n")
    (tmp_path / "study.yaml").write_text(FILES["study.yaml"])
    (tmp_path / "claims.csv").write_text("id,claim\n1,fire is hot\n2,ice is hot\n")
    (tmp_path / "truth.yaml").write_text(TRUTH)
    return tmp_path


def overnight(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(folder / "site"), "COLUMNS": "100"}
    command = [sys.executable, "-m", "overnight", *words]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_the_pages_task_runs_a_study(folder: Path) -> None:
    done = overnight(folder, "run", "study.yaml", "--emulate", "--truth", "truth.yaml")
    assert done.returncode == 0, done.stderr
    assert "a ballot takes yes and no, and nothing else" in done.stderr + done.stdout
    assert "ballot: 2 yes, 2 no, 0 unread" in done.stdout
    assert "overnight results --emulate claims --table ballots" in done.stdout
    shown = overnight(folder, "results", "claims", "--table", "ballots", "--emulate", "-o", "votes.csv")
    assert shown.returncode == 0, shown.stderr
    votes = pl.read_csv(folder / "votes.csv")
    assert votes.select("turn", "yes", "no", "unread").rows() == [(0, 1, 1, 0), (1, 1, 1, 0)]
    overnight(folder, "results", "claims", "--emulate", "-o", "rows.parquet")
    rows = pl.read_parquet(folder / "rows.parquet").sort("item_id", "turn")
    assert rows.select("item_id", "turn", "said").rows() == [
        ("1", 0, True),
        ("1", 1, True),
        ("2", 0, False),
        ("2", 1, False),
    ]


def test_the_pages_task_draws_its_part_of_the_report(folder: Path) -> None:
    done = overnight(folder, "run", "study.yaml", "--emulate", "--truth", "truth.yaml")
    assert "report.html" in done.stdout, done.stderr
    shown = overnight(folder, "report", "claims", "--emulate", "--figures", "figures")
    assert shown.stdout.startswith("2 of 4 votes were a yes.\n"), shown.stderr
    assert (folder / "figures" / "votes.csv").read_text().count("\n") == 3
    page = (folder / "runs" / ".rehearsal" / "claims" / "report.html").read_text()
    assert page.count("How often did each arm say yes?") >= 3


def test_a_fault_in_its_drawing_is_one_line_and_no_fault_of_the_run(folder: Path) -> None:
    task = folder / "site" / "ballot.py"
    task.write_text(
        task.read_text().replace("    yes, said = votes", '    raise KeyError("drawn wrongly")\n    yes, said = votes')
    )
    done = overnight(folder, "run", "study.yaml", "--emulate", "--truth", "truth.yaml")
    assert done.returncode == 0
    assert "overnight: no report of claims: KeyError: 'drawn wrongly'\n" in done.stderr
    assert "ballot: 2 yes, 2 no, 0 unread" in done.stdout


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("insist: 1", "insist: 9", "study.yaml:5:9: insist: 9 is not between 0 and 5"),
        ("insist: 1", "insists: 1", "study.yaml:5:1: unknown key 'insists'; did you mean 'insist'?"),
        ("insist: 1", "insist: often", "study.yaml:5:9: insist: wanted a whole number, found the text 'often'"),
        ("insist: 1", "ties: true", "study.yaml:5:7: ties: this is for the task compare, not for ballot"),
        ("{claim}", "{clam}", "template 'question' asks for {clam}, which is no column of the items"),
        (
            "task: ballot",
            "task: balot",
            "unknown task 'balot'; did you mean 'ballot'? (known: ballot, compare, ",
        ),
    ],
)
def test_its_keys_are_checked_as_all_others(folder: Path, before: str, after: str, said: str) -> None:
    (folder / "study.yaml").write_text(FILES["study.yaml"].replace(before, after))
    done = overnight(folder, "plan", "study.yaml")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_its_command_is_there(folder: Path) -> None:
    assert "ballot    Ask models for a yes or a no to every item." in overnight(folder, "--help").stdout
    assert "--insist N" in overnight(folder, "ballot", "--help").stdout
    flags = ("--items", "claims.csv", "--question", "Is this true: {claim}", "--model", "openai/gpt-4.1-mini")
    done = overnight(folder, "ballot", *flags, "--emulate", "--truth", "truth.yaml")
    assert done.returncode == 0, done.stderr
    assert "ballot: 1 yes, 1 no, 0 unread" in done.stdout


def test_every_part_of_a_kind_is_on_the_page() -> None:
    for field in fields(TaskKind):
        assert f"`{field.name}`" in PAGE, field.name
