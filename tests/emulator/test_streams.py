"""Answers in pieces, in every dialect, read by the stream helpers of the official SDKs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import anthropic
import ollama
import openai
import pytest
from anthropic import Anthropic
from driving import chat_body, fired
from google import genai
from google.genai import errors
from google_driving import (
    close_clients,  # noqa: F401 - a fixture
    gemini_client,
)
from messaging import Connect, connecting, params
from openai import OpenAI
from together import Together

from emulator_process import EmulatorProcess

Ask = Callable[[EmulatorProcess], Iterator[str]]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "find_city", "parameters": SCHEMA}}


@pytest.fixture
def messages() -> Iterator[Connect]:
    yield from connecting()


def test_a_completion_in_pieces_is_the_whole_one(client: OpenAI) -> None:
    body = chat_body("Tell me of the lakes of the north.", n=2)
    whole = client.chat.completions.create(**body)
    with client.chat.completions.stream(**body, stream_options={"include_usage": True}) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert len(deltas) > 6
    assert [choice.message.content for choice in final.choices] == [one.message.content for one in whole.choices]
    assert final.usage == whole.usage
    plain = list(client.chat.completions.create(**body, stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in plain)
    assert plain[-1].choices[0].finish_reason == "stop"


def test_a_streamed_call_of_a_tool(client: OpenAI) -> None:
    body = chat_body("Which one?", tools=[TOOL], tool_choice="required")
    with client.chat.completions.stream(**body) as stream:
        final = stream.get_final_completion()
    (call,) = final.choices[0].message.tool_calls or []
    assert final.choices[0].finish_reason == "tool_calls"
    assert set(json.loads(call.function.arguments)) == {"city"}


def test_the_events_of_a_response_are_in_order(client: OpenAI) -> None:
    body: dict[str, Any] = {"model": "gpt-5", "input": "Tell me of a lake.", "reasoning": {"summary": "auto"}}
    whole = client.responses.create(**body)
    seen = list(client.responses.create(**body, stream=True))
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    kinds = list(dict.fromkeys(event.type for event in seen))
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.completed",
    ]
    told = "".join(event.delta for event in seen if event.type == "response.output_text.delta")
    assert told == whole.output_text
    with client.responses.stream(**body) as stream:
        assert stream.get_final_response().output_text == whole.output_text


def test_a_response_that_calls_a_tool(client: OpenAI) -> None:
    tool: Any = {"type": "function", "name": "find_city", "parameters": SCHEMA, "strict": False}
    with client.responses.stream(model="gpt-4.1", input="Go.", tools=[tool], tool_choice="required") as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_response()
    assert {"response.function_call_arguments.delta", "response.function_call_arguments.done"} <= kinds
    (call,) = final.output
    assert call.type == "function_call"
    assert set(json.loads(call.arguments)) == {"city"}


def test_a_message_thinks_and_then_speaks(shared: EmulatorProcess, messages: Connect) -> None:
    client: Anthropic = messages(shared)
    body = params("Tell me of a lake.", max_tokens=4000, thinking={"type": "enabled", "budget_tokens": 1024})
    whole = client.messages.create(**body)
    with client.messages.stream(**body) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    assert [block.model_dump() | {"parsed_output": None} for block in final.content] == [
        block.model_dump() | {"parsed_output": None} for block in whole.content
    ]
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", whole.usage.output_tokens)
    tool: Any = {"name": "find_city", "input_schema": SCHEMA}
    forced = params("Go.", tools=[tool], tool_choice={"type": "tool", "name": "find_city"})
    with client.messages.stream(**forced) as stream:
        partial = [event.partial_json for event in stream if event.type == "input_json"]
        called = stream.get_final_message()
    (block,) = called.content
    assert block.type == "tool_use"
    assert json.loads("".join(partial)) == block.input
    assert called.stop_reason == "tool_use"


def test_google_streams_events_and_lists(shared: EmulatorProcess) -> None:
    client = gemini_client(shared)
    asked: dict[str, Any] = {"model": "gemini-2.5-flash", "contents": "Tell me of a lake."}
    whole = client.models.generate_content(**asked)
    chunks = list(client.models.generate_content_stream(**asked))
    assert len(chunks) > 3
    assert "".join(chunk.text or "" for chunk in chunks) == whole.text
    assert chunks[-1].usage_metadata == whole.usage_metadata
    client._api_client._http_options.base_url = f"{shared.url}/gemini"
    listed = json.loads(_raw(shared, "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent"))
    assert "".join(part["text"] for one in listed for part in one["candidates"][0]["content"]["parts"])
    assert listed[-1]["candidates"][0]["finishReason"] == "STOP"


def _raw(emulator: EmulatorProcess, path: str) -> bytes:
    import urllib.request

    body = json.dumps({"contents": [{"role": "user", "parts": [{"text": "Tell me of a lake."}]}]}).encode()
    request = urllib.request.Request(emulator.url + path, body, {"x-goog-api-key": "x"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        content: bytes = answer.read()
    return content


def test_vertex_streams_too(shared: EmulatorProcess) -> None:
    client = genai.Client(vertexai=True, api_key="x", http_options={"base_url": f"{shared.url}/vertex"})
    chunks = list(client.models.generate_content_stream(model="gemini-2.5-flash", contents="Tell me of a lake."))
    client.close()
    assert len(chunks) > 3


def test_together_streams_chunks(shared: EmulatorProcess) -> None:
    with Together(api_key="any", base_url=f"{shared.url}/together/v1", max_retries=0) as client:
        asked: Any = [{"role": "user", "content": "Tell me of a lake."}]
        chunks = list(client.chat.completions.create(model="Qwen/Qwen3-235B-A22B", messages=asked, stream=True))
    assert "lake" in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


LOOKALIKES = {
    "azure": "/azure/openai/v1",
    "groq": "/groq/openai/v1",
    "mistral": "/mistral/v1",
    "fireworks": "/fireworks/inference/v1",
    "xai": "/xai/v1",
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_lookalikes_stream_the_same_answer(shared: EmulatorProcess, name: str) -> None:
    asked = {"model": "a-model", "messages": [{"role": "user", "content": "Tell me of a lake."}]}
    with OpenAI(base_url=shared.url + LOOKALIKES[name], api_key="any", max_retries=0) as client:
        whole = client.chat.completions.create(**asked)
        chunks = list(client.chat.completions.create(**asked, stream=True))
        forced = list(client.chat.completions.create(**asked, stream=True, tools=[TOOL], tool_choice="required"))
    said = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert said == whole.choices[0].message.content
    assert (chunks[-1].usage is not None) is (name in {"mistral", "fireworks", "xai"})
    calls = [call for one in forced for call in one.choices[0].delta.tool_calls or ()]
    assert json.loads("".join(call.function.arguments or "" for call in calls))["city"]


@pytest.mark.parametrize("name", LOOKALIKES)
def test_streams_of_lookalikes_break_in_the_middle(emulate: Callable[..., EmulatorProcess], name: str) -> None:
    emulator = emulate({"faults": [{"on": "live", "do": "stream_error", "at": 0.5, "message": "no more", "times": 1}]})
    asked = {"model": "a-model", "messages": [{"role": "user", "content": "Tell me of a lake."}]}
    with OpenAI(base_url=emulator.url + LOOKALIKES[name], api_key="any", max_retries=0) as client:
        with pytest.raises(openai.APIError, match="no more"):
            list(client.chat.completions.create(**asked, stream=True))
        assert len(list(client.chat.completions.create(**asked, stream=True))) > 3


def test_ollama_streams_lines_and_does_so_by_default(shared: EmulatorProcess) -> None:
    client = ollama.Client(host=f"{shared.url}/ollama")
    asked = [{"role": "user", "content": "Tell me of a lake."}]
    whole = client.chat("qwen3:8b", messages=asked, think=True)
    parts = list(client.chat("qwen3:8b", messages=asked, think=True, stream=True))
    assert "".join(part.message.content or "" for part in parts) != ""
    assert "".join(part.message.thinking or "" for part in parts).split()[:3] == ["Let", "me", "think"]
    assert (parts[-1].done, parts[-1].eval_count, parts[0].done) == (True, whole.eval_count, False)
    told = [part.response for part in client.generate("llama3.2", "Tell me of a lake.", stream=True)]
    assert "".join(told) == client.generate("llama3.2", "Tell me of a lake.").response
    answer = client._client.post("/api/chat", json={"model": "llama3.2", "messages": asked})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert len(answer.text.splitlines()) > 2
    client._client.close()


def of_chat(emulator: EmulatorProcess) -> Iterator[str]:
    with OpenAI(base_url=emulator.openai_url, api_key="x", max_retries=0) as client:
        for chunk in client.chat.completions.create(**chat_body("Tell me of a lake."), stream=True):
            yield chunk.choices[0].delta.content or ""


def of_responses(emulator: EmulatorProcess) -> Iterator[str]:
    with OpenAI(base_url=emulator.openai_url, api_key="x", max_retries=0) as client:
        for event in client.responses.create(model="gpt-4.1", input="Tell me of a lake.", stream=True):
            if event.type == "error":
                raise openai.APIError(event.message, None, body=None)  # type: ignore[arg-type]
            yield event.delta if event.type == "response.output_text.delta" else ""
        assert event.type == "response.completed", "it broke off"


def of_messages(emulator: EmulatorProcess) -> Iterator[str]:
    with (
        Anthropic(base_url=f"{emulator.url}/anthropic", api_key="x", max_retries=0) as client,
        client.messages.stream(**params("Tell me of a lake.")) as stream,
    ):
        yield from stream.text_stream
        assert stream.get_final_message().stop_reason, "it broke off"


def of_gemini(emulator: EmulatorProcess) -> Iterator[str]:
    for chunk in gemini_client(emulator).models.generate_content_stream(model="gemini-2.0-flash", contents="A lake?"):
        yield chunk.text or ""


def of_ollama(emulator: EmulatorProcess) -> Iterator[str]:
    client = ollama.Client(host=f"{emulator.url}/ollama")
    try:
        for part in client.chat("llama3.2", messages=[{"role": "user", "content": "A lake?"}], stream=True):
            yield part.message.content or ""
        assert part.done, "it broke off"
    finally:
        client._client.close()


STREAMS: list[Ask] = [of_chat, of_responses, of_messages, of_gemini, of_ollama]


@pytest.mark.parametrize("ask", STREAMS)
def test_an_error_in_the_middle_is_told_as_one(emulator: EmulatorProcess, ask: Ask) -> None:
    emulator.arm([{"on": "live", "do": "stream_error", "status": 503, "message": "No more of this.", "at": 0.5}])
    heard: list[str] = []
    with pytest.raises((openai.APIError, anthropic.APIError, errors.APIError, ollama.ResponseError), match="No more"):
        heard.extend(ask(emulator))
    assert fired(emulator) == [1]


@pytest.mark.parametrize("ask", STREAMS)
def test_a_stream_that_is_cut_never_looks_whole(emulator: EmulatorProcess, ask: Ask) -> None:
    whole = "".join(ask(emulator))
    emulator.arm([{"on": "live", "do": "cut", "at": 0.5}])
    heard: list[str] = []
    parts = ask(emulator)
    with closing(parts), pytest.raises(Exception):  # noqa: B017, PT012 - every SDK has a kind of its own
        for part in parts:
            heard.append(part)  # noqa: PERF402 - what was heard before it broke off
    assert len("".join(heard)) < len(whole)


def test_a_stall_holds_up_the_rest_for_real_seconds(emulator: EmulatorProcess) -> None:
    import time

    emulator.arm([{"on": "live", "do": "stall", "real_seconds": 0.3, "at": 0.5, "times": 1}])
    began = time.monotonic()
    slow = "".join(of_chat(emulator))
    assert time.monotonic() - began >= 0.3
    assert slow == "".join(of_chat(emulator))


def test_what_strikes_streams_leaves_other_calls_alone(
    emulator: EmulatorProcess, connect: Callable[..., OpenAI]
) -> None:
    emulator.arm([{"on": "live", "do": "stream_error", "at": 0.0}])
    assert connect(emulator).chat.completions.create(**chat_body("A lake?")).choices
    assert fired(emulator) == [0]


def test_latency_is_spread_over_the_pieces(emulate: Callable[..., EmulatorProcess]) -> None:
    import time

    emulator = emulate({"time_scale": 1, "latency": {"batch": [1, 1], "live": [0.5, 0.5]}})
    began = time.monotonic()
    moments = [time.monotonic() - began for _ in of_chat(emulator)]
    assert moments[0] >= 0.15
    assert moments[-1] - moments[0] >= 0.3
    billed = emulator.log()["billed"]["live"]["gpt-4.1"]
    assert billed["rows"] == 1
