"""`mode: auto` with a deadline: what batches do not finish in time is finished live, and nothing is counted twice."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts

# Batches that would take four days, in a world that gives them one.
SLOW: dict[str, Any] = {"latency": {"batch": [350_000, 350_000], "live": [0, 0]}, "time_scale": 500}
AUTO: dict[str, Any] = {"mode": "auto", "deadline": "60m", "poll": {"interval_seconds": 60}}
PRICED = {"models": [{"model": "openai/gpt-4.1-mini", "max_tokens": 200}]}
PARTS = parts(4, sampled=1)


def answered_twice(one: Scenario) -> list[str]:
    """Questions with more than one answer on record."""
    tries = one.attempts().filter(pl.col("outcome") == "answered")
    return tries.group_by("request_key").len().filter(pl.col("len") > 1)["request_key"].to_list()


def live_answers(one: Scenario) -> int:
    return one.table().height - one.attempts().filter(pl.col("used") & pl.col("batch_id").is_not_null()).height


def test_a_batch_that_would_come_too_late_is_finished_live(scenario: Callable[..., Scenario]) -> None:
    one = scenario(truth=SLOW)
    ending = one.run(one.study(40, batch={"max_requests": 20}, **AUTO))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 40}
    assert any("deadline is near" in text for text in ending.said)
    assert {batch["status"] for batch in one.batches()} == {"cancelled"}
    finished = sum(batch["executed"] for batch in one.batches())
    assert live_answers(one) == 40 - finished
    assert answered_twice(one) == []
    assert one.log()["rows_run_twice"] == []
    assert one.findings() == []


def test_what_batches_finish_in_time_is_not_asked_live(scenario: Callable[..., Scenario]) -> None:
    one = scenario(truth={"latency": {"batch": [60, 100], "live": [0, 0]}, "time_scale": 100})
    assert one.run(one.study(12, **AUTO)).state == "done"
    assert live_answers(one) == 0
    assert not any(call["path"].endswith("completions") for call in one.log()["calls"])


def test_only_rows_in_flight_at_the_cut_are_asked_twice_and_they_are_counted(scenario: Callable[..., Scenario]) -> None:
    """The provider will not cancel: its rows are asked live, and the batch ends by itself afterwards."""
    truth = {**SLOW, "latency": {"batch": [6_000, 6_000], "live": [0, 0]}}
    one = scenario(truth=truth, faults=[{"on": "cancel", "do": "status", "status": 500}])
    study = one.study(30, batch={"max_requests": 20}, **AUTO)
    ending = one.run(study)
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 30}
    digest = one.table_digest()
    one.emulator.finish()
    collected = one.call("resume", "night")
    assert collected.state == "done", collected
    assert one.table_digest() == digest  # the first answer counts
    twice = answered_twice(one)
    assert len(twice) == len(one.log()["rows_run_twice"]) == 30
    status = one.status()
    assert status.answered_twice == 30
    assert status.spent > one.table()["cost"].sum() * 1e9 * 1.2  # both are paid for
    assert one.findings() == []


def test_the_cut_can_be_set_and_capped(scenario: Callable[..., Scenario]) -> None:
    one = scenario(truth=SLOW)
    spill = {"before": "35m", "max_cost": 0.002}
    ending = one.run(one.study(30, spill=spill, **PRICED, **AUTO))
    assert ending.state == "over budget", ending
    done = one.statuses().get("answered", 0)
    assert 1 <= done < 30
    assert one.table()["cost"].sum() <= 0.002
    assert one.run(one.study(30, spill={"before": "35m", "max_cost": 5}, **PRICED, **AUTO)).state == "done"


def test_a_cap_on_what_nobody_can_price_is_refused(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    ending = one.run(one.study(3, spill={"max_cost": 1}, **AUTO))
    assert ending.error == "StudyError"
    assert "spill.max_cost: nobody can say what a live call to openai/gpt-4.1-mini costs" in ending.message


def test_a_deadline_without_auto_ends_the_waiting(scenario: Callable[..., Scenario]) -> None:
    one = scenario(truth=SLOW)
    ending = one.run(one.study(10, deadline="10m"))
    assert ending.state == "running", ending
    assert {batch["status"] for batch in one.batches()} <= {"validating", "in_progress"}


def test_running_again_does_not_push_the_deadline_back(scenario: Callable[..., Scenario]) -> None:
    one = scenario(truth=SLOW)
    study = one.study(10, **AUTO)
    assert one.run(study, timeout="2m").state == "running"
    one.emulator.advance(0)
    first = one.work()["deadline"]
    assert one.run(study, timeout="1m").state == "running"
    assert one.work()["deadline"] == first
    assert one.run(study).state == "done"


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_any_kill_any_resume_same_bytes(scenario: Callable[..., Scenario], part: int, tmp_path: Path) -> None:
    first, log = scenario(truth=SLOW), tmp_path / "checkpoints"
    ending = first.run(first.study(12, **AUTO), environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    assert ending.state == "done", ending
    expected = first.table().drop("cost")
    names = log.read_text().splitlines()
    first.close()
    for number in kills(len(names), part, len(PARTS), sample=4):
        one = scenario(truth=SLOW)
        study = one.study(12, **AUTO)
        killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        assert killed.signal in (signal.SIGKILL, None), (number, killed)
        ending = one.run(study)
        where = f"killed at checkpoint {number} ({names[number - 1]})"
        assert ending.state == "done", (where, ending)
        assert one.table().drop("cost").equals(expected), where
        one.call("resume", "night")  # a batch that took long to end is collected, though its rows are answered
        assert one.findings() == [], where
        one.close()
