"""Judge prompts that a stage writes: every answer is graded by the prompt of its own statement, or not at all."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from typing import Any

import polars as pl

from scenarios.conftest import Scenario
from scenarios.matrix import kills
from scenarios.test_spec import write_spec

STATEMENTS, INPUTS = 3, 2
TRACE = re.compile(r"\[trace \S+ \w+\]")
GONE = {"on": "row", "do": "error", "status": 400, "code": "invalid", "model": "gpt-4.1", "where": "Rule number 1"}


def a_study(one: Scenario, **more: Any) -> str:
    write_spec(one, STATEMENTS, INPUTS)
    writing = {"name": "writing", "task": "generate", "spec": "rules.jsonl", "templates": ["judge_prompt"]}
    answers = {"name": "answers", "task": "generate", "spec": "rules.jsonl", "inputs": "inputs"}
    models = ["openai/gpt-4.1-nano", "openai/gpt-4o-mini"]
    judging = {"of": "answers", "prompts": "writing", "models": ["openai/gpt-4.1-mini"]}
    stages = [
        {**writing, "models": ["openai/gpt-4.1"]},
        {**answers, "models": models},
        {"name": "grades", "task": "grade", **judging},
        {"name": "ranks", "task": "rank", **judging},
    ]
    return one.write({"name": "night", "stages": stages, **more})


def prompts_shown(one: Scenario) -> list[tuple[str, str]]:
    """The statement that each judge was asked about, and the trace of the prompt that it was shown."""
    files = sorted((one.folder / "runs" / "night" / "requests").glob("*.jsonl"))
    bodies = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    texts = [body["messages"][-1]["content"] for body in bodies if body["model"] == "gpt-4.1-mini"]
    return [(re.findall(r"What about (rule_\d+)", text)[0], TRACE.findall(text)[0]) for text in texts]


def prompts_written(one: Scenario) -> dict[str, str]:
    rows = one.table().filter((pl.col("stage") == "writing") & (pl.col("status") == "answered"))
    return {row["item_id"]: TRACE.findall(row["answer"])[0] for row in rows.iter_rows(named=True)}


def counts(one: Scenario) -> dict[str, int]:
    return dict(one.table().group_by("stage").len().iter_rows())


def test_each_answer_is_judged_by_the_prompt_of_its_statement_whenever_it_is_killed(
    scenario: Callable[..., Scenario],
) -> None:
    calm = scenario()
    assert calm.run(a_study(calm)).state == "done"
    answers = STATEMENTS * INPUTS * 2
    assert counts(calm) == {"writing": STATEMENTS, "answers": answers, "grades": answers, "ranks": answers}
    written = prompts_written(calm)
    assert len(set(written.values())) == STATEMENTS
    shown = prompts_shown(calm)
    assert len(shown) == 2 * answers
    assert all(trace == written[statement] for statement, trace in shown)
    results = (calm.folder / "runs" / "night" / "tables" / "results.parquet").read_bytes()
    for number in kills(60, 0, 1, 4):
        one = scenario()
        study = a_study(one)
        assert one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)}).signal in (signal.SIGKILL, None)
        assert one.run(study).state == "done"
        assert (one.folder / "runs" / "night" / "tables" / "results.parquet").read_bytes() == results, number
        one.assert_paid_once()


def test_without_a_prompt_nobody_judges_and_a_prompt_that_comes_later_is_used(
    scenario: Callable[..., Scenario],
) -> None:
    one = scenario(faults=[{**GONE, "times": 1}])
    study = a_study(one)
    assert one.run(study).state == "rows failed"
    written = prompts_written(one)
    assert sorted(written) == ["rule_0", "rule_2"]
    shown = prompts_shown(one)
    assert {statement for statement, _ in shown} == {"rule_0", "rule_2"}
    assert all(trace == written[statement] for statement, trace in shown)
    unjudged = pl.read_parquet(one.folder / "runs" / "night" / "tables" / "unjudged.parquet")
    assert unjudged.select("stage", "why", "answers").rows() == [
        ("grades", "no prompt", INPUTS),
        ("grades", "no prompt", INPUTS),
        ("ranks", "no prompt", INPUTS),
        ("ranks", "no prompt", INPUTS),
    ]
    before = counts(one)
    assert one.run(study).state == "rows failed"
    assert counts(one) == before
    assert one.run(study, reask="failed").state == "done"
    answers = STATEMENTS * INPUTS * 2
    assert counts(one) == {"writing": STATEMENTS, "answers": answers, "grades": answers, "ranks": answers}
    written = prompts_written(one)
    assert all(trace == written[statement] for statement, trace in prompts_shown(one))
    assert one.findings() == []
    one.assert_paid_once()


def test_a_first_look_at_some_answers_has_all_their_prompts(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = a_study(one)
    assert one.run(study, limit=2).state == "done"
    found = counts(one)
    assert found["writing"] == STATEMENTS
    assert found["answers"] == found["grades"] == 2
    assert one.run(study).state == "done"
    assert counts(one)["grades"] == STATEMENTS * INPUTS * 2
