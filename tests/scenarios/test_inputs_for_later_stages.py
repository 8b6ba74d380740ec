"""Inputs, answers to them and verdicts in one study: the inputs are handed on when all are written, whatever happens."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overnight.api.status import unfinished
from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts
from scenarios.test_inputs import TRUTH, table, writing

TABLES = ("results", "inputs", "input_losses", "verdicts", "scores")
SAMPLE = 3
PARTS = parts(2, sampled=1)


def whole(one: Scenario, n: int = 3, **keys: Any) -> str:
    """Writes the specification and a study of three stages; returns its path."""
    writing(one)
    by = {"models": [one.model]}
    stages: list[dict[str, Any]] = [
        {"name": "write", "task": "inputs", "spec": "spec.jsonl", "n": n, "rounds": 1, "scenarios": 3, **by},
        {"name": "answer", "task": "generate", "of": "write", "prompt": "{input}", **by},
        {"name": "judge", "task": "comply", "of": "answer", "models": ["openai/gpt-4.1-nano"]},
    ]
    return one.write({"name": "night", "stages": stages, **keys})


def digests(one: Scenario) -> list[str]:
    tables = one.folder / "runs" / "night" / "tables"
    return [hashlib.sha256((tables / f"{name}.parquet").read_bytes()).hexdigest() for name in TABLES]


def of_stage(one: Scenario, stage: str) -> pl.DataFrame:
    return one.table().filter(pl.col("stage") == stage)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_the_same_inputs_answers_and_verdicts_after_any_kill(
    scenario: Callable[..., Scenario], part: int, tmp_path: Path
) -> None:
    calm = scenario(TRUTH)
    log = tmp_path / "checkpoints"
    study = whole(calm, batch={"max_requests": 5})
    assert calm.run(study, environ={"OVERNIGHT_CHECKPOINTS": str(log)}).state == "done"
    kept, answered = table(calm, "inputs"), of_stage(calm, "answer")
    assert kept.height == 6
    assert sorted(answered["item_id"]) == sorted(
        f"{row[0]}_{row[1]}" for row in kept.select("statement_id", "input_index").rows()
    )
    verdicts = table(calm, "verdicts")
    assert verdicts.height == 6
    assert verdicts.select("statement_id", "input_index").sort(pl.all()).rows() == [
        (f"rule_{rule}", number) for rule in range(2) for number in range(3)
    ]
    expected, names = digests(calm), log.read_text().splitlines()
    for number in kills(len(names), part, len(PARTS), SAMPLE):
        one = scenario(TRUTH)
        study = whole(one, batch={"max_requests": 5})
        killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        assert killed.signal in (signal.SIGKILL, None), (number, killed)
        folder = one.kept()
        before = one.rows_on_record()
        might_ask = before == 0 or unfinished(folder)
        assert one.run(study).state == "done", number
        assert might_ask or one.rows_on_record() == before, names[number - 1]
        assert not unfinished(folder)
        assert digests(one) == expected, names[number - 1]
        one.assert_paid_once()
        one.close()


def test_passes_that_do_not_wait_come_to_the_same(scenario: Callable[..., Scenario]) -> None:
    calm, one = scenario(TRUTH), scenario(TRUTH)
    assert calm.run(whole(calm)).state == "done"
    assert one.call("submit", whole(one)).state == "submitted"
    assert one.in_passes(most=400).state == "done"
    assert digests(one) == digests(calm)
    one.assert_paid_once()


def test_more_inputs_are_answered_too_and_what_was_handed_on_stays(scenario: Callable[..., Scenario]) -> None:
    one = scenario(TRUTH)
    assert one.run(whole(one)).state == "done"
    first, asked = of_stage(one, "answer"), one.log()["rows_run"]
    assert one.run(whole(one, n=5)).state == "done"
    more = of_stage(one, "answer")
    assert more.height == 10
    assert first.join(more, on=["item_id", "request_key", "answer"], how="semi").height == 6
    # Four more inputs of those that were written already: four answers, four verdicts.
    assert one.log()["rows_run"] == asked + 8
    numbers = table(one, "verdicts").select("statement_id", "input_index").sort(pl.all()).rows()
    assert numbers == [(f"rule_{rule}", number) for rule in range(2) for number in range(5)]


def test_inputs_whose_rating_came_later_are_handed_on_then(scenario: Callable[..., Scenario]) -> None:
    fails = {
        "on": "row",
        "do": "error",
        "status": 400,
        "code": "invalid_prompt",
        "where": "You check an input",
        "times": 9,
    }
    one = scenario(TRUTH, faults=[fails])
    study = whole(one, n=20)
    assert one.run(study).state == "rows failed"
    failed = one.statuses()["failed"]
    before = set(of_stage(one, "answer")["item_id"])
    assert failed == 9
    assert one.run(study, reask="failed").state == "done"
    after = set(of_stage(one, "answer")["item_id"])
    assert before < after
    assert len(after) == table(one, "inputs").height
    assert not unfinished(one.kept())


def test_tables_are_made_while_answers_are_on_their_way(scenario: Callable[..., Scenario]) -> None:
    one = scenario({**TRUTH, "latency": {"batch": [3_600, 3_700], "live": [0, 0]}})
    study = whole(one)
    states, waited = [], 0
    while "done" not in states:
        states.append(one.run(study, timeout="40m", environ=one.going_on).state)
        if "pending" in of_stage(one, "answer")["status"].to_list():
            waited += 1
            # They are not left out: they are to come.
            assert not (one.folder / "runs/night/tables/unjudged.parquet").exists()
    # How many passes there are is a matter of when each one asks; that one met waiting answers is not.
    assert waited
