"""The commands of docs/scale.md, one after another, as a stranger types them: a server of PostgreSQL, and the emulator."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import own_database

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
# As the page has it, with the address of the lab's own database.
THEIRS = "postgresql://lab@db.lab/overnight?files=s3://lab-runs/overnight"
STUDY = """name: night
task: generate
items: [{id: a, x: apple}, {id: b, x: pear}]
prompt: "Describe {x}."
models: [openai/gpt-4.1-mini]
"""


def commands() -> list[str]:
    """All of them, without what is only set up."""
    lines = re.findall(r"^\$ (.+)$", PAGE, re.MULTILINE)
    assert {line.split()[0] for line in lines} == {"export", "overnight", "pip"}
    return [line for line in lines if line.startswith("overnight ")]


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    (tmp_path / "study.yaml").write_text(STUDY)
    address = own_database.address_of(tmp_path / "shared")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OVERNIGHT_", "RAY_"))}
    own = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OVERNIGHT_RUNS": address,
        "OVERNIGHT_EMULATE": "1",
        "OVERNIGHT_TIME_SCALE": "5000",
    }
    return tmp_path, {**kept, **own}


def test_the_commands_run_in_their_order(place: tuple[Path, dict[str, str]]) -> None:
    folder, environ = place
    done: list[str] = []
    for typed in commands():
        command = typed.replace(THEIRS, environ["OVERNIGHT_RUNS"])
        assert "db.lab" not in command, "another address than the one on top of the page"
        if " serve " in command:
            _serves(command, folder, environ)
            continue
        if " push " in command:  # what is in a folder: so it is brought there before
            home = _say("overnight pull night --to runs", folder, environ)
            assert home.returncode == 0, home.stderr
            command += " --runs runs"
        said = _say(command, folder, environ)
        if "--on ray" in command and find_spec("ray") is None:
            assert said.returncode == 2, said
            assert "pip install 'overnight[ray]'" in said.stderr
        else:
            assert said.returncode == 0, (command, said.stdout, said.stderr)
        done.append(command.split()[1])
    assert done == ["run", "status", "team", "run", "push", "pull"]


def _say(command: str, folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, shell=True, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def _serves(command: str, folder: Path, environ: dict[str, str]) -> None:
    """Until it says where, and no longer."""
    server = subprocess.Popen(
        f"exec {command} --port 0", shell=True, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        assert "http://127.0.0.1:" in server.stdout.readline()
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
