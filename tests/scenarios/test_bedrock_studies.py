"""Bedrock takes no job of fewer than a hundred records, and a create that is sent twice makes one job."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overnight import api
from scenarios.conftest import MODELS, Scenario
from scenarios.matrix import kills, parts

# None that leaves a few rows over: those go live, and live calls cannot promise to be paid once.
FAULTS = (
    {"on": "create", "do": "drop_answer", "times": 1},
    {"on": "content", "do": "cut", "at": 0.6, "times": 1},
)
PARTS = parts(4, sampled=1)


def begun(scenario: Callable[..., Scenario], fewest: int = 100, **more: Any) -> Scenario:
    return scenario({"limits": {"fewest_requests": fewest}}, provider="bedrock", **more)


def study(one: Scenario, rows: int, **fields: Any) -> str:
    return one.study(rows, **{"batch": {"max_requests": 120}, "mode": "auto", **fields})


def sizes(one: Scenario) -> list[int]:
    return sorted(batch["rows"] for batch in one.batches())


def test_no_job_is_below_the_floor(scenario: Callable[..., Scenario]) -> None:
    one = begun(scenario)
    assert one.run(study(one, 230)).state == "done"
    assert sizes(one) == [110, 120], "the last few are joined by some of the job before"
    assert one.statuses() == {"answered": 230}
    one.assert_paid_once()


def test_few_rows_go_live_or_wait_and_the_user_is_told(scenario: Callable[..., Scenario]) -> None:
    one = begun(scenario)
    ending = one.run(study(one, 7, mode="batch"))
    assert "7 rows wait, and a batch of bedrock must hold at least 100" in ending.message
    assert "write `mode: auto` to ask them live" in ending.message
    told = ("7 rows wait, and a batch of bedrock must hold at least 100", "are asked live, at the live price")
    for mode, words in zip(("batch", "auto"), told, strict=True):
        planned = api.plan(study(one, 7, mode=mode), runs=one.folder / "plans")
        assert [words in note for note in planned.notes] == [True], planned.notes
    assert one.run(study(one, 7)).state == "done"
    assert (sizes(one), one.statuses()) == ([], {"answered": 7})


def test_an_account_with_another_floor_says_so(scenario: Callable[..., Scenario]) -> None:
    """The floor is a quota: whoever has a lower one says it, and sends few in batches."""
    one = begun(scenario, 3)
    few = {"max_requests": 4, "min_requests": 3}
    assert one.run(study(one, 10, mode="batch", batch=few)).state == "done"
    assert (sizes(one), one.statuses()) == ([3, 3, 4], {"answered": 10})
    one.assert_paid_once()


def test_a_higher_floor_than_usual_loses_no_row(scenario: Callable[..., Scenario]) -> None:
    one = begun(scenario, 200)
    ending = one.run(study(one, 230, mode="batch"))
    assert ending.state == "held up", ending
    # Two jobs are under way together: either may be told of.
    assert any(f"{rows} rows of" in ending.message for rows in (110, 120))
    assert "the minimum of a job is 200 records" in ending.message
    assert "write its own floor as `batch: {min_requests: N}`" in ending.message
    assert one.statuses() == {"pending": 230}
    assert one.run(study(one, 230, mode="batch", batch={"min_requests": 200})).state == "done"
    assert one.statuses() == {"answered": 230}
    one.assert_paid_once()


def test_claude_and_nova_in_one_study(scenario: Callable[..., Scenario]) -> None:
    one = begun(scenario)
    models = [MODELS["bedrock"], {"model": "bedrock/us.anthropic.claude-haiku-4-5-v1:0", "thinking": "low"}]
    assert one.run(study(one, 100, models=models)).state == "done"
    assert sizes(one) == [100, 100]
    table = one.table()
    thought = {model: rows["thoughts"].drop_nulls().len() > 0 for (model,), rows in table.group_by("model")}
    assert thought == {"us.amazon.nova-lite-v1:0": False, "us.anthropic.claude-haiku-4-5-v1:0": True}


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_any_kill_any_resume_same_bytes(scenario: Callable[..., Scenario], part: int, tmp_path: Path) -> None:
    undisturbed = begun(scenario, faults=FAULTS)
    log = tmp_path / "checkpoints"
    ending = undisturbed.run(study(undisturbed, 205), environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    assert ending.state == "done", ending
    undisturbed.assert_paid_once()
    names = log.read_text().splitlines()
    expected = undisturbed.table_digest()
    undisturbed.close()
    for number in kills(len(names), part, len(PARTS), 6):
        one = begun(scenario, faults=FAULTS)
        killed = one.run(study(one, 205), environ={"OVERNIGHT_KILL_AT": str(number)})
        assert killed.signal in (signal.SIGKILL, None), (number, killed)
        where = f"killed at checkpoint {number} ({names[number - 1]})"
        ending = one.run(study(one, 205))
        assert ending.state == "done", (where, ending)
        assert one.table_digest() == expected, where
        one.assert_paid_once()
        one.assert_nothing_left_over()
        one.close()
