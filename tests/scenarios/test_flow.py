"""Turns, stages, rounds: what follows from an answer is asked once, with the real answer in it, whatever happens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scenarios import bisection
from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts

ROUND_PARTS = parts(4, sampled=1)
TALK_PARTS = parts(6, sampled=1)
SEARCH = "scenarios.bisection:search"
# The model says back what it is asked, so that every conversation can be read in the answers.
ECHO = {
    "answer_with": {
        r"Rate this: (.*)$": r"rated [\1]",
        r"Really\? You said (.*)$": r"yes really [\1]",
        r"And (.*) again\?$": r"again [\1]",
        r"Name thing number (\d+)\.": r"thing \1",
    }
}


def talk(one: Scenario, rows: int = 4, **fields: Any) -> str:
    """Three turns about each item, then a judge who reads the last answer."""
    stages = [
        {
            "name": "talk",
            "task": "generate",
            "items": "night.jsonl",
            "prompt": "Name {text}.",
            "turns": ["Really? You said {answer}", "And {text} again?"],
            "models": ["openai/gpt-4.1-mini"],
        },
        {
            "name": "judge",
            "task": "generate",
            "of": "talk",
            "prompt": "Rate this: {answer}",
            "models": ["openai/gpt-4.1"],
        },
    ]
    one.study(rows)
    return one.write({"name": "night", "stages": stages, "batch": {"max_requests": 2}, **fields})


def test_follow_ups_contain_the_models_real_answers(scenario: Callable[..., Scenario]) -> None:
    one = scenario(ECHO)
    ending = one.run(talk(one))
    assert ending.state == "done", ending
    table = one.table()
    assert table.height == 4 * 3 + 4
    for n in range(4):
        mine = table.filter((pl.col("stage") == "talk") & (pl.col("item_id") == f"item {n:05d}")).sort("turn")
        assert mine["answer"].to_list() == [
            f"thing {n}",
            f"yes really [thing {n}]",
            f"again [thing number {n}]",
        ]
    judged = table.filter(pl.col("stage") == "judge").sort("item_id")
    assert judged["answer"].to_list() == [f"rated [again [thing number {n}]]" for n in range(4)]
    assert judged["item_id"][0] == "item 00000@prompt__openai__gpt-4.1-mini__default__forward"
    one.assert_paid_once()


def test_a_row_that_shares_a_settled_answer_goes_on_at_once(scenario: Callable[..., Scenario]) -> None:
    """Its item and the item of the stage after it are kept in one transaction."""
    same = {r"Name .*$": "a thing", r"Rate this: (.*)$": r"rated [\1]", r"Once more: (.*)$": r"again [\1]"}
    one = scenario({"answer_with": same})
    stage = {"task": "generate", "models": ["openai/gpt-4.1-mini"]}
    stages = [
        {**stage, "name": "say", "items": "night.jsonl", "prompt": "Name {text}."},
        {**stage, "name": "rate", "of": "say", "prompt": "Rate this: {answer}"},
        {**stage, "name": "again", "of": "rate", "prompt": "Once more: {answer}"},
    ]
    for rows in (1, 2):
        one.study(rows)
        ending = one.run(one.write({"name": "night", "stages": stages}))
        assert ending.state == "done", ending
    assert one.table().group_by("stage").len().sort("stage").rows() == [("again", 2), ("rate", 2), ("say", 2)]
    assert len(one.batches()) == 4  # what is said is named twice, and rated and read again once


def test_a_thread_whose_turn_failed_stops_and_is_not_judged(scenario: Callable[..., Scenario]) -> None:
    broken = {"on": "row", "do": "error", "status": 400, "where": "You said thing 2"}
    one = scenario(ECHO, faults=[broken])
    assert one.run(talk(one)).state == "rows failed"
    table = one.table()
    assert table.filter(pl.col("stage") == "talk").height == 11
    assert table.filter(pl.col("status") == "failed").select("item_id", "turn").rows() == [("item 00002", 1)]
    judged = table.filter(pl.col("stage") == "judge")["item_id"].to_list()
    assert len(judged) == 3
    assert not any(item.startswith("item 00002") for item in judged)


def test_a_thread_goes_on_when_its_failed_turn_is_asked_again(scenario: Callable[..., Scenario]) -> None:
    broken = {"on": "row", "do": "error", "status": 400, "where": "You said thing 2", "times": 1}
    one = scenario(ECHO, faults=[broken])
    study = talk(one)
    assert one.run(study).state == "rows failed"
    assert one.run(study, reask="failed").state == "done"
    table = one.table()
    assert table.group_by("stage").len().sort("stage").rows() == [("judge", 4), ("talk", 12)]
    judged = table.filter(pl.col("stage") == "judge").sort("item_id")["answer"].to_list()
    assert judged == [f"rated [again [thing number {n}]]" for n in range(4)]


@pytest.mark.parametrize("timeout", [600, 1_500])
def test_no_run_is_done_while_more_follows(scenario: Callable[..., Scenario], timeout: int) -> None:
    """Time may be up between an answer and the question that follows from it."""
    one = scenario(ECHO)
    study = talk(one, 2)
    for number in range(80):
        # A busy machine gets nowhere in a moment: later passes have longer.
        ending = one.run(study, timeout=timeout * (1 + number // 10))
        if ending.state == "done":
            break
        assert ending.state == "running", ending
    assert ending.state == "done", ending
    assert one.table().height == 2 * 3 + 2


def test_a_later_stage_starts_while_the_first_is_running(scenario: Callable[..., Scenario]) -> None:
    slow = {"on": "batch", "do": "slow", "seconds": 9000, "model": "gpt-4.1-mini", "times": 1}
    one = scenario({**ECHO, "time_scale": 2000}, faults=[slow])
    one.study(4)
    path = one.write(
        {"name": "night", "stages": _two_stages(when="landed"), "batch": {"max_requests": 1}, "gather": "1s"}
    )
    assert one.run(path).state == "done"
    events = pl.DataFrame(_events(one))
    last_answer = events.filter(pl.col("kind") == "ended", pl.col("stage") == "first")["at"].max()
    judges = events.filter(pl.col("kind") == "creating", pl.col("stage") == "second")["at"].sort()
    assert judges.len() >= 2
    assert judges[0] < last_answer


def test_a_stage_may_wait_until_the_first_is_done(scenario: Callable[..., Scenario]) -> None:
    one = scenario(ECHO)
    one.study(4)
    path = one.write({"name": "night", "stages": _two_stages(when="done"), "batch": {"max_requests": 1}})
    assert one.run(path).state == "done"
    judges = [batch for batch in one.batches() if batch["model"] == "gpt-4.1"]
    firsts = [batch for batch in one.batches() if batch["model"] == "gpt-4.1-mini"]
    assert min(batch["created_at"] for batch in judges) > max(batch["created_at"] for batch in firsts)
    assert len(judges) == 4


def _two_stages(when: str) -> list[dict[str, Any]]:
    return [
        {"name": "first", "task": "generate", "items": "night.jsonl", "prompt": "Name {text}.",
         "models": ["openai/gpt-4.1-mini"]},
        {"name": "second", "task": "generate", "of": "first", "when": when, "prompt": "Rate this: {answer}",
         "models": ["openai/gpt-4.1"]},
    ]  # fmt: skip


def _events(one: Scenario) -> list[dict[str, Any]]:
    return [event._asdict() for event in one.events()]


def test_refusals_are_handed_on_when_asked_for(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"answers": {"refused": 1.0}})
    stages = _two_stages(when="landed")
    stages[1]["take"] = ["answered", "refused"]
    one.study(3)
    one.run(one.write({"name": "night", "stages": stages}))
    assert one.table().filter(pl.col("stage") == "second").height == 3


def test_the_task_decides_after_every_settled_turn(scenario: Callable[..., Scenario]) -> None:
    broken = {"on": "row", "do": "error", "status": 400, "where": "Please sing", "times": 1}
    one = scenario({"answers": {"refused": 1.0}}, faults=[broken])
    assert one.call("scenarios.insisting:insist").state == "done"
    rows = one.table().select("item_id", "turn", "status", "before").rows()
    refused = [(0, "refused", None), (1, "refused", "refused"), (2, "refused", "refused")]
    failed = [(0, "failed", None), (1, "refused", "failed"), (2, "refused", "refused")]
    assert rows == [(item, *row) for item in "abc" for row in (failed if item == "a" else refused)]
    one.assert_paid_once()


def test_the_whole_conversation_is_handed_on(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"answer_with": {r"(?s)All: (.*)$": r"\1", **ECHO["answer_with"]}})
    study = json.loads(Path(talk(one, 2)).read_text())
    study["stages"][0]["system"] = "You name {text}."
    study["stages"][1] |= {"prompt": "All: {conversation}", "models": ["openai/gpt-4.1"]}
    assert one.run(one.write(study)).state == "done"
    judged = one.table().filter(pl.col("stage") == "judge")["answer"].to_list()
    assert [json.loads(text) for text in judged] == [
        [
            {"role": "system", "content": f"You name thing number {n}."},
            {"role": "user", "content": f"Name thing number {n}."},
            {"role": "assistant", "content": f"thing {n}"},
            {"role": "user", "content": f"Really? You said thing {n}"},
            {"role": "assistant", "content": f"yes really [thing {n}]"},
            {"role": "user", "content": f"And thing number {n} again?"},
            {"role": "assistant", "content": f"again [thing number {n}]"},
        ]
        for n in range(2)
    ]


def test_rounds_take_the_one_path_there_is(scenario: Callable[..., Scenario]) -> None:
    one = scenario(bisection.truth())
    assert one.call(SEARCH).state == "done"
    table = one.table()
    assert table.height == 20
    asked = {name: sorted(m for m, _ in bisection.middles(secret)) for name, secret in bisection.SECRETS.items()}
    for name, middles in asked.items():
        mine = table.filter(pl.col("item_id").str.starts_with(f"{name}:"))
        assert sorted(mine["asked"].to_list()) == middles
    one.assert_paid_once()


def test_a_round_closes_at_its_deadline_and_late_answers_are_kept_unused(scenario: Callable[..., Scenario]) -> None:
    late = {"on": "batch", "do": "slow", "seconds": 20_000, "times": 1}
    one = scenario({**bisection.truth(), "time_scale": 5000}, faults=[late])
    # Nobody answers the first round in time, so the second one has to ask the same again.
    ending = one.call(SEARCH, 1, 5000.0)
    assert ending.state == "done", ending
    table = one.table()
    assert table["status"].to_list() == ["answered", "answered"]
    with one.ledger() as view:
        assert view.rounds.left_out(1, 0) == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("part", ROUND_PARTS)
def test_rounds_killed_between_steps_take_the_same_path(
    scenario: Callable[..., Scenario], part: int, tmp_path: Path
) -> None:
    undisturbed = scenario(bisection.truth())
    log = tmp_path / "checkpoints"
    undisturbed.call(SEARCH, environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    names, expected = log.read_text().splitlines(), undisturbed.table_digest()
    undisturbed.close()
    for number in kills(len(names), part, len(ROUND_PARTS), sample=8):
        one = scenario(bisection.truth())
        one.call(SEARCH, environ={"OVERNIGHT_KILL_AT": str(number)})
        again = one.call(SEARCH)
        assert again.state == "done", (number, names[number - 1], again)
        assert one.table_digest() == expected, (number, names[number - 1])
        one.assert_paid_once()
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize("part", TALK_PARTS)
def test_two_stages_of_three_turns_survive_any_kill(
    scenario: Callable[..., Scenario], part: int, tmp_path: Path
) -> None:
    faults = [{"on": "create", "do": "drop_answer", "times": 1}]
    undisturbed = scenario(ECHO, faults=faults)
    log = tmp_path / "checkpoints"
    undisturbed.run(talk(undisturbed), environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    names, expected = log.read_text().splitlines(), undisturbed.table_digest()
    undisturbed.close()
    for number in kills(len(names), part, len(TALK_PARTS), sample=8):
        one = scenario(ECHO, faults=faults)
        study = talk(one)
        one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        again = one.run(study)
        assert again.state == "done", (number, names[number - 1], again)
        assert one.table_digest() == expected, (number, names[number - 1])
        one.assert_paid_once()
        one.close()
