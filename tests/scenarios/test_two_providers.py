"""A stage at one provider judges what a stage at another is still answering; one that is down stops nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from emulator_process import EmulatorProcess
from scenarios.conftest import TIME_SCALE, Scenario

PLUGINS = str(Path(__file__).parents[1] / "plugins")


@pytest.fixture
def other() -> Iterator[EmulatorProcess]:
    pace = {"time_scale": TIME_SCALE, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7}
    with EmulatorProcess(pace) as emulator:
        yield emulator


def environ(other: EmulatorProcess, **more: str) -> dict[str, str]:
    return {
        "OVERNIGHT_TEST_PLUGINS": PLUGINS,
        "TWIN_API_KEY": "sk-twin-key",
        "TWIN_BASE_URL": other.openai_url,
        **more,
    }


def judged(one: Scenario, rows: int = 6) -> str:
    one.study(rows)
    stages: list[dict[str, Any]] = [
        {"name": "answers", "task": "generate", "items": "night.jsonl", "prompt": "Name {text}.",
         "models": ["openai/gpt-4.1-mini"]},
        {"name": "judging", "task": "generate", "of": "answers", "prompt": "Rate: {answer}", "models": ["twin/twin-1"]},
    ]  # fmt: skip
    return one.write({"name": "night", "stages": stages, "batch": {"max_requests": 2}, "gather": "1s"})


def times(one: Scenario, kind: str, stage: str) -> list[float]:
    return [event.at for event in one.events() if (event.kind, event.stage) == (kind, stage)]


def test_judging_starts_at_the_other_provider_while_answers_still_come(
    scenario: Callable[..., Scenario], other: EmulatorProcess
) -> None:
    one = scenario(faults=[{"on": "batch", "do": "slow", "seconds": 60_000, "times": 1}])
    study = judged(one)
    ending = one.run(study, environ=environ(other))
    assert ending.state == "done", ending
    assert min(times(one, "creating", "judging")) < max(times(one, "ended", "answers"))
    assert {batch["model"] for batch in other.log()["batches"]} == {"twin-1"}
    assert {batch["model"] for batch in one.batches()} == {"gpt-4.1-mini"}


@pytest.mark.parametrize("number", [40, 70, 100, 130])
def test_both_go_on_after_a_kill(scenario: Callable[..., Scenario], other: EmulatorProcess, number: int) -> None:
    one = scenario()
    study = judged(one)
    one.run(study, environ=environ(other, OVERNIGHT_KILL_AT=str(number)))
    assert one.run(study, environ=environ(other)).state == "done"
    assert one.table().group_by("stage").len().sort("stage")["len"].to_list() == [6, 6]
    assert one.log()["rows_run_twice"] == []
    assert other.log()["rows_run_twice"] == []


def test_a_dead_provider_does_not_stop_the_other(scenario: Callable[..., Scenario], other: EmulatorProcess) -> None:
    one = scenario()
    study = one.study(4, models=["openai/gpt-4.1-mini", "twin/twin-1"])
    ending = one.run(study, environ=environ(other, TWIN_BASE_URL="http://127.0.0.1:9/v1"))
    assert ending.error == "Unavailable", ending
    table = one.table()
    assert table.filter(pl.col("provider") == "openai")["status"].unique().to_list() == ["answered"]
    assert table.filter(pl.col("provider") == "twin")["status"].unique().to_list() == ["pending"]
    assert one.run(study, environ=environ(other)).state == "done"
    one.assert_paid_once()
