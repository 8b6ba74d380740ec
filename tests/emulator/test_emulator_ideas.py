"""Lists of texts that a model is asked to invent, and what a judge makes of them."""

from __future__ import annotations

import json
import re

from overnight_emulator.answers.answering import Models, Prompt, Turn
from overnight_emulator.truth import Ideas, Truth

LIST = {"type": "object", "properties": {"inputs": {"type": "array", "items": {"type": "string"}}}}
GRADE = {
    "type": "object",
    "properties": {"usable": {"type": "boolean"}, "rating": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
}


def said(truth: Truth, text: str, schema: object = None, digest: bytes = b"x") -> str:
    return Models(truth).answer(Prompt("gpt-4.1", (Turn("user", text),), digest, schema=schema)).text


def invented(text: str, digest: bytes = b"x", **ideas: float) -> list[str]:
    listed = json.loads(said(Truth(ideas=Ideas(**ideas)), text, LIST, digest))["inputs"]
    assert isinstance(listed, list)
    return listed


def difficulty(text: str) -> float:
    found = re.search(r"\[idea (\d\.\d\d) ", text)
    assert found is not None
    return float(found[1])


def test_as_many_are_invented_as_are_asked_for_and_no_two_are_alike() -> None:
    listed = invented("Write 40 inputs.", repeated=0.0)
    assert len(set(listed)) == len(listed) == 40
    assert abs(sum(map(difficulty, listed)) / 40 - 0.4) < 0.06
    shown = json.loads(said(Truth(), 'Please list 4 of them: {"texts": [{"category": "...", "text": "..."}, ...]}'))
    assert [sorted(one) for one in shown["texts"]] == [["category", "text"]] * 4


def test_new_ones_are_harder_than_those_that_are_shown() -> None:
    shown = " ".join(invented("Write 5 inputs.", difficulty=0.5, spread=0.0))
    assert {difficulty(one) for one in invented(f"Write 5 like {shown}", spread=0.0, gain=0.2)} == {0.7}


def test_repetitions_and_useless_ones_come_as_often_as_the_truth_says() -> None:
    listed = [one for n in range(20) for one in invented("Write 20 inputs.", bytes([n]), repeated=0.3, useless=0.2)]
    assert abs(sum(one.startswith("Please: ") for one in listed) / 400 - 0.3 * 0.95) < 0.07
    fresh = [one for one in listed if not one.startswith("Please: ")]
    assert abs(sum("useless" in one for one in fresh) / len(fresh) - 0.2) < 0.07


def test_a_judge_grades_by_the_difficulty() -> None:
    for exact in (0.0, 0.5, 1.0):
        (text,) = invented("Write 1 input.", difficulty=exact, spread=0.0, useless=0.0)
        given = [json.loads(said(Truth(), f"Grade this: {text}", GRADE, bytes([n]))) for n in range(30)]
        assert all(one["usable"] for one in given)
        assert abs(sum(one["rating"] for one in given) / 30 - (5 - 4 * exact)) < 0.6
    (useless,) = invented("Write 1 input.", useless=1.0)
    assert json.loads(said(Truth(), f"Grade this: {useless}", GRADE))["usable"] is False
