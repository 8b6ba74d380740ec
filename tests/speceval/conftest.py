"""Programs that ask batches of prompts, and providers that can be told to misbehave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator_process import EmulatorProcess
from overnight.providers import vendors
from overnight.speceval import (
    AnthropicBatchedModel,
    BatchedModel,
    GoogleBatchedModel,
    OpenAIBatchedModel,
    TogetherBatchedModel,
)

TIME_SCALE = 20_000.0
OWN_TIME = Path(__file__).parents[1] / "own_time.py"
# Each answer repeats its question, so that an answer in a wrong place shows.
ECHO = {"answer_with": {r"(?s)Repeat: (.*)": "<\\1>"}}
MODELS: dict[str, Callable[[], BatchedModel]] = {
    "anthropic": lambda: AnthropicBatchedModel("claude-haiku-4-5"),
    "gemini": lambda: GoogleBatchedModel("gemini-2.5-flash"),
    "openai": lambda: OpenAIBatchedModel("gpt-4.1-mini"),
    "together": lambda: TogetherBatchedModel("Qwen/Qwen2.5-7B-Instruct-Turbo"),
    "vertex": lambda: GoogleBatchedModel("gemini-2.5-flash", input_bucket="gs://lab/in/", output_bucket="gs://lab"),
}
_CALL = """
import json, sys
import overnight.speceval
model, arguments, verb, given = json.loads(sys.argv[1])
one = getattr(overnight.speceval, model)(**arguments)
print(json.dumps(getattr(one, verb)(**given)))
"""


class Workplace:
    """A folder where programs work, against one emulator."""

    def __init__(self, folder: Path, emulator: EmulatorProcess) -> None:
        self.folder = folder
        self.emulator = emulator

    def elsewhere(
        self, model: str, arguments: dict[str, Any], verb: str, *, environ: dict[str, str] | None = None, **given: Any
    ) -> subprocess.CompletedProcess[str]:
        """A call of a model in a process of its own, in another folder."""
        script = self.folder / "call.py"
        script.write_text(_CALL)
        told = json.dumps([model, arguments, verb, given])
        return subprocess.run(
            [sys.executable, str(OWN_TIME), str(script), told],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=script.parent,
            env={**os.environ, **(environ or {})},
        )

    def counts(self) -> tuple[int, int]:
        """Batches that were made, and rows that were run: what is paid for."""
        log = self.emulator.log()
        return len(log["batches"]), int(log["rows_run"])


def waited(model: BatchedModel, metadata: dict[str, Any], seconds: float = 60) -> dict[str, Any]:
    """As a program of SpecEval's does it: look again and again."""
    deadline = time.monotonic() + seconds
    while (metadata := model.check_batch_progress(metadata))["status"] in ("processing", "unknown"):
        assert time.monotonic() < deadline, metadata
        time.sleep(0.05)
    return metadata


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Workplace]]:
    """Begins work with a truth of one's own; all emulators are closed at the end."""
    begun: list[Workplace] = []

    def begin(**truth: Any) -> Workplace:
        base = {"time_scale": TIME_SCALE, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7}
        emulator = EmulatorProcess(base | ECHO | truth).start()
        for vendor in vendors().values():
            monkeypatch.setenv(vendor.key_variable, "sk-test-0123456789abcdefghijklmnop")
            monkeypatch.setenv(vendor.base_url_variable, emulator.url + vendor.emulator_path)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.url)
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "lab")
        monkeypatch.setenv("OVERNIGHT_TIME_SCALE", str(TIME_SCALE))
        monkeypatch.setenv("OVERNIGHT_EMULATE", "0")
        folder = tmp_path / f"workplace{len(begun)}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        begun.append(Workplace(folder, emulator))
        return begun[-1]

    yield begin
    for one in begun:
        one.emulator.close()
