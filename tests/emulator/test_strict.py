"""Strict mode: what kills a real batch before any model is asked, refused in the provider's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest
from driving import chat_body, ended, line, rows
from google.genai import errors
from google_driving import (
    close_clients,  # noqa: F401 - a fixture
    gemini_client,
    request,
)
from messaging import Connect, connecting, params
from openai import OpenAI

from emulator_process import EmulatorProcess

OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CLOSED = {**OPEN, "additionalProperties": False}
NESTED = {**CLOSED, "properties": {"a": {"type": "array", "items": OPEN}}}
PARTLY = {**CLOSED, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}


@pytest.fixture(scope="module")
def strict() -> Iterator[EmulatorProcess]:
    truth = {"latency": {"batch": [1000, 1000], "live": [0, 0]}, "models": {"context_tokens": {"small-*": 10}}}
    with EmulatorProcess(truth, None, "--strict") as emulator:
        yield emulator
        assert emulator.complaints() == ""


@pytest.fixture
def messages() -> Iterator[Connect]:
    yield from connecting()


def schema(described: dict[str, Any], strict: bool = True) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": described, "strict": strict}}


CHAT_REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"max_token": 5}, "unknown_parameter", "max_token"),
    ({"response_format": schema(OPEN)}, "invalid_json_schema", "additionalProperties"),
    ({"response_format": schema(NESTED)}, "invalid_json_schema", "'items'"),
    ({"response_format": schema(PARTLY)}, "invalid_json_schema", "Missing 'b'"),
    ({"messages": [{"role": "judge", "content": "x"}]}, "invalid_value", "judge"),
    ({"temperature": 2.5}, "decimal_above_max_value", "temperature"),
    ({"presence_penalty": -3}, "decimal_above_max_value", "presence_penalty"),
    ({"max_tokens": 40_000}, "invalid_value", "at most 32768"),
    ({"model": "small-model", "messages": [{"role": "user", "content": "x" * 100}]}, "context_length_exceeded", "25"),
    ({"model": "gpt-5", "frequency_penalty": 1}, "unsupported_parameter", "frequency_penalty"),
    ({"tools": [{"type": "function", "function": {"name": "f", "strict": True, "parameters": OPEN}}]},
     "invalid_function_parameters", "additionalProperties"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "code", "words"), CHAT_REFUSED)
def test_chat(
    strict: EmulatorProcess,
    shared: EmulatorProcess,
    connect: Callable[..., OpenAI],
    more: dict[str, Any],
    code: str,
    words: str,
) -> None:
    body = chat_body("x") | more
    with pytest.raises(openai.BadRequestError, match=words) as refused:
        connect(strict).post("/chat/completions", body=body, cast_to=object)
    assert refused.value.code == code
    connect(shared).post("/chat/completions", body=body, cast_to=object)  # which is not strict


def test_what_is_right_passes(strict: EmulatorProcess, connect: Callable[..., OpenAI]) -> None:
    client = connect(strict)
    body = chat_body("x", response_format=schema(CLOSED), temperature=0.5, max_tokens=100)
    assert client.chat.completions.create(**body).choices
    assert client.chat.completions.create(**chat_body("x", response_format=schema(OPEN, strict=False))).choices
    with pytest.raises(openai.BadRequestError, match="Unknown parameter: 'messages'"):
        client.post("/responses", body={"model": "gpt-4.1", "input": "x", "messages": []}, cast_to=object)


def test_in_a_batch_they_are_rows(strict: EmulatorProcess, connect: Callable[..., OpenAI]) -> None:
    client = connect(strict)
    batch = ended(strict, client, [line("good", chat_body("x")), line("bad", chat_body("x", max_token=5))])
    assert [row["custom_id"] for row in rows(client, batch.output_file_id)] == ["good"]
    assert [row["custom_id"] for row in rows(client, batch.error_file_id)] == ["bad"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"n": 2}, "n: Extra inputs"),
        ({"top_p": 2}, "top_p: range"),
        ({"output_config": {"format": {"type": "json_schema", "schema": OPEN}}}, "additionalProperties"),
        ({"messages": [{"role": "user", "content": "x" * 1_000_000}]}, "prompt is too long: 250000 tokens > 200000"),
    ],
)
def test_messages(strict: EmulatorProcess, messages: Connect, more: dict[str, Any], words: str) -> None:
    client = messages(strict, default_headers={"anthropic-version": "2023-06-01"})
    with pytest.raises(anthropic.BadRequestError, match=words):
        client.post("/v1/messages", body=params("x") | more, cast_to=object)
    assert client.messages.create(**params("x")).content


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"generationConfig": {"maxTokens": 5}}, 'Unknown name "maxTokens"'),
        ({"extra": 1}, 'Unknown name "extra"'),
        ({"generationConfig": {"maxOutputTokens": 70_000}}, "70000"),
        ({"generationConfig": {"responseMimeType": "application/json", "responseSchema": {"$ref": "x"}}}, "ref"),
        ({"generationConfig": {"candidateCount": 9}}, "candidateCount"),
    ],
)
def test_google(strict: EmulatorProcess, more: dict[str, Any], words: str) -> None:
    client = gemini_client(strict)
    path = "models/gemini-2.5-flash:generateContent"
    with pytest.raises(errors.ClientError) as refused:
        client._api_client.request("post", path, request("x") | more)
    assert words in str(refused.value)
    client._api_client.request("post", path, request("x", maxOutputTokens=100))


def test_a_truth_can_say_no(emulate: Callable[..., EmulatorProcess], connect: Callable[..., OpenAI]) -> None:
    client = connect(emulate({"strict": False}, "--strict"))
    client.post("/chat/completions", body=chat_body("x", max_token=5), cast_to=object)


@pytest.mark.parametrize(
    "greedy",
    [
        {"type": "array", "minItems": 10**9},
        {"type": "string", "minLength": 10**9},
        {"type": "object", "minProperties": 10**9},
        {"type": "array", "minItems": 200, "items": {"type": "array", "minItems": 200}},
    ],
)
def test_a_schema_that_would_fill_the_memory_is_refused(client: OpenAI, greedy: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError, match="it wants"):
        client.chat.completions.create(
            **chat_body("x", response_format=schema({"type": "object", "properties": {"a": greedy}}, strict=False))
        )
