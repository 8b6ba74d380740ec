"""Anthropic's live calls, driven by the official SDK."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from emulator.messaging import MODEL, Connect, connecting, params
from emulator_process import EmulatorProcess
from overnight_emulator.simulate import expected

connect = pytest.fixture(connecting)


@pytest.fixture
def client(shared: EmulatorProcess, connect: Connect) -> Anthropic:
    return connect(shared)


def test_a_message(client: Anthropic) -> None:
    asked = params("Name a lake.", system="Be brief.")
    message = client.messages.create(**asked)
    answer = expected(0, asked, dialect="anthropic")
    assert message.content[0].text == answer.text
    assert (message.stop_reason, message.usage.service_tier) == ("end_turn", "standard")
    assert (message.usage.input_tokens, message.usage.output_tokens) == (answer.input_tokens, answer.output_tokens)


def test_headers_tell_the_limits(client: Anthropic) -> None:
    reply = client.messages.with_raw_response.create(**params())
    assert int(reply.headers["anthropic-ratelimit-requests-limit"]) > 0
    assert reply.headers["anthropic-ratelimit-input-tokens-reset"].endswith("Z")
    assert reply.headers["request-id"].startswith("req_")


@pytest.mark.parametrize(
    ("model", "more", "thinks"),
    [
        (MODEL, {}, False),
        (MODEL, {"max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000}}, True),
        (
            "claude-sonnet-5",
            {"max_tokens": 9000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
            True,
        ),
        ("claude-sonnet-5", {"thinking": {"type": "disabled"}}, False),
        ("claude-opus-5-5", {"max_tokens": 9000}, True),
    ],
)
def test_thoughts_are_blocks_of_their_own(client: Anthropic, model: str, more: dict[str, Any], thinks: bool) -> None:
    message = client.messages.create(**params(**{"model": model, **more}))
    assert [block.type for block in message.content] == (["thinking", "text"] if thinks else ["text"])
    assert (message.usage.output_tokens_details.thinking_tokens > 0) == thinks


@pytest.mark.parametrize(
    ("model", "more", "words"),
    [
        (MODEL, {"thinking": {"type": "enabled", "budget_tokens": 1000}}, "at least 1024"),
        (MODEL, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "must be greater"),
        (MODEL, {"output_config": {"effort": "low"}}, "not supported"),
        ("claude-opus-5-5", {"thinking": {"type": "disabled"}}, "thinking.type.disabled"),
        ("claude-opus-5", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking.type.enabled"),
        ("claude-opus-5", {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}}, "at most high"),
        (MODEL, {"extra_body": {"temperature": 1}}, "temperature"),
        (MODEL, {"output_config": {"format": {"type": "json_object"}}}, "json_schema"),
        (MODEL, {"messages": []}, "at least one message"),
    ],
)
def test_what_a_family_refuses(client: Anthropic, model: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match=words):
        client.messages.create(**params(**{"model": model, **more}))


def test_structured_output_fits_its_schema(client: Anthropic) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["first", "second"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    message = client.messages.create(**params(output_config={"format": {"type": "json_schema", "schema": schema}}))
    assert json.loads(message.content[0].text)["verdict"] in ("first", "second")


def test_limits_and_stop_sequences_end_an_answer(client: Anthropic) -> None:
    cut = client.messages.create(**params(max_tokens=3))
    assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", 3)
    stopped = client.messages.create(**params(stop_sequences=["[trace"]))
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "[trace")
    assert "[trace" not in stopped.content[0].text


def test_only_what_asks_for_it_is_cached(client: Anthropic) -> None:
    system = [{"type": "text", "text": "Be brief. " * 800, "cache_control": {"type": "ephemeral"}}]
    seen = [client.messages.create(**params(f"Question {n}?", system=system)).usage for n in range(12)]
    assert any(usage.cache_read_input_tokens for usage in seen)
    assert any(usage.cache_creation_input_tokens for usage in seen)
    sums = {usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens for usage in seen}
    assert max(sums) - min(sums) <= 1
    plain = client.messages.create(**params(system="Be brief. " * 800)).usage
    assert (plain.cache_read_input_tokens, plain.cache_creation_input_tokens) == (0, 0)


def test_refusals_are_answers(emulate: Callable[..., EmulatorProcess], connect: Connect) -> None:
    client = connect(emulate({"answers": {"refused": 0.5, "filtered": 0.5}}))
    seen = [client.messages.create(**params(f"Question {n}?")) for n in range(10)]
    assert {message.stop_reason for message in seen} == {"refusal"}
    assert {message.stop_details.category for message in seen} == {None, "general_harms"}


def test_tokens_are_counted_and_models_listed(client: Anthropic) -> None:
    assert client.messages.count_tokens(model=MODEL, messages=params("x" * 40)["messages"]).input_tokens == 10
    listed = list(client.models.list())
    assert MODEL in [model.id for model in listed]
    shown = client.models.retrieve("claude-opus-5-5").capabilities
    assert (shown.batch.supported, shown.thinking.types.adaptive.supported) == (True, True)
    assert not shown.thinking.types.disabled.supported
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("claude-typo-typo")


def test_keys_and_versions(emulate: Callable[..., EmulatorProcess], connect: Connect) -> None:
    keys = {"refuse": ["sk-dead"], "no_credit": ["sk-poor"], "hard_limit": ["sk-capped"]}
    emulator = emulate({"keys": keys})
    with pytest.raises(anthropic.AuthenticationError):
        connect(emulator, api_key="sk-dead").models.list()
    with pytest.raises(anthropic.BadRequestError, match="credit balance"):
        connect(emulator, api_key="sk-poor").messages.create(**params())
    with pytest.raises(anthropic.RateLimitError) as caught:
        connect(emulator, api_key="sk-capped").messages.create(**params())
    assert caught.value.body["error"]["details"]["error_code"] == "enforced_spend_limit_reached"
    with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
        connect(emulator, default_headers={"anthropic-version": "2019-01-01"}).models.list()
    both = {"X-Api-Key": "sk-dead"}
    with pytest.raises(anthropic.AuthenticationError):
        connect(emulator, default_headers=both).models.list()
