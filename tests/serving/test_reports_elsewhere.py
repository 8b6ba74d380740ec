"""The report of every kind of run, made anew from ledger and raw files in another place, is the same byte for byte."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import overnight
from cli.shell import clean_environment

ROOT = ".rehearsal"
KINDS = ("answers", "pairs", "spec", "talk")
# Another time zone, language and hash seed, one thread in place of several, and no network to be had.
ELSEWHERE = {
    "TZ": "Asia/Kathmandu", "LC_ALL": "C", "LANG": "tr_TR", "PYTHONHASHSEED": "11", "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9",
}  # fmt: skip
MAKE = """
import sys, overnight
for name in sys.argv[2:]:
    overnight.rebuild(name, runs=sys.argv[1], emulate=True)
    overnight.report(name, runs=sys.argv[1], emulate=True)
"""


def drawn_here(runs: Path, name: str, folder: Path) -> bytes:
    return overnight.report(name, runs=runs, emulate=True, output=folder / f"{name}.html").path.read_bytes()


def test_reports_are_the_same_made_anew_elsewhere(runs: Path, tmp_path: Path) -> None:
    far = tmp_path / "f\u00e4r away" / "runs"
    kept = ("ledger.db", "requests", "items", "raw", "sent", "prices.yaml")
    for name in KINDS:
        for part in (one for one in (runs / ROOT / name).iterdir() if one.name in kept):
            there = far / ROOT / name / part.name
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(part, there) if part.is_dir() else shutil.copy2(part, there)
    place = clean_environment() | ELSEWHERE | {"HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", MAKE, str(far), *KINDS], env=place, cwd=tmp_path, check=True)
    for name in KINDS:
        assert drawn_here(runs, name, tmp_path) == (far / ROOT / name / "report.html").read_bytes(), name


def test_a_copy_of_a_rehearsal_says_that_it_is_one(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / ROOT / "answers", tmp_path / "sent" / "answers")
    made = "import sys, overnight; overnight.report('answers', runs=sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", made, str(tmp_path / "sent")], env=clean_environment(), cwd=tmp_path, check=True
    )
    page = (tmp_path / "sent" / "answers" / "report.html").read_bytes()
    assert b"This is a rehearsal: the emulator stands in for every model." in page
    assert page == drawn_here(runs, "answers", tmp_path)
