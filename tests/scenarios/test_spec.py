"""A specification from its inputs to its rankings: one study, several providers, killed and resumed.

With OVERNIGHT_EVERY_COMMAND=1 (`make speceval`) 46 statements of 20 inputs, four candidates, judges of three providers.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable
from typing import Any

import polars as pl

from scenarios.conftest import Scenario

LARGE = bool(os.environ.get("OVERNIGHT_EVERY_COMMAND"))
STATEMENTS, INPUTS = (46, 20) if LARGE else (6, 6)
NOISE = 1.0
QUALITY = {"gpt-4.1": 0.8, "gpt-4.1-nano": -0.8, "claude-haiku-4-5": 0.0, "gemini-2.5-flash": 0.4}
COMPLIANCE = {"gpt-4.1": 0.9, "gpt-4.1-nano": 0.4, "claude-haiku-4-5": 0.7, "gemini-2.5-flash": 0.8}
POSITION = 0.4
TRUTH = {
    "qualities": QUALITY,
    "judge": {"noise": NOISE, "position_bias": POSITION, "tie": 0.05},
    "compliance": COMPLIANCE,
}
CANDIDATES = ["openai/gpt-4.1", "openai/gpt-4.1-nano", "anthropic/claude-haiku-4-5"]
CANDIDATES += ["gemini/gemini-2.5-flash"] * LARGE
JUDGES: list[Any] = ["openai/gpt-4.1-mini", {"model": "anthropic/claude-3-5-haiku-20241022", "max_tokens": 900}]
JUDGES += ["gemini/gemini-2.5-flash-lite"] * LARGE
TABLES = ("results", "verdicts", "rankings", "scores", "matches", "judge_bias")


def write_spec(one: Scenario, statements: int, inputs: int) -> None:
    types = ("PROHIBITION", "REQUIREMENT", "GUIDELINE")
    rules = [
        {
            "id": f"rule_{n}",
            "text": f"Rule number {n} is kept.",
            "type": types[n % 3],
            "authority_level": ("PLATFORM", "USER")[n % 2],
            "section": f"Section {n % 2}",
        }
        for n in range(statements)
    ]
    (one.folder / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    folder = one.folder / "inputs"
    folder.mkdir(exist_ok=True)
    for rule in rules:
        asked = [f"What about {rule['id']}, for the {n}th time?" for n in range(inputs)]
        (folder / f"{rule['id']}.json").write_text(json.dumps({"inputs": asked}))


def a_study(one: Scenario, statements: int, inputs: int, candidates: Any, judges: Any, **more: Any) -> str:
    write_spec(one, statements, inputs)
    answers = {"name": "answers", "task": "generate", "spec": "rules.jsonl", "inputs": "inputs", "models": candidates}
    judging = [{"name": name, "task": name, "of": "answers", "models": judges} for name in ("rank", "comply")]
    return one.write({"name": "night", "stages": [answers, *judging], **more})


def digests(one: Scenario) -> list[str]:
    tables = one.folder / "runs" / "night" / "tables"
    return [hashlib.sha256((tables / f"{name}.parquet").read_bytes()).hexdigest() for name in TABLES]


def check_truth(one: Scenario, candidates: dict[str, str]) -> None:
    """What was planted lies within the intervals. `candidates`: the model of each name."""
    tables = one.folder / "runs" / "night" / "tables"
    ranking = pl.read_parquet(tables / "rankings.parquet").filter(pl.col("scope") == "all")
    centre = sum(QUALITY[model] for model in candidates.values()) / len(candidates)
    for row in ranking.iter_rows(named=True):
        planted = (QUALITY[candidates[row["ID"]]] - centre) / NOISE
        assert row["theta_lwr"] <= planted <= row["theta_upr"], row
    assert abs(ranking["position"][0] - POSITION) < 3 * ranking["position_se"][0]
    scores = pl.read_parquet(tables / "scores.parquet").filter((pl.col("scope") == "all") & (pl.col("judge") == "all"))
    for row in scores.iter_rows(named=True):
        assert row["score_lwr"] <= COMPLIANCE[candidates[row["model"]]] <= row["score_upr"], row


def test_killed_and_resumed_the_planted_truth_is_recovered(scenario: Callable[..., Scenario]) -> None:
    calm, one = scenario(TRUTH), scenario(TRUTH)
    assert calm.run(a_study(calm, STATEMENTS, INPUTS, CANDIDATES, JUDGES)).state == "done"
    study = a_study(one, STATEMENTS, INPUTS, CANDIDATES, JUDGES)
    # Each counts from its own start: while answers are asked for, while they come, and while they are judged.
    for number in (250, 350, 450) if LARGE else (70, 120, 160):
        assert one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)}).signal == signal.SIGKILL
        assert one.batches()
    assert one.run(study).state == "done"
    assert digests(one) == digests(calm)
    one.assert_paid_once()
    rows = one.table()
    counts = dict(rows.group_by("stage").len().iter_rows())
    asked, models, judges = STATEMENTS * INPUTS, len(CANDIDATES), len(JUDGES)
    assert counts == {
        "answers": asked * models,
        "rank": asked * models * (models - 1) * judges,
        "comply": asked * models * judges,
    }
    check_truth(one, {name: name.partition("/")[2] for name in CANDIDATES})


def test_what_fails_is_never_judged_and_what_cannot_be_read_is_asked_again(scenario: Callable[..., Scenario]) -> None:
    refusing = {"answers": {"refused": 0.1}}
    silent = {"answer_with": {"rule_1, for the 2th(?s:.*)ANSWER BEGINS": "I would rather not say."}}
    one = scenario(
        {**TRUTH, **refusing, **silent},
        faults=[{"on": "row", "do": "error", "status": 400, "code": "invalid", "where": "rule_0", "model": "claude*"}],
    )
    study = a_study(one, 3, 4, CANDIDATES[1:3], JUDGES[:1])
    done = one.run(study)
    assert done.state == "rows failed"
    rows = one.table()
    answers = rows.filter(pl.col("stage") == "answers")
    good = answers.filter(pl.col("status") == "answered")
    held = rows.filter(pl.col("stage") == "comply")
    assert held.height == good.height < answers.height
    assert held.filter(pl.col("label") == "unparsed").height == 2
    tables = one.folder / "runs" / "night" / "tables"
    left_out = pl.read_parquet(tables / "unjudged.parquet").filter(pl.col("stage") == "comply")
    assert left_out["answers"].sum() == answers.height - good.height
    scores = pl.read_parquet(tables / "scores.parquet").filter((pl.col("scope") == "all") & (pl.col("judge") == "all"))
    judged = held.filter(pl.col("status") == "answered")
    assert scores["n"].sum() + scores["unparsed"].sum() == judged.height
    ranked = rows.filter(pl.col("stage") == "rank")
    both = good.group_by("item_id").len().filter(pl.col("len") == 2).height
    assert ranked.height == both * 2
    before = one.log()["rows_run"]
    one.run(study, reask="unparsed")
    assert one.log()["rows_run"] - before == 2
