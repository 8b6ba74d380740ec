"""The messages of a request, in every provider's own form."""

from __future__ import annotations

import json

import pytest

from overnight.core.ask import Arm, Ask, Message, Model
from overnight.providers import vendor
from overnight.serving.sent_messages import messages_in

NAMES = {
    "openai": "gpt-4.1-mini",
    "anthropic": "claude-haiku-4-5",
    "gemini": "gemini-2.5-flash",
    "together": "Qwen/Qwen3-235B-A22B",
    "ollama": "llama3",
}


@pytest.mark.parametrize("provider", sorted(NAMES))
def test_each_providers_request_is_read(provider: str) -> None:
    said = (
        Message("system", "Be brief."),
        Message("user", "One?"),
        Message("assistant", "Two."),
        Message("user", "Three \u202e?"),
    )
    model = Model(provider=provider, name=NAMES[provider])
    arm = Arm(stage="talk", name="arm", template="t", model=model)
    body = vendor(provider).format.encode(Ask(arm=arm, item="1", messages=said))
    assert [(one.role, one.text) for one in messages_in(body)] == [(one.role, one.content) for one in said]


def test_a_single_text_is_the_users() -> None:
    assert messages_in(b'{"model": "gpt-5", "input": "Hello?"}') == [("user", "Hello?")]


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b'{"role": 3}', b'"text"', b"[" * 99 + b"]" * 99])
def test_what_has_none_has_none(body: bytes) -> None:
    assert messages_in(body) == []


def test_what_nests_without_end_is_given_up() -> None:
    deep: object = {"role": "user", "content": "deep"}
    for _ in range(40):
        deep = [deep]
    assert messages_in(json.dumps(deep).encode()) == []
