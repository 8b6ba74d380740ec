"""A plan counts further turns and later stages: their requests, and what they cost at most and usually."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from overnight.api import ArmPlan, Plan, plan
from overnight.api.plans.cost_notes import cost_notes
from overnight.api.plans.experience import USUAL_ANSWER
from overnight.core.ask import Arm, Ask, Message, Model, Options
from overnight.engine.batch.outbox import line_overhead
from overnight.providers import batch_format, vendor
from overnight.study import Study

# A dollar for each million tokens in, ten for each million out; and what a request is measured by.
PRICES = "openai/gpt-4.1-mini: {input: 1, output: 10, batch: 1}\nopenai/gpt-4.1: {input: 2, output: 20, batch: 1}\n"
TOKENS_PER_BYTE, MARGIN, FLOOR = 0.28, 1.25, 16
MINI, FULL = {"model": "openai/gpt-4.1-mini", "max_tokens": 100}, {"model": "openai/gpt-4.1", "max_tokens": 40}
FIRST = {"task": "generate", "items": [{"ID": "a", "text": "x"}], "prompt": "Say {text}.", "models": [MINI]}


@pytest.fixture(autouse=True)
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES)


def planned(*stages: dict[str, Any], **study: Any) -> Plan:
    named = [{"name": name, **stage} for name, stage in zip(("one", "two", "three"), stages, strict=False)]
    return plan(Study(name="s", stages=named, prices="prices.yaml", **study))


def size_of(name: str, most: int, *said: str) -> int:
    """Bytes of a request line with these messages, the user's and the model's in turn."""
    arm, body = body_of(name, most, *said)
    return body + line_overhead(batch_format(vendor("openai")), arm.model)


def expected_tokens(name: str, most: int, *said: str, answers: float = 0) -> float:
    """Of the request itself: what is around it in a batch's file is no text."""
    return body_of(name, most, *said)[1] * TOKENS_PER_BYTE + answers


def body_of(name: str, most: int, *said: str) -> tuple[Arm, int]:
    arm = Arm(
        stage="one", name="x", template="t",
        model=Model(provider="openai", name=name, options=Options(max_tokens=most)),
    )  # fmt: skip
    roles = ("user", "assistant") * len(said)
    messages = tuple(Message(role, text) for role, text in zip(roles, said, strict=False))  # type: ignore[arg-type]
    seller = vendor("openai")
    return arm, len(seller.format.encode(Ask(arm=arm, item="a", messages=messages)))


def most_tokens(size: int, answers: int = 0) -> int:
    return ceil(size * TOKENS_PER_BYTE * MARGIN) + FLOOR + answers


def test_a_turn_has_all_answers_before_it_in_its_question() -> None:
    (arm,) = planned({**FIRST, "turns": ["Sure? {answer}", "Again."]}).arms
    sizes = [
        size_of("gpt-4.1-mini", 100, "Say x."),
        size_of("gpt-4.1-mini", 100, "Say x.", "", "Sure? "),
        size_of("gpt-4.1-mini", 100, "Say x.", "", "Sure? ", "", "Again."),
    ]
    # The first answer is in the second question twice: as what was said, and where the turn names it.
    answers = [0, 2, 3]
    assert (arm.turns, arm.rows, arm.requests, arm.batches) == (3, 3, 3, 3)
    assert arm.max_output_tokens == 300
    most = [most_tokens(size, count * 100) for size, count in zip(sizes, answers, strict=True)]
    assert arm.ceiling == sum(tokens * 1_000 + 100 * 10_000 for tokens in most)
    said = [("Say x.",), ("Say x.", "", "Sure? "), ("Say x.", "", "Sure? ", "", "Again.")]
    usual = sum(
        expected_tokens("gpt-4.1-mini", 100, *texts, answers=count * 100)
        for texts, count in zip(said, answers, strict=True)
    )
    assert USUAL_ANSWER > 100
    assert (arm.input_tokens, arm.output_tokens) == (round(usual), 300)
    assert arm.expected == round(usual * 1_000 + 300 * 10_000)


def test_a_study_without_turns_costs_what_its_questions_do() -> None:
    one, three = planned(FIRST), planned({**FIRST, "turns": ["Sure?", "Again."]})
    assert one.ceiling is not None
    assert three.ceiling is not None
    assert three.ceiling > 3 * one.ceiling
    assert one.ceiling == most_tokens(size_of("gpt-4.1-mini", 100, "Say x.")) * 1_000 + 100 * 10_000


def test_requests_of_many_sizes_are_added_up_one_by_one() -> None:
    texts = ["word " * (1 + number * 7 % 31) + str(number) for number in range(250)]
    items = [{"ID": str(number), "text": text} for number, text in enumerate([*texts, texts[7]])]
    (arm,) = planned({**FIRST, "items": items, "batch": {"max_requests": 3}}).arms
    said = [f"Say {text}." for text in texts]
    sizes = [size_of("gpt-4.1-mini", 100, text) for text in said]
    assert (arm.rows, arm.shared, arm.requests, arm.batches) == (251, 1, 250, 84)
    assert (arm.bytes, arm.max_output_tokens) == (sum(sizes), 250 * 100)
    assert arm.ceiling == sum(most_tokens(size) * 1_000 + 100 * 10_000 for size in sizes)
    usual = sum(expected_tokens("gpt-4.1-mini", 100, text) for text in said)
    assert (arm.input_tokens, arm.output_tokens) == (round(usual), 250 * 100)
    assert arm.expected == round(usual * 1_000 + 250 * 100 * 10_000)
    assert arm.largest == round(max(expected_tokens("gpt-4.1-mini", 100, text) for text in said))


def test_a_later_stage_has_the_answers_it_names_in_its_questions() -> None:
    judge = {"task": "generate", "of": "one", "prompt": "Rate {answer} on {text}.", "models": [FULL], "replicates": 2}
    first, second = planned({**FIRST, "replicates": 3}, judge).arms
    assert (first.requests, second.rows, second.requests, second.of) == (3, 6, 6, "one")
    size = size_of("gpt-4.1", 40, "Rate  on x.")
    assert second.ceiling == 6 * (most_tokens(size, 100) * 2_000 + 40 * 20_000)
    tokens = expected_tokens("gpt-4.1", 40, "Rate  on x.", answers=100)
    assert second.expected == round(6 * (tokens * 2_000 + 40 * 20_000))


def test_a_group_is_one_question_with_all_answers_in_it() -> None:
    judge = {"task": "generate", "of": "one", "group": "item", "prompt": "Best of {answers}?", "models": [FULL]}
    items = [{"ID": name, "text": name} for name in "abc"]
    first, second = planned({**FIRST, "items": items, "replicates": 2}, judge).arms
    assert (first.requests, second.requests) == (6, 3)
    size = size_of("gpt-4.1", 40, 'Best of ["",""]?')
    assert second.ceiling == 3 * (most_tokens(size, 200) * 2_000 + 40 * 20_000)


def test_stages_after_stages_are_counted_too() -> None:
    judge = {"task": "generate", "of": "one", "prompt": "Rate {answer}.", "models": [FULL]}
    third = {"task": "generate", "of": "two", "prompt": "{answer} is right?", "models": [MINI]}
    arms = planned(FIRST, judge, third).arms
    size = size_of("gpt-4.1-mini", 100, " is right?")
    assert arms[2].ceiling == most_tokens(size, 40) * 1_000 + 100 * 10_000


def test_an_answer_without_an_end_makes_what_follows_unknown() -> None:
    judge = {"task": "generate", "of": "one", "prompt": "Rate {answer}.", "models": [FULL]}
    endless = {**FIRST, "models": ["openai/gpt-4.1-mini"]}
    first, second = planned(endless, judge).arms
    assert (first.ceiling, second.ceiling) == (None, None)
    assert second.expected == round(expected_tokens("gpt-4.1", 40, "Rate .", answers=USUAL_ANSWER) * 2_000 + 800_000)
    unnamed = {**judge, "prompt": "Rate {text}."}
    assert planned(endless, unnamed).arms[1].ceiling is not None
    assert planned(endless, judge, budget={"total": 5, "output_tokens": 50}).ceiling is not None
    # What `run` would refuse is told before.
    refused = "budget: nothing is sent before answers have a limit, because one could cost anything"
    assert refused in planned(endless, judge, budget={"total": 5}).cost_notes
    assert refused in planned(endless, judge, budget={"stages": {"one": 5}}).cost_notes
    assert refused not in planned(endless, judge).cost_notes
    assert refused not in planned(endless, judge, budget={"total": 5, "output_tokens": 50}).cost_notes


def test_rows_of_pairs_that_are_chosen_in_rounds_are_handed_on_too() -> None:
    items = [{"ID": name, "text": f"Essay {name}."} for name in "abcd"]
    pairs = {"task": "compare", "items": items, "models": [MINI], "pairs": {"select": "adaptive", "n": 5}}
    judge = {"task": "generate", "of": "one", "prompt": "Rate {answer}.", "models": [FULL]}
    first, second = planned(pairs, judge).arms
    assert (first.requests, second.requests) == (5, 5)
    assert second.ceiling == 5 * (most_tokens(size_of("gpt-4.1", 40, "Rate ."), 100) * 2_000 + 40 * 20_000)


def test_pairs_that_are_chosen_in_rounds_travel_round_by_round() -> None:
    items = [{"ID": f"{number}", "text": f"Essay {number}."} for number in range(10)]
    pairs = {"task": "compare", "items": items, "models": [MINI], "pairs": {"select": "adaptive", "n": 20, "rounds": 3}}
    (arm,) = planned(pairs).arms
    assert arm.rounds == ((7, 1), (7, 1), (6, 1))
    assert arm.batches == 3
    (cut,) = planned({**pairs, "batch": {"max_requests": 4}}).arms
    assert cut.rounds == ((7, 2), (7, 2), (6, 2))
    (live,) = planned(pairs, mode="live").arms
    assert (live.rounds, live.batches) == (((7, 0), (7, 0), (6, 0)), 0)


def test_equal_questions_share_what_follows() -> None:
    items = [{"ID": name, "text": "x"} for name in "ab"]
    judge = {"task": "generate", "of": "one", "prompt": "Rate {answer}.", "models": [FULL]}
    first, second = planned({**FIRST, "items": items, "turns": ["Sure?"]}, judge).arms
    assert (first.rows, first.requests, first.shared) == (4, 2, 2)
    assert (second.rows, second.requests, second.shared) == (2, 1, 1)


def test_arms_that_share_a_first_question_go_on_by_themselves() -> None:
    """Two equal questions: each arm's later turns are its own, and shared only with those of the same arm."""
    items = [{"ID": name, "question": "Is it safe?"} for name in "ab"]
    talk = {"task": "pressure", "items": items, "levels": 2, "control": True, "models": [MINI]}
    pressed, control = planned(talk).arms
    assert (pressed.rows, pressed.requests, pressed.shared) == (6, 3, 3)
    assert (control.rows, control.requests, control.shared) == (6, 2, 4)


def test_for_programs_and_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from overnight.cli import main

    # A wide terminal has more columns.
    monkeypatch.setenv("COLUMNS", "80")
    judge = {"task": "generate", "of": "one", "prompt": "Rate {answer}.", "models": [FULL]}
    stages = [{"name": "one", **FIRST, "turns": ["Sure?"]}, {"name": "two", **judge}]
    Path("s.yaml").write_text(json.dumps({"name": "s", "stages": stages, "prices": "prices.yaml"}))
    assert main(["plan", "s.yaml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:5] == ["arm", "turns", "rows", "requests", "batches"]
    assert [line.split()[-7:-3] for line in lines[1:3]] == [["2", "2", "2", "2"], ["1", "1", "1", "1"]]
    assert lines[-1].endswith("; nothing was sent")
    assert ", about $0.00" in lines[-1]
    assert main(["plan", "s.yaml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["arms"]
    assert [(arm["turns"], arm["requests"], arm["expected"] > 0) for arm in told] == [(2, 2, True), (1, 1, True)]


def test_notes_that_differ_in_numbers_only_are_one() -> None:
    def arm(model: str, **fields: Any) -> ArmPlan:
        return ArmPlan(
            stage="s", arm=model, provider="openai", model=model, expected=1, ceiling=1, max_output_tokens=1, **fields
        )

    seen = "the mean of {} answers in this run"
    arms = [
        arm(
            "a", usual_from=f"1,063 tokens an answer, {seen.format(10)}", tokens_from="4.0 bytes a token, an assumption"
        ),
        arm("b", usual_from=f"510 tokens an answer, {seen.format(30)}", tokens_from="4.0 bytes a token, an assumption"),
        arm("c", usual_from="300 tokens an answer, an assumption", tokens_from="4.0 bytes a token, an assumption"),
    ]
    assert list(cost_notes(arms, 3, None, ready=False)) == [
        "about: counted with 510 to 1,063 tokens an answer, the mean of 10 to 30 answers in this run (a, b)",
        "about: counted with 300 tokens an answer, an assumption (c)",
        "tokens: 4.0 bytes a token, an assumption",
    ]
