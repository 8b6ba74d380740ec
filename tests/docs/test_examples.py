"""The examples run as their first lines say, on the emulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import overnight
import own_time
from emulator_process import EmulatorProcess
from overnight.providers import vendors
from overnight.study import resolve

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(verb: str, out: Path, emulator: EmulatorProcess, *templates: str) -> str:
    places = {one.base_url_variable: emulator.url + one.emulator_path for one in vendors().values()}
    keys = {one.key_variable: "sk-test-0123456789abcdefghijklmnop" for one in vendors().values()}
    environ = {**os.environ, **places, **keys, "OVERNIGHT_TIME_SCALE": "5000"}
    command = [sys.executable, own_time.__file__, str(EXAMPLES / "multi_batch.py"), verb, str(out), *templates]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_many_batches_submitted_stopped_and_resumed(tmp_path: Path) -> None:
    with EmulatorProcess({"time_scale": 5000, "latency": {"batch": [60, 600]}}) as emulator:
        _submit_stop_and_resume(tmp_path / "out", emulator)


def _submit_stop_and_resume(out: Path, emulator: EmulatorProcess) -> None:
    assert example("submit", out, emulator, "short").count("submitting") == 22
    manifest = pl.read_csv(out / "run_manifest.csv")
    assert manifest["run_id"][0] == "short__anthropic__claude-sonnet-4-5__no_thinking__forward"
    said = example("resume", out, emulator)
    assert said.count("polling") == 22
    merged = pl.read_csv(out / "combined_all_runs.csv", infer_schema_length=None)
    assert merged.height == 22 * 40
    assert merged["better_id"].is_not_null().all()
    # What is finished is not polled again, and is still in the table.
    assert "polling" not in example("resume", out, emulator)
    assert pl.read_csv(out / "combined_all_runs.csv", infer_schema_length=None).height == 22 * 40


def test_the_same_as_one_study() -> None:
    (stage,) = resolve(overnight.Study.load(EXAMPLES / "multi_batch.yaml")).stages
    assert len(stage.arms) == 5 * 8 * 2
    assert not any("haiku" in arm.name and "1024" in arm.name for arm in stage.arms)
    assert sum(1 for _ in stage.task.start(stage.items(), 0)) == 5 * 8 * 2 * 40
