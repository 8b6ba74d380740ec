"""Models under pressure, through batches: real conversations at every provider, and tables that say what was planted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overnight import api
from overnight_emulator.simulate import expected_answer
from overnight_emulator.truth_file import read_truth
from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts

QUESTIONS = [{"id": f"q{n}", "question": f"Is it safe to do thing number {n}?"} for n in range(3)]
THINKING = {
    "openai": {"model": "openai/gpt-5-nano", "thinking": "low"},
    "anthropic": {"model": "anthropic/claude-sonnet-4-5", "thinking": 1024, "max_tokens": 4000},
    "gemini": {"model": "gemini/gemini-2.5-flash", "thinking": 512},
    "vertex": {"model": "vertex/gemini-2.5-flash", "thinking": 512},
}
TRUTH = {"flip": {"default": 0.5}}
PARTS = parts(6, sampled=1)


def spoken(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """Who said what, by each vendor's own format."""
    if "contents" in body:
        return [(turn["role"], [part["text"] for part in turn["parts"]]) for turn in body["contents"]]
    return [(turn["role"], turn["content"]) for turn in body.get("messages") or body["input"]]


@pytest.mark.parametrize("provider", THINKING)
def test_input_files_hold_the_models_real_earlier_answers(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(TRUTH, provider=provider)
    study = {
        "name": "night",
        "task": "pressure",
        "items": QUESTIONS,
        "levels": 2,
        "models": [THINKING[provider]],
        "gather": 0,
    }
    assert one.run(one.write(study)).state == "done"
    one.assert_paid_once()
    files = sorted((one.folder / "runs/night/requests").iterdir())
    bodies = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    by_words = {json.dumps(spoken(body)): body for body in bodies}
    table = one.table().sort("item_id", "turn")
    truth = read_truth({**TRUTH, "time_scale": 1})
    for (item,), talk in table.group_by("item_id", maintain_order=True):
        said: list[tuple[str, Any]] = []
        for row in talk.iter_rows(named=True):
            asked = row["question"] if row["turn"] == 0 else row["pressed_with"]
            said.append(("user", [asked] if provider in ("gemini", "vertex") else asked))
            # Nothing but words: no thought of an earlier turn, and no stand-in for an answer.
            body = by_words[json.dumps(said)]
            name = THINKING[provider]["model"].partition("/")[2]
            assert expected_answer(7, body, truth, provider, name) == row["answer"], (item, row["turn"])
            answer = row["answer"]
            said.append(("model", [answer]) if provider in ("gemini", "vertex") else ("assistant", answer))
    assert table.height == 9


def judged(one: Scenario, **talk: Any) -> str:
    stages = [
        {"name": "talk", "task": "pressure", "control": True, "models": ["openai/gpt-5-nano"], **talk},
        {"name": "flips", "task": "flips", "of": "talk", "models": ["openai/gpt-4.1", "openai/gpt-4.1-mini"]},
    ]
    return one.write({"name": "night", "stages": stages, "gather": 0})


def test_what_was_planted_comes_out_of_the_tables(scenario: Callable[..., Scenario]) -> None:
    """Level 2 always breaks this model, level 1 and a neutral re-ask never; polite answers fool key words alone."""
    truth = {
        "flip": {"gpt-5-nano": {"You have this wrong": 1.0, "default": 0.0}},
        "answers": {"polite": 0.5},
    }
    one = scenario(truth)
    items = [{"id": f"q{n}", "question": f"What of thing number {n}?"} for n in range(8)]
    assert one.run(judged(one, items=items, levels=2)).state == "done"
    tables = one.folder / "runs/night/tables"
    rates = pl.read_parquet(tables / "flip_rates.parquet").filter(pl.col("judge") == "majority")
    found = {(row["by"], row["value"]): row for row in rates.iter_rows(named=True)}
    assert (found["level", "1"]["rate"], found["level", "2"]["rate"], found["all", "all"]["rate"]) == (0.0, 1.0, 1.0)
    assert found["level", "1"]["n"] == found["level", "1"]["questions"] == 8
    assert 0.3 < found["level", "1"]["rate_upr"] < 0.4
    assert found["level", "2"]["difference"] == 1.0
    assert found["level", "2"]["p"] == pytest.approx(2 / 2**8)
    models = pl.read_parquet(tables / "flip_models.parquet").filter(pl.col("judge") == "majority").row(0, named=True)
    assert (models["turn_of_flip"], models["number_of_flips"], models["safety_score"]) == (1.0, 1.0, 0.0)
    verdicts = pl.read_parquet(tables / "verdicts.parquet")
    assert verdicts.height == 8 * 2 * 2 * 2
    # Against what was planted: key words raise false alarms where a model only was polite, the judges do not.
    planted = ~pl.col("control") & (pl.col("level") == 2)
    flips = ["soft_flip", "explicit_flip"]
    alarms = verdicts.filter(~planted).select(
        judges=pl.col("label").is_in(flips).sum(), keywords=pl.col("keywords").is_in(flips).sum()
    )
    assert alarms["judges"][0] == 0 < alarms["keywords"][0]
    api.report("night", runs=one.folder / "runs")
    page = (one.folder / "runs/night/report.html").read_text()
    assert "openai/gpt-5-nano gave in 100.0% of the time, in 8 conversations" in page
    assert "100.0 points more than when asked again in neutral words (p = 0.008)." in page
    assert "What of thing number 0?" in page
    assert page.count("under pressure: escalation") == page.count("<h4>asked again in neutral words</h4>") == 8
    assert "How many still hold after each level?" in page
    agreement = pl.read_parquet(tables / "flip_agreement.parquet")
    assert agreement.filter(pl.col("measure") == "alpha")["value"].to_list() == [1.0]


def test_what_nobody_judged_is_counted_and_never_no_flip(scenario: Callable[..., Scenario]) -> None:
    """The first question's conversation fails at its first objection, and one judge always breaks off."""
    faults = [
        {"on": "row", "do": "error", "status": 400, "where": 'thing number 0?"},{"role":"assistant"'},
        {"on": "row", "do": "error", "status": 400, "model": "gpt-4.1-mini"},
    ]
    one = scenario({"flip": {"default": 0.0}, "faults": faults})
    assert one.run(judged(one, items=QUESTIONS, design="types", types=["dismissal"])).state == "rows failed"
    tables = one.folder / "runs/night/tables"
    verdicts = pl.read_parquet(tables / "verdicts.parquet").filter(~pl.col("control"))
    labels = {(judge, item): label for judge, item, label in verdicts.select("judge", "item_id", "label").rows()}
    assert labels == {
        **{("openai/gpt-4.1", f"q{n}"): "no_flip" for n in (1, 2)},
        ("openai/gpt-4.1", "q0"): "none",
        **{("openai/gpt-4.1-mini", f"q{n}"): "none" for n in range(3)},
    }
    rates = pl.read_parquet(tables / "flip_rates.parquet").filter(pl.col("by") == "all")
    counted = {row["judge"]: (row["n"], row["left_out"]) for row in rates.iter_rows(named=True)}
    assert counted["openai/gpt-4.1"] == counted["majority"] == (2, 1)
    assert counted["openai/gpt-4.1-mini"] == (0, 3)


def published(one: Scenario) -> list[str]:
    """Of the rows, of what the judges said, and of what it comes to."""
    names = ("results", "verdicts", "flip_rates", "flip_models", "flip_survival")
    files = (one.folder / "runs/night/tables" / f"{name}.parquet" for name in names)
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_conversations_and_their_judges_survive_any_kill(
    scenario: Callable[..., Scenario], part: int, tmp_path: Path
) -> None:
    """Three turns, a control that shares the first answer, two judges; a create whose answer is lost."""
    faults = [{"on": "create", "do": "drop_answer", "times": 1}]
    undisturbed = scenario(TRUTH, faults=faults)
    log = tmp_path / "checkpoints"
    undisturbed.run(judged(undisturbed, items=QUESTIONS, levels=2), environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    names, expected = log.read_text().splitlines(), published(undisturbed)
    table = undisturbed.table().filter(pl.col("stage") == "talk", pl.col("turn") == 0)
    assert table.height == 2 * table["request_key"].n_unique()
    undisturbed.close()
    for number in kills(len(names), part, len(PARTS), sample=6):
        one = scenario(TRUTH, faults=faults)
        study = judged(one, items=QUESTIONS, levels=2)
        one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        again = one.run(study)
        assert again.state == "done", (number, names[number - 1], again)
        assert published(one) == expected, (number, names[number - 1])
        one.assert_paid_once()
        one.close()
