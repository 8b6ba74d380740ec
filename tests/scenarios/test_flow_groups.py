"""Rows handed on in groups: each group once, as complete as it can get, with what is missing counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts

GROUP_PARTS = parts(4, sampled=1)
MODELS = ["openai/gpt-4.1-mini", "openai/gpt-4.1-nano"]
# What a model says tells which it is asked, and a judge repeats what it is shown.
SAYS = {
    "answer_with": {
        r"(?s)Compare: (.*)$": r"\1",
        r"Really\?$": "yes",
        r"Name thing number (\d+)\.": r"thing \1",
    }
}
BROKEN = {"on": "row", "do": "error", "status": 400, "where": "Name thing number 1.", "model": "gpt-4.1-nano"}


def study(one: Scenario, group: str, prompt: str, rows: int = 3, **first: Any) -> str:
    stages = [
        {
            "name": "answers",
            "task": "generate",
            "items": "night.jsonl",
            "prompt": "Name {text}.",
            "models": MODELS,
            **first,
        },
        {
            "name": "best",
            "task": "generate",
            "of": "answers",
            "group": group,
            "prompt": f"Compare: {prompt}",
            "models": ["openai/gpt-4.1"],
        },
    ]
    one.study(rows)
    return one.write({"name": "night", "stages": stages, "batch": {"max_requests": 2}, "gather": 0})


def judged(one: Scenario) -> list[tuple[str, Any]]:
    table = one.table().filter(pl.col("stage") == "best").sort("item_id")
    return [(name, json.loads(text)) for name, text in table.select("item_id", "answer").rows()]


def test_all_answers_to_an_item_are_one_item_of_the_later_stage(scenario: Callable[..., Scenario]) -> None:
    one = scenario(SAYS)
    ending = one.run(study(one, "item", '[{answers}, {missing}, "{text}", {members}]', replicates=2))
    assert (ending.state, ending.message) == ("done", "all rows are settled")
    found = judged(one)
    assert [name for name, _ in found] == ["item 00000", "item 00001", "item 00002"]
    for n, (name, (answers, missing, text, members)) in enumerate(found):
        assert (answers, missing, text) == ([f"thing {n}"] * 4, 0, f"thing number {n}")
        assert [(row["model"], row["replicate"]) for row in members] == [
            (model.partition("/")[2], replicate) for model in MODELS for replicate in (0, 1)
        ]
        assert {row["item_id"] for row in members} == {name}
        assert [row["conversation"][-1]["content"] for row in members] == answers


def test_what_failed_is_missing_in_its_group_and_told(scenario: Callable[..., Scenario]) -> None:
    one = scenario(SAYS, faults=[BROKEN])
    ending = one.run(study(one, "item", "[{answers}, {missing}]"))
    assert ending.state == "rows failed"
    assert ending.message.endswith("; best: 1 row is missing in its groups")
    wanted = [[["thing 0"] * 2, 0], [["thing 1"], 1], [["thing 2"] * 2, 0]]
    assert [said for _, said in judged(one)] == wanted
    assert one.status().left_out == ("best: 1 row is missing in its groups",)


def test_a_group_is_handed_on_once_though_a_row_comes_later(scenario: Callable[..., Scenario]) -> None:
    one = scenario(SAYS, faults=[{**BROKEN, "times": 1}])
    path = study(one, "item", "[{answers}, {missing}]")
    one.run(path)
    before = judged(one)
    ending = one.run(path, reask="failed")
    assert ending.state == "done"
    told = "1 row is missing in its groups, 1 row came too late for a group that was handed on"
    assert told in ending.message
    assert judged(one) == before
    one.assert_paid_once()
    assert one.run(path, as_name="copy").state == "done"
    copied = one.table("copy").filter(pl.col("stage") == "best").sort("item_id")["answer"].to_list()
    assert [json.loads(text) for text in copied] == [[[f"thing {n}"] * 2, 0] for n in range(3)]


def test_a_group_of_which_all_failed_waits_for_an_answer(scenario: Callable[..., Scenario]) -> None:
    broken = {key: value for key, value in BROKEN.items() if key != "model"}
    one = scenario(SAYS, faults=[{**broken, "times": 2}])
    path = study(one, "item", "[{answers}, {missing}]")
    assert one.run(path).state == "rows failed"
    assert [name for name, _ in judged(one)] == ["item 00000", "item 00002"]
    ending = one.run(path, reask="failed")
    assert (ending.state, ending.message) == ("done", "all rows are settled")
    assert [said for _, said in judged(one)] == [[[f"thing {n}"] * 2, 0] for n in range(3)]


def test_the_turns_of_a_conversation_are_one_item(scenario: Callable[..., Scenario]) -> None:
    one = scenario(SAYS)
    ending = one.run(study(one, "thread", "[{answers}, {missing}, {members}]", turns=["Really?"]))
    assert ending.state == "done", ending
    found = judged(one)
    assert [name.partition("@")[0] for name, _ in found] == [f"item {n:05d}" for n in range(3) for _ in MODELS]
    for name, (answers, missing, members) in found:
        assert (answers, missing) == ([f"thing {int(name[5:10])}", "yes"], 0)
        assert [(row["turn"], row["answer"], len(row["conversation"])) for row in members] == [
            (0, answers[0], 2),
            (1, "yes", 4),
        ]


def test_a_turn_that_failed_is_missing_in_its_conversation(scenario: Callable[..., Scenario]) -> None:
    broken = {"on": "row", "do": "error", "status": 400, "where": "thing number 1: Really", "times": 1}
    one = scenario(SAYS, faults=[broken])
    path = study(one, "thread", "[{answers}, {missing}]", turns=["{text}: Really?"], models=MODELS[:1])
    assert one.run(path).state == "rows failed"
    wanted = [[["thing 0", "yes"], 0], [["thing 1"], 1], [["thing 2", "yes"], 0]]
    assert [said for _, said in judged(one)] == wanted
    ending = one.run(path, reask="failed")
    assert "1 row came too late for a group" in ending.message
    assert [said for _, said in judged(one)] == wanted


@pytest.mark.slow
@pytest.mark.parametrize("part", GROUP_PARTS)
def test_groups_survive_any_kill(scenario: Callable[..., Scenario], part: int, tmp_path: Path) -> None:
    faults: Sequence[Any] = [BROKEN, {"on": "create", "do": "drop_answer", "times": 1}]
    prompt = "[{answers}, {missing}, {members}]"
    undisturbed = scenario(SAYS, faults=faults)
    log = tmp_path / "checkpoints"
    undisturbed.run(study(undisturbed, "item", prompt, turns=["Really?"]), environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    names, expected = log.read_text().splitlines(), undisturbed.table_digest()
    undisturbed.close()
    for number in kills(len(names), part, len(GROUP_PARTS), sample=6):
        one = scenario(SAYS, faults=faults)
        path = study(one, "item", prompt, turns=["Really?"])
        one.run(path, environ={"OVERNIGHT_KILL_AT": str(number)})
        again = one.run(path)
        assert again.state == "rows failed", (number, names[number - 1], again)
        assert again.message.endswith("best: 1 row is missing in its groups")
        assert one.table_digest() == expected, (number, names[number - 1])
        one.assert_paid_once()
        one.close()
