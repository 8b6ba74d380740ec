"""Mistral's rows: bodies as text, thoughts in parts, and ends of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from overnight.core.ask import Model, Options
from overnight.core.result import Result
from overnight.providers import vendor
from overnight.providers.mistral.rows import decode
from providers.asking import ask

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def read(status: int, body: Any) -> Result:
    line = {"id": "b-1", "custom_id": "x", "response": {"status_code": status, "body": body}, "error": None}
    found = decode(json.dumps(line).encode())
    assert found.custom_id == "x"
    assert found.result is not None
    return found.result


def completion(content: Any, reason: str = "stop") -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": reason}],
        "usage": USAGE,
    }


@pytest.mark.parametrize(
    ("status", "said", "cause"),
    [
        (400, json.dumps({"detail": "Bad words."}), "invalid_request"),
        (422, json.dumps({"detail": [{"msg": "Bad words.", "loc": ["body"]}]}), "invalid_request"),
        (429, json.dumps({"object": "error", "message": "Bad words.", "type": "rate"}), "rate_limited"),
        (500, json.dumps({"error": {"message": "Bad words."}}), "server_error"),
        (400, "Bad words.", "invalid_request"),
    ],
)
def test_a_failed_row_has_its_body_as_text(status: int, said: str, cause: str) -> None:
    result = read(status, said)
    assert (result.outcome, result.cause) == ("failed", cause)
    assert "Bad words." in str(result.detail)


def test_an_answer_as_text_is_still_an_answer() -> None:
    result = read(200, json.dumps(completion("A plum.")))
    assert (result.outcome, result.answer, result.usage.output) == ("answered", "A plum.", 5)


def test_thoughts_come_apart_from_the_answer() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Fruit? "}, {"type": "text", "text": "Plum."}]},
        {"type": "text", "text": "A plum."},
    ]
    result = read(200, completion(parts))
    assert (result.outcome, result.answer, result.thoughts) == ("answered", "A plum.", "Fruit? Plum.")
    assert result.usage.input == 10


def test_ends_of_its_own() -> None:
    cut = read(200, completion("A pl", "model_length"))
    assert (cut.outcome, cut.cause, cut.answer) == ("truncated", "max_tokens", "A pl")
    broken = read(200, completion("A pl", "error"))
    assert (broken.outcome, broken.cause, broken.usage.output) == ("failed", "server_error", 5)


def test_options_have_their_names() -> None:
    model = Model(
        provider="mistral",
        name="magistral-medium-latest",
        options=Options(seed=4, thinking="low", extra={"timeout_hours": 48}),
    )
    mistral = vendor("mistral")
    body = json.loads(mistral.format.encode(ask(model, "Hello.")))
    assert body["random_seed"] == 4
    assert body["reasoning_effort"] == "low"
    assert not {"seed", "timeout_hours"} & set(body)
    assert mistral.format.problems(model) == []
    hot = Model(provider="mistral", name="m", options=Options(temperature=1.8, extra={"timeout_hours": 200}))
    assert mistral.format.problems(hot) == [
        "temperature: 1.8 is more than mistral takes; wanted 0 to 1.5",
        "extra: `timeout_hours` is '200'; wanted 1 to 168",
    ]
