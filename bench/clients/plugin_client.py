"""The package of the emulator alone: its wheel, its command, and its fixtures in somebody else's pytest."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import requires
from pathlib import Path

from telling import tell

TEST = """
import openai

def test_retries(emulator_env):
    emulator_env.faults({"on": "live", "do": "status", "status": 500, "times": 1})
    assert openai.OpenAI().responses.create(model="gpt-4.1", input="Hello?").output_text
    assert emulator_env.log()["faults_fired"] == {"0": 1}
"""


def few_dependencies() -> str:
    needed = requires("overnight-emulator") or []
    assert len(needed) == 3, needed
    return ", ".join(needed)


def fixtures() -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_mine.py").write_text(TEST)
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", folder], check=False, capture_output=True, text=True
        )
    assert "1 passed" in run.stdout, run.stdout + run.stderr
    return "1 passed"


def command() -> str:
    found = subprocess.run(
        [str(Path(sys.executable).with_name("overnight-emulator")), "--env", "r"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert 'Sys.setenv(OPENAI_BASE_URL = "' in found
    return f"{len(found.splitlines())} variables"


tell("overnight-emulator", few_dependencies=few_dependencies, fixtures=fixtures, command=command)
