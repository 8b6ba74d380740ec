"""A folder with a small study, and the command line as its users start it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

STUDY = """\
name: fruit
task: generate
items: items.csv
prompt: "Tell me about {text}."
models: [openai/gpt-4.1-mini]
"""
ITEMS = "id,text\n1,apples\n2,pears\n3,plums\n"
PEARS_FAIL = """\
faults:
  - {on: row, do: error, status: 400, code: invalid_request_error, message: this is no fruit, where: pears}
"""


def write_study(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.csv").write_text(ITEMS)
    (folder / "pears_fail.yaml").write_text(PEARS_FAIL)
    (folder / "fruit.yaml").write_text(STUDY)
    return folder


def clean_environment(**more: str) -> dict[str, str]:
    """Without keys, and without settings of whoever runs the tests; a day passes in some seconds."""
    foreign = ("OPENAI_", "ANTHROPIC_", "OVERNIGHT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, "OVERNIGHT_TIME_SCALE": "6000", "COLUMNS": "100", **more}


def overnight(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """The command line as its users start it, its output going to pipes."""
    command = [sys.executable, "-m", "overnight", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=env or clean_environment(), capture_output=True, text=True, timeout=120, check=False
    )
