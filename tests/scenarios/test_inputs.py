"""Inputs written in rounds, on the emulator: the planted truth, any kill, and their use by a later study."""

from __future__ import annotations

import hashlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli.shell import overnight
from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts

TABLES = ("results", "inputs", "input_losses", "input_rounds")
TRUTH = {"ideas": {"difficulty": 0.3, "spread": 0.2, "gain": 0.15, "repeated": 0.2, "useless": 0.1}}
# Shared by both forms.
SAMPLE = 2
PARTS = parts(2, sampled=1)
# Challenging inputs in one go, rated by themselves; and rounds that aim at a difficulty, by what candidates answer.
FORMS: dict[str, dict[str, Any]] = {
    "challenge": {"rounds": 1},
    "adaptive": {
        "difficulty": 0.5,
        "candidates": ["openai/gpt-4.1-nano"],
        "judges": ["openai/gpt-4o-mini"],
        "batch": {"max_requests": 7},
    },
}


def writing(one: Scenario, statements: int = 2, **keys: Any) -> str:
    line = {"type": "guideline", "authority_level": "user"}
    spec = [{"id": f"rule_{n}", "text": f"The assistant keeps to rule number {n}.", **line} for n in range(statements)]
    (one.folder / "spec.jsonl").write_text("".join(json.dumps(row) + "\n" for row in spec))
    stage = {"task": "inputs", "spec": "spec.jsonl", "models": [one.model], "n": 4, "rounds": 2, "scenarios": 3}
    return one.write({"name": "night", **stage, **keys})


def digests(one: Scenario) -> list[str]:
    tables = one.folder / "runs" / "night" / "tables"
    return [hashlib.sha256((tables / f"{name}.parquet").read_bytes()).hexdigest() for name in TABLES]


def table(one: Scenario, name: str) -> pl.DataFrame:
    return pl.read_parquet(one.folder / "runs" / "night" / "tables" / f"{name}.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("form", FORMS)
def test_the_same_inputs_after_any_kill(
    scenario: Callable[..., Scenario], form: str, part: int, tmp_path: Path
) -> None:
    calm = scenario(TRUTH)
    log = tmp_path / "checkpoints"
    assert calm.run(writing(calm, **FORMS[form]), environ={"OVERNIGHT_CHECKPOINTS": str(log)}).state == "done"
    expected, names = digests(calm), log.read_text().splitlines()
    for number in kills(len(names), part, len(PARTS), SAMPLE):
        one = scenario(TRUTH)
        study = writing(one, **FORMS[form])
        killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        assert killed.signal in (signal.SIGKILL, None), (number, killed)
        assert one.run(study).state == "done", number
        assert digests(one) == expected, names[number - 1]
        one.assert_paid_once()
        one.close()


def test_rounds_come_nearer_to_what_is_wanted_and_everything_is_counted(scenario: Callable[..., Scenario]) -> None:
    one = scenario(TRUTH)
    assert one.run(writing(one, 3, rounds=3, n=5)).state == "done"
    kept, lost, rounds = (table(one, name) for name in TABLES[1:])
    assert kept.group_by("statement_id").len().sort("statement_id").rows() == [(f"rule_{n}", 5) for n in range(3)]
    hard = rounds["difficulty"].to_list()
    assert hard == sorted(hard)
    assert hard[-1] - hard[0] > 0.15
    planted = kept["input"].str.extract(r"\[idea (\d\.\d\d) ").cast(pl.Float64)
    # A grade is a quarter, and a judge is up to half a grade beside.
    assert (kept["difficulty"] - planted).abs().max() <= 0.25
    assert not kept["input"].str.contains("useless").any()
    # Each repetition that was planted is found, and nothing else is taken for one.
    near = lost.filter(pl.col("why") == "near-duplicate")
    assert near.height > 0
    assert near["text"].str.starts_with("Please: ").all()
    assert not kept["input"].str.starts_with("Please: ").any()
    unusable = lost.filter(pl.col("why") == "not usable")
    assert unusable["text"].str.contains("useless").all()
    # All that was written is kept, or left out for one reason.
    written = one.table().filter(pl.col("step") == "questions")["written"].sum()
    assert written == kept.height + lost.filter(pl.col("what") == "input").height == rounds["written"].sum()
    assert rounds["cost"].sum() == pytest.approx(sum(one.table()["cost"]))


def test_answers_of_candidates_show_the_difficulty_and_the_inputs_are_used(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"ideas": {**TRUTH["ideas"], "difficulty": 0.7}})
    models = {"candidates": [one.model, "openai/gpt-4.1-nano"], "judges": ["openai/gpt-4.1-mini"]}
    assert one.run(writing(one, rounds=1, difficulty=0.5, **models)).state == "done"
    rows = one.table()
    steps = dict(rows.group_by("step").len().iter_rows())
    assert steps["answer"] == steps["rating"]
    kept = table(one, "inputs")
    assert kept.height == 8
    assert kept["ratings"].to_list() == [2] * 8
    asked = {"name": "later", "task": "generate", "spec": "spec.jsonl", "models": [one.model]}
    assert one.run(one.write({**asked, "inputs": "runs/night/tables/inputs.parquet"})).state == "done"
    assert one.table("later").height == 8
    # More inputs and more rounds go on with the same run.
    assert one.run(writing(one, rounds=2, n=5, difficulty=0.5, **models)).state == "done"
    assert set(kept["address"]) & set(table(one, "inputs")["address"])
    assert table(one, "inputs").height == 10
    changed = one.run(writing(one, rounds=2, n=5, difficulty=0.1, **models))
    assert "difficulty: was 0.5, is now 0.1; only `n` and `rounds` may grow" in changed.message


def test_the_command_writes_a_folder_that_generate_takes(tmp_path: Path) -> None:
    lines = [{"id": f"no/{n}", "text": "Be kind.", "type": "prohibition", "authority_level": "user"} for n in range(2)]
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    flags = "--num-inputs 3 --rounds 1 --scenarios-per-round 2 --inputs-per-scenario 3 --judge-mode input_judge"
    flags += " --use-likert-prompts"
    speceval = "--spec-path rules.jsonl --evaluator-model gpt-4.1 --judge-model gpt-4.1-mini --output-file all.json"
    done = overnight(*f"inputs {speceval} {flags} --output-dir inputs --emulate".split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 inputs kept, for 2 statements" in done.stdout
    assert json.loads((tmp_path / "all.json").read_text())["no/0"]["dataset"][0]["raw_rating"] <= 5
    assert sorted(file.name for file in (tmp_path / "inputs").iterdir()) == ["no_0.json", "no_1.json"]
    words = "generate --spec rules.jsonl --inputs inputs --model openai/gpt-4.1 --emulate"
    used = overnight(*words.split(), cwd=tmp_path)
    assert used.returncode == 0, used.stderr
    assert "6 answered" in used.stdout
    assert "--use-likert-prompts: without --likert-prompt-dir there are no judge prompts" in done.stderr
    asked = ("--spec", "rules.jsonl", "--judge-mode", "response_judge", "--model", "gpt-4.1")
    shown = overnight("inputs", *asked, cwd=tmp_path)
    assert shown.returncode == 2
    assert "say whose with --candidate-model" in shown.stderr


def test_inputs_are_rated_by_the_judge_prompt_of_their_statement(tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text(
        "## Be kind\nThe assistant is kind to all.\n## Be brief\nIt never says too much.\n"
    )
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "be_kind_main_likert_judge.txt").write_text("Grade {kindness} by the number of kind words.")
    speceval = "--spec-path rules.md --evaluator-model gpt-4.1 --judge-model gpt-4.1-mini --judge-mode input_judge"
    few = "--num-inputs 2 --rounds 1 --scenarios-per-round 1 --inputs-per-scenario 2 --likert-prompt-dir prompts"
    done = overnight(*f"inputs {speceval} {few} --emulate --name rated".split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 of 2 statements have no judge prompt: be_brief_main; their inputs are rated as usual" in done.stderr
    bodies = [file.read_text() for file in (tmp_path / "runs/.rehearsal/rated/requests").iterdir()]
    ratings = [line for text in bodies for line in text.splitlines() if "You check an input" in line]
    by_prompt = [line for line in ratings if "Grade {kindness} by the number of kind words." in line]
    assert 0 < len(by_prompt) < len(ratings)
    assert all("kind to all" in line and "5: all of them fully" not in line for line in by_prompt)
    assert all("5: all of them fully" in line for line in ratings if line not in by_prompt)
    (prompts / "be_kind_main_likert_judge.txt").write_text("Another one.")
    again = overnight(*f"inputs {speceval} {few} --emulate --name rated".split(), cwd=tmp_path)
    assert again.returncode == 2
    assert "prompt_files" in again.stderr
