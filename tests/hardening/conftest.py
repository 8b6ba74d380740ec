"""A folder with a good study in it, to be spoiled; the command line in this process; a provider that nobody reaches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from overnight.cli import main

STUDY: dict[str, Any] = {
    "name": "fruit",
    "task": "generate",
    "items": "items.csv",
    "prompt": "Tell me about {text}.",
    "models": ["openai/gpt-4.1"],
}
ITEMS = "id,text\n1,apples\n2,pears\n3,plums\n"
# Nothing listens there: a run gets as far as its ledger and no further.
NOBODY = "http://127.0.0.1:9/v1"
KEY = "sk-test-0123456789abcdefghijklmnop"


class Ending(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line that says what is wrong, after any notes about the study."""
        (line,) = (line for line in self.err.splitlines() if line.startswith("overnight: "))
        assert self.err.endswith(line + "\n")
        return line


class Shell:
    """Writes studies and types commands."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capfd = capfd

    def study(self, raw: bytes | None = None, **fields: Any) -> None:
        whole = {name: value for name, value in {**STUDY, **fields}.items() if value is not None}
        (self.folder / "study.yaml").write_bytes(json.dumps(whole).encode() if raw is None else raw)

    def items(self, text: str | bytes) -> None:
        (self.folder / "items.csv").write_bytes(text if isinstance(text, bytes) else text.encode())

    def type(self, *arguments: str) -> Ending:
        code = main(list(arguments))
        out, err = self._capfd.readouterr()
        return Ending(code, out, err)

    def left(self) -> list[str]:
        """Everything in the folder but the study and its items."""
        written = {"study.yaml", "items.csv"}
        paths = (path.relative_to(self.folder) for path in self.folder.rglob("*"))
        return sorted(str(path) for path in paths if str(path) not in written)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "OVERNIGHT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", NOBODY)
    monkeypatch.setenv("OVERNIGHT_TIME_SCALE", "20000")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    made = Shell(tmp_path, capfd)
    made.study()
    made.items(ITEMS)
    return made


@pytest.fixture
def begun(shell: Shell) -> Shell:
    """The study is on record as run `fruit`; nothing could be sent."""
    assert shell.type("run", "study.yaml").code == 4
    assert (shell.folder / "runs" / "fruit" / "ledger.db").exists()
    return shell


Spoil = Callable[[Shell], None]
