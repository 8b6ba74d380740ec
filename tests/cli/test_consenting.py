"""In a terminal the user is asked by name, and the answer counts."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .shell import clean_environment

STUDY = """\
name: theirs
task: generate
items: items.csv
templates: [../ask.txt]
models: [openai/gpt-4.1-mini]
"""


def answered(folder: Path, answer: str, *arguments: str) -> tuple[int, str]:
    """The command on a terminal of its own, whose user gives this answer to the first question."""
    ours, theirs = pty.openpty()
    env = clean_environment(TERM="xterm", XDG_CONFIG_HOME=str(folder.parent / "config"))
    command = [sys.executable, "-m", "overnight", *arguments]
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen, told, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            seen += os.read(ours, 1 << 16)
        except OSError:
            break
        if b"[y/N]" in seen and not told:
            told = True
            os.write(ours, answer.encode() + b"\n")
    os.close(ours)
    return process.wait(10), seen.decode()


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 2), ("n", 2)])
def test_the_user_is_asked_by_name(tmp_path: Path, answer: str, code: int) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (tmp_path / "ask.txt").write_text("About {text}?")
    (folder / "items.csv").write_text("id,text\n1,apples\n")
    (folder / "study.yaml").write_text(STUDY)
    ended, seen = answered(folder, answer, "plan", "study.yaml")
    assert ended == code, seen
    assert f"{tmp_path / 'ask.txt'} is outside the study's folder" in seen.replace("\r\n", "")
    again = subprocess.run(
        [sys.executable, "-m", "overnight", "plan", "study.yaml"],
        cwd=folder,
        env=clean_environment(XDG_CONFIG_HOME=str(tmp_path / "config")),
        capture_output=True,
        check=False,
    )
    assert again.returncode == code
