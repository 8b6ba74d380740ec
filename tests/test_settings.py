"""What the surroundings may set, and what they may not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overnight.core.errors import StudyError
from overnight.settings import REHEARSAL_SCALE, VARIABLES, settings

ASKED = """
import os
from overnight.api.work import connector
from overnight.pairwise._judging import settings as pairwise_settings
from overnight.settings import settings
from overnight.cli.flags import Flags
os.environ["OVERNIGHT_TIME_SCALE"] = "600"
os.environ["OVERNIGHT_EMULATE"] = "{emulate}"
print(settings().time_scale, pairwise_settings().time_scale, Flags().settings().time_scale)
print(settings(emulate=False).time_scale, settings(emulate=True).time_scale)
"""


@pytest.mark.parametrize(("emulate", "scale"), [("0", "1.0"), ("1", "600.0")])
def test_a_faster_clock_is_for_rehearsals_only(emulate: str, scale: str) -> None:
    """In a process of its own: in this one, emulators are taken for providers, and time is theirs."""
    program = ASKED.format(emulate=emulate)
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.split() == [scale, scale, scale, "1.0", "600.0"]


def test_a_rehearsal_runs_fast_by_itself() -> None:
    assert settings(emulate=True, environ={}).time_scale == REHEARSAL_SCALE


def test_an_env_file_that_is_no_text_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_bytes(b"OVERNIGHT_RUNS=\xff\n")
    with pytest.raises(StudyError, match=r"the settings in \.env: not UTF-8: byte 0xff at 15"):
        settings()


@pytest.mark.parametrize("name", [*VARIABLES, "VLLM_FOLDER"])
def test_an_env_file_holds_no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It may be somebody else's; and whoever wrote it must not pay for what was to be a rehearsal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(name, raising=False)
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY=sk-0123456789abcdef\n{name}=1\n")
    with pytest.raises(StudyError, match=rf"\.env: {name} is a setting, .*export {name}="):
        settings()
    word = "ray:2" if name == "OVERNIGHT_ON" else "2"
    given = settings(environ={name: word})  # the user's own word goes before it, and the file says nothing
    assert (given.environ[name], given.environ["OPENAI_API_KEY"]) == (word, "sk-0123456789abcdef")
    assert given.env_file == {"OPENAI_API_KEY"}


def test_a_pipe_in_place_of_an_env_file_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / ".env")
    assert settings().runs == Path("runs")
