"""Google's own SDK against the Gemini dialect: live calls, thinking, schemas, models."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.genai import errors, types
from google_driving import (
    MODEL,
    close_clients,  # noqa: F401 - a fixture
    gemini_client,
)

from emulator_process import EmulatorProcess

SCHEMA = {
    "type": "object",
    "properties": {"label_name": {"type": "string", "enum": ["yes", "no"]}, "score": {"type": "integer"}},
    "required": ["label_name", "score"],
}


def ask(emulator: EmulatorProcess, model: str = MODEL, **config: Any) -> types.GenerateContentResponse:
    client = gemini_client(emulator)
    return client.models.generate_content(model=model, contents="Why?", config=config or None)


def test_an_answer_and_its_tokens(shared: EmulatorProcess) -> None:
    said = ask(shared, system_instruction="Be brief.", temperature=0, max_output_tokens=4000)
    assert said.text
    assert said.candidates is not None
    assert said.candidates[0].finish_reason == types.FinishReason.STOP
    assert said.usage_metadata is not None
    assert said.usage_metadata.thoughts_token_count
    assert ask(shared, system_instruction="Be brief.", temperature=0, max_output_tokens=4000).text == said.text


def test_thoughts_are_parts_of_their_own(shared: EmulatorProcess) -> None:
    said = ask(shared, thinking_config={"thinking_budget": 1024, "include_thoughts": True})
    assert said.candidates is not None
    content = said.candidates[0].content
    assert content is not None
    assert [part.thought for part in content.parts or []] == [True, None]
    plain = ask(shared, thinking_config={"thinking_budget": 0})
    assert plain.usage_metadata is not None
    assert plain.usage_metadata.thoughts_token_count is None


def test_a_limit_may_leave_nothing_but_thoughts(shared: EmulatorProcess) -> None:
    said = ask(shared, max_output_tokens=3)
    assert said.candidates is not None
    assert said.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    assert not said.text


def test_schemas_in_both_forms(shared: EmulatorProcess) -> None:
    as_json = {"response_mime_type": "application/json"}
    for form in ("response_schema", "response_json_schema"):
        said = json.loads(ask(shared, **as_json, **{form: SCHEMA}).text or "")
        assert said["label_name"] in ("yes", "no")
        assert isinstance(said["score"], int)


@pytest.mark.parametrize(
    ("model", "config", "words"),
    [
        ("gemini-2.5-flash", {"thinking_config": {"thinking_level": "LOW"}}, "level is not supported"),
        ("gemini-2.5-pro", {"thinking_config": {"thinking_budget": 0}}, "only works in thinking mode"),
        ("gemini-2.0-flash", {"thinking_config": {"thinking_budget": 100}}, "not supported"),
        ("gemini-3.7-flash", {"thinking_config": {"thinking_level": "MINIMAL"}}, "MINIMAL"),
        ("gemini-3.5-flash", {"thinking_config": {"thinking_level": "LOW", "thinking_budget": 9}}, "only one"),
        ("gemini-2.5-flash", {"temperature": 3}, "temperature"),
        ("gemini-2.5-flash", {"response_json_schema": SCHEMA}, "response_mime_type"),
    ],
)
def test_what_a_family_refuses(shared: EmulatorProcess, model: str, config: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.ClientError) as refused:
        ask(shared, model, **config)
    assert refused.value.code == 400
    assert words in (refused.value.message or "")


def test_models_and_token_counts(shared: EmulatorProcess) -> None:
    client = gemini_client(shared)
    names = [model.name for model in client.models.list(config={"page_size": 2})]
    assert f"models/{MODEL}" in names
    assert len(names) == len(set(names))
    assert client.models.get(model=MODEL).name == f"models/{MODEL}"
    assert client.models.count_tokens(model=MODEL, contents="12345678").total_tokens == 2
    with pytest.raises(errors.ClientError) as unknown:
        client.models.get(model="gemini-typo")
    assert unknown.value.code == 404


def test_refusals_and_filters(emulator: EmulatorProcess) -> None:
    with EmulatorProcess({"answers": {"refused": 1.0}, "latency": {"batch": [1, 1], "live": [0, 0]}}) as refusing:
        said = ask(refusing)
        assert said.candidates is None
        assert said.prompt_feedback is not None
        assert said.prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT
    emulator.arm([{"on": "live", "do": "status", "status": 503, "times": 1}])
    with pytest.raises(errors.ServerError) as busy:
        ask(emulator)
    assert busy.value.status == "UNAVAILABLE"
