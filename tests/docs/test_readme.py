"""The README is executed: its files are written, its commands and its Python are run, as a stranger would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", README, re.DOTALL))
BLOCKS = re.findall(r"<!-- run -->\n```(\w+)\n(.*?)```", README, re.DOTALL)


def surroundings() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("OPENAI_API_KEY", "OVERNIGHT_EMULATE")}
    binaries = Path(sys.executable).parent
    return {**kept, "PATH": f"{binaries}:{os.environ['PATH']}", "OVERNIGHT_TIME_SCALE": "5000"}


def test_the_readme_runs(tmp_path: Path) -> None:
    assert {"items.csv", "study.yaml"} <= set(FILES)
    assert {kind for kind, _ in BLOCKS} == {"console", "python"}
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for kind, text in BLOCKS:
        if kind == "console":
            for line in text.strip().splitlines():
                command = line.removeprefix("$ ")
                done = subprocess.run(
                    command, shell=True, cwd=tmp_path, env=surroundings(), capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, (command, done.stderr)
        else:
            code = [sys.executable, "-c", text]
            done = subprocess.run(code, cwd=tmp_path, env=surroundings(), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith("2\ndone")
    assert (tmp_path / "openings.csv").read_text().count("\n") > 12


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda page: page.name)
def test_every_page_is_linked_and_its_links_lead_somewhere(page: Path) -> None:
    assert f"docs/{page.name}" in README
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
