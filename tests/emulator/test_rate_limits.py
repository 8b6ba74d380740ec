"""Limits on live calls, met by each provider's official SDK: real refusals, told in the provider's own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import errors, types

from emulator_process import EmulatorProcess

LIMITED = {"time_scale": 1, "latency": {"live": [0, 0]}, "limits": {"requests_per_minute": 3}}


@pytest.fixture
def limited(emulate: Callable[..., EmulatorProcess]) -> EmulatorProcess:
    return emulate(LIMITED)


@pytest.fixture
def gpt(limited: EmulatorProcess) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=limited.openai_url, api_key="any", max_retries=0) as one:
        yield one


def ask_gpt(client: openai.OpenAI, text: str, **more: Any) -> Any:
    asked: Any = {"model": "gpt-4.1", "messages": [{"role": "user", "content": text}], **more}
    return client.chat.completions.with_raw_response.create(**asked)


def test_openai_tells_what_is_left_and_then_refuses(gpt: openai.OpenAI) -> None:
    left = [int(ask_gpt(gpt, f"{n}").headers["x-ratelimit-remaining-requests"]) for n in range(3)]
    assert left == [2, 1, 0]
    with pytest.raises(openai.RateLimitError) as refused:
        ask_gpt(gpt, "too soon")
    headers = refused.value.response.headers
    assert refused.value.code == "rate_limit_exceeded"
    assert headers["x-ratelimit-limit-requests"] == "3"
    assert 0 < int(headers["retry-after-ms"]) <= 20_000


def test_tokens_are_a_limit_too_and_what_is_not_used_is_given_back(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({**LIMITED, "limits": {"tokens_per_minute": {"gpt-4.1": 1_000}}})
    with openai.OpenAI(base_url=emulator.openai_url, api_key="any", max_retries=0) as client:
        ask_gpt(client, "a short question", max_tokens=900)
        second = ask_gpt(client, "another", max_tokens=900)  # the first used far less than it might have
        assert int(second.headers["x-ratelimit-remaining-tokens"]) < 100
        ask_gpt(client, "another model", model="gpt-4o", max_tokens=900)
        questions = (ask_gpt(client, f"question {number}", max_tokens=990) for number in range(20))
        with pytest.raises(openai.RateLimitError, match="tokens per min"):
            list(questions)


def test_other_models_have_limits_of_their_own(gpt: openai.OpenAI) -> None:
    for number in range(3):
        ask_gpt(gpt, f"{number}")
    assert ask_gpt(gpt, "x", model="gpt-4o").headers["x-ratelimit-remaining-requests"] == "2"


def test_anthropic_refuses_with_its_own_headers(limited: EmulatorProcess) -> None:
    with anthropic.Anthropic(base_url=f"{limited.url}/anthropic", api_key="any", max_retries=0) as client:
        asked: Any = {"model": "claude-haiku-4-5", "max_tokens": 50}
        for number in range(3):
            client.messages.create(**asked, messages=[{"role": "user", "content": f"{number}"}])
        with pytest.raises(anthropic.RateLimitError) as refused:
            client.messages.create(**asked, messages=[{"role": "user", "content": "too soon"}])
    headers = refused.value.response.headers
    assert headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert int(headers["retry-after"]) >= 1


def test_gemini_says_how_long_to_wait_in_the_body(limited: EmulatorProcess) -> None:
    options = types.HttpOptions(base_url=f"{limited.url}/gemini")
    client = genai.Client(api_key="any", http_options=options)
    try:
        for number in range(3):
            client.models.generate_content(model="gemini-2.5-flash", contents=f"{number}")
        with pytest.raises(errors.ClientError) as refused:
            client.models.generate_content(model="gemini-2.5-flash", contents="too soon")
    finally:
        client.close()
    assert refused.value.code == 429
    told = refused.value.details["error"]["details"]
    assert any(one["@type"].endswith("RetryInfo") and one["retryDelay"].endswith("s") for one in told)


def test_a_storm_passes(emulate: Callable[..., EmulatorProcess]) -> None:
    storm = {"on": "live", "do": "status", "status": 529, "between": [100, 200]}
    emulator = emulate({"time_scale": 1, "latency": {"live": [0, 0]}, "faults": [storm]})
    with openai.OpenAI(base_url=emulator.openai_url, api_key="any", max_retries=0) as client:
        ask_gpt(client, "before")
        emulator.advance(120)
        with pytest.raises(openai.APIStatusError) as refused:
            ask_gpt(client, "during")
        assert refused.value.status_code == 529
        emulator.advance(100)
        ask_gpt(client, "after")


def test_live_latency_may_spread_around_a_median(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"time_scale": 1_000, "latency": {"live": {"median": 10, "factor": 1.2}}})
    with openai.OpenAI(base_url=emulator.openai_url, api_key="any", max_retries=0) as client:
        began = emulator.now()
        ask_gpt(client, "how long?")
        assert emulator.now() - began >= 4
