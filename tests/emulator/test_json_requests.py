"""Prompts that ask for JSON without a schema are answered with JSON of the shape that they show."""

from __future__ import annotations

import json

import pytest
from driving import chat_body

from overnight_emulator.simulate import expected_answer


def answered(prompt: str):
    return json.loads(expected_answer(7, chat_body(prompt)))


def test_an_example_is_followed():
    found = answered('List two rivers. Respond in JSON like {"rivers": [{"name": "Rhine", "km": 1230}], "sure": true}')
    assert isinstance(found["rivers"][0]["km"], int)
    assert isinstance(found["rivers"][0]["name"], str)
    assert isinstance(found["sure"], bool)


def test_a_schema_in_words_is_followed():
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 3, "maximum": 4}},
        "required": ["score"],
    }
    assert answered(f"Reply with JSON only, of this schema: {json.dumps(schema)}")["score"] in (3, 4)


def test_fields_that_are_no_json_are_found():
    assert set(answered('Return a JSON object: {"title": <a title>, "year": <a year>}')) == {"title", "year"}
    assert set(answered("Answer as a JSON object.")) == {"answer"}


def test_json_mode_follows_what_is_shown():
    def in_json_mode(prompt: str):
        return json.loads(expected_answer(7, chat_body(prompt, response_format={"type": "json_object"})))

    found = in_json_mode('Name a city. Return JSON like {"city": "a city", "people": 3}.')
    assert isinstance(found["city"], str)
    assert isinstance(found["people"], int)
    assert in_json_mode('Judge it. Answer in JSON: {"better": "A" | "B", "why": "..."}')["better"] in {"A", "B"}
    assert "[trace" in in_json_mode("Answer in JSON, please.")["answer"]


@pytest.mark.parametrize("prompt", ["What is JSON?", "Is {} an object?", "Tell me of lakes."])
def test_other_prompts_get_a_text(prompt):
    assert "[trace" in expected_answer(7, chat_body(prompt))
