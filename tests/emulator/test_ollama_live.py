"""Ollama's own API, driven by the official client."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import ollama
import pytest

from emulator_process import EmulatorProcess

ASKED = [{"role": "user", "content": "Name a lake."}]


@pytest.fixture
def client(emulate: Callable[..., EmulatorProcess]) -> Iterator[ollama.Client]:
    one = ollama.Client(host=f"{emulate({'models': {'unknown': ['*-typo']}}).url}/ollama")
    yield one
    one._client.close()


def test_a_question_is_answered(client: ollama.Client) -> None:
    answer = client.chat("llama3.2", messages=ASKED)
    assert "lake" in answer.message.content
    assert (answer.done, answer.done_reason) == (True, "stop")
    assert answer.prompt_eval_count
    assert answer.eval_count


def test_options_are_kept(client: ollama.Client) -> None:
    cut = client.chat("llama3.2", messages=ASKED, options={"num_predict": 3})
    assert (cut.done_reason, cut.eval_count) == ("length", 3)
    long = [{"role": "user", "content": "The beginning. " + "word " * 500 + "The end."}]
    whole = client.chat("llama3.2", messages=long)
    short = client.chat("llama3.2", messages=long, options={"num_ctx": 16})
    assert short.prompt_eval_count < whole.prompt_eval_count


def test_thoughts_and_schemas(client: ollama.Client) -> None:
    thought = client.chat("qwen3:8b", messages=ASKED, think=True)
    assert thought.message.thinking
    schema = {"type": "object", "properties": {"lake": {"type": "string"}}, "required": ["lake"]}
    assert '"lake"' in client.chat("qwen3:8b", messages=ASKED, format=schema).message.content


def test_models_come_into_memory_and_leave_it(client: ollama.Client) -> None:
    assert client.ps().models == []
    client.chat("llama3.2", messages=ASKED)
    client.chat("qwen3:8b", messages=ASKED)
    assert [one.model for one in client.ps().models] == ["llama3.2:latest", "qwen3:8b"]
    client.generate("llama3.2", keep_alive=0)
    assert [one.model for one in client.ps().models] == ["qwen3:8b"]


def test_what_it_does_not_have_it_says(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError) as missing:
        client.chat("llama-typo", messages=ASKED)
    assert missing.value.status_code == 404
