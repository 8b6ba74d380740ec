"""Together's live calls, driven by the official SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import together
from together import Together

from emulator_process import EmulatorProcess

MODEL = "Qwen/Qwen3-235B-A22B"


@pytest.fixture
def client(shared: EmulatorProcess) -> Iterator[Together]:
    with Together(api_key="any", base_url=f"{shared.url}/together/v1", max_retries=0) as one:
        yield one


def ask(client: Together, text: str = "Name a lake.", **more: Any) -> Any:
    return client.chat.completions.create(**{"model": MODEL, "messages": [{"role": "user", "content": text}], **more})


def test_a_question_is_answered(client: Together) -> None:
    answer = ask(client)
    assert "lake" in answer.choices[0].message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_models_are_a_bare_list(client: Together) -> None:
    assert MODEL in [model.id for model in client.models.list()]


def test_an_unknown_model_is_not_found(client: Together) -> None:
    with pytest.raises(together.NotFoundError):
        ask(client, model="qwen-typo")


def test_limits_are_told_by_the_second_and_kept(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"time_scale": 1, "limits": {"requests_per_minute": {MODEL: 3}}})
    with Together(api_key="any", base_url=f"{emulator.url}/together/v1", max_retries=0) as client:
        told = client.chat.completions.with_raw_response.create(
            model=MODEL, messages=[{"role": "user", "content": "x"}]
        )
        assert told.headers["x-ratelimit-limit"] == "0.05"
        ask(client, "y")
        ask(client, "z")
        with pytest.raises(together.RateLimitError) as refused:
            ask(client, "too soon")
    assert 1 <= int(refused.value.response.headers["retry-after"]) <= 20
