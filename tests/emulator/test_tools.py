"""Tools in every dialect: what is forced is called, with arguments that fit; results are taken in the next turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest
from anthropic import Anthropic
from driving import chat_body, ended, line, rows
from google.genai import errors, types
from google_driving import (
    close_clients,  # noqa: F401 - a fixture
    gemini_client,
)
from messaging import Connect, connecting, params
from openai import OpenAI
from together import Together

from emulator_process import EmulatorProcess

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "unit": {"type": "string", "enum": ["C", "F"]},
    },
    "required": ["city", "days", "unit"],
    "additionalProperties": False,
}


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA}}


def fits(arguments: Any) -> bool:
    return set(arguments) == {"city", "days", "unit"} and 1 <= arguments["days"] <= 7 and arguments["unit"] in "CF"


TOOLS = [function("get_weather"), function("get_time")]


def chat_calls(client: OpenAI, text: str, **more: Any) -> list[Any]:
    choice = client.chat.completions.create(**chat_body(text, tools=TOOLS, **more)).choices[0]
    calls = choice.message.tool_calls or []
    assert (choice.finish_reason == "tool_calls") == bool(calls)
    assert (choice.message.content is None) == bool(calls)
    return list(calls)


def test_chat_forces_and_forbids(client: OpenAI) -> None:
    named = {"type": "function", "function": {"name": "get_time"}}
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}}
    for choice, name in (("required", "get_weather"), (named, "get_time"), (allowed, "get_time")):
        (call,) = chat_calls(client, "Hello?", tool_choice=choice)
        assert call.function.name == name
        assert fits(json.loads(call.function.arguments))
    assert chat_calls(client, "Call get_time now.", tool_choice="none") == []
    assert [call.function.name for call in chat_calls(client, "Please get time now.")] == ["get_time"]
    assert chat_calls(client, "Hello?") == []


def test_chat_takes_the_result_in_the_next_turn(client: OpenAI) -> None:
    (call,) = chat_calls(client, "Use get_weather.")
    said: list[Any] = [
        {"role": "user", "content": "Use get_weather."},
        {"role": "assistant", "tool_calls": [call.model_dump()]},
        {"role": "tool", "tool_call_id": call.id, "content": "Sunny with a light breeze."},
    ]
    answer = client.chat.completions.create(model="gpt-4.1", messages=said, tools=TOOLS)
    assert answer.choices[0].finish_reason == "stop"
    assert "light breeze" in (answer.choices[0].message.content or "")


def test_responses_call_tools_and_follow_one_another(client: OpenAI) -> None:
    flat: Any = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": True}]
    free: Any = {"type": "custom", "name": "write_code"}
    first = client.responses.create(model="gpt-4.1", input="Hello?", tools=flat, tool_choice="required")
    (call,) = first.output
    assert call.type == "function_call"
    assert fits(json.loads(call.arguments))
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "Snow in the hills."}
    second = client.responses.create(model="gpt-4.1", input=[result], tools=flat, previous_response_id=first.id)
    assert "Snow in the hills" in second.output_text
    assert second.usage is not None
    assert first.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens
    custom = client.responses.create(model="gpt-5", input="Go.", tools=[free], tool_choice="required").output[-1]
    assert (custom.type, bool(custom.input)) == ("custom_tool_call", True)


def test_a_response_is_kept_shown_and_deleted(client: OpenAI) -> None:
    made = client.responses.create(model="gpt-4.1", input="A river?")
    assert client.responses.retrieve(made.id).output_text == made.output_text
    assert client.responses.input_items.list(made.id).data[0].content is not None  # type: ignore[union-attr]
    client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)
    with pytest.raises(openai.BadRequestError) as lost:
        client.responses.create(model="gpt-4.1", input="And?", previous_response_id=made.id)
    assert lost.value.code == "previous_response_not_found"
    unkept = client.responses.create(model="gpt-4.1", input="A rill?", store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(unkept.id)


def test_a_response_in_the_background(emulate: Callable[..., EmulatorProcess], connect: Callable[..., OpenAI]) -> None:
    emulator = emulate({"time_scale": 1, "latency": {"batch": [1, 1], "live": [60, 60]}})
    client = connect(emulator)
    made = client.responses.create(model="gpt-4.1", input="A river?", background=True)
    assert (made.status, made.output) == ("queued", [])
    assert client.responses.retrieve(made.id).status == "in_progress"
    other = client.responses.create(model="gpt-4.1", input="A lake?", background=True)
    assert client.responses.cancel(other.id).status == "cancelled"
    emulator.advance(61)
    done = client.responses.retrieve(made.id)
    assert (done.status, bool(done.output_text)) == ("completed", True)
    assert client.responses.retrieve(other.id).status == "cancelled"


@pytest.fixture
def messages() -> Iterator[Connect]:
    yield from connecting()


def test_messages_call_tools(shared: EmulatorProcess, messages: Connect) -> None:
    client: Anthropic = messages(shared)
    tools: Any = [{"name": name, "input_schema": SCHEMA} for name in ("get_weather", "get_time")]
    for choice, name in (({"type": "any"}, "get_weather"), ({"type": "tool", "name": "get_time"}, "get_time")):
        said = client.messages.create(**params("Hello?", tools=tools, tool_choice=choice))
        (block,) = said.content
        assert (said.stop_reason, block.type, block.name) == ("tool_use", "tool_use", name)
        assert fits(block.input)
    none = client.messages.create(**params("Use get_time.", tools=tools, tool_choice={"type": "none"}))
    assert none.stop_reason == "end_turn"
    asked = client.messages.create(**params("Use get_time.", tools=tools))
    call = asked.content[0]
    assert call.type == "tool_use"
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "It is noon exactly."}
    talk = [
        {"role": "user", "content": "Use get_time."},
        {"role": "assistant", "content": [call.model_dump(exclude_none=True)]},
        {"role": "user", "content": [result]},
    ]
    then = client.messages.create(**params(tools=tools, messages=talk))
    assert "noon exactly" in then.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"model": "claude-opus-5-5", "tool_choice": {"type": "any"}}, "forcing a tool"),
        ({"model": "claude-sonnet-5-5", "tool_choice": {"type": "tool", "name": "t"}}, "forcing a tool"),
        ({"tool_choice": {"type": "tool", "name": "other"}}, "not found"),
        (
            {
                "tool_choice": {"type": "any"},
                "max_tokens": 4000,
                "thinking": {"type": "enabled", "budget_tokens": 1024},
            },
            "Thinking may not be enabled",
        ),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_20250305"),
        ({"tools": [{"name": "t"}]}, "input_schema"),
        ({"tools": None, "tool_choice": {"type": "any"}}, "providing tools"),
        ({"container": {"id": "x"}}, "container"),
        ({"service_tier": "fast"}, "service_tier"),
    ],
)
def test_what_messages_refuse(shared: EmulatorProcess, messages: Connect, more: dict[str, Any], words: str) -> None:
    tools = [{"name": "t", "input_schema": {"type": "object"}}]
    with pytest.raises(anthropic.BadRequestError, match=words):
        messages(shared).messages.create(**params(**{"tools": tools, **more}))


def google_tools(**calling: Any) -> dict[str, Any]:
    declared = [{"name": name, "parameters_json_schema": SCHEMA} for name in ("get_weather", "get_time")]
    return {
        "tools": [{"function_declarations": declared}],
        "automatic_function_calling": {"disable": True},
        **({"tool_config": {"function_calling_config": calling}} if calling else {}),
    }


def test_google_calls_functions(shared: EmulatorProcess) -> None:
    client = gemini_client(shared)

    def calls(text: Any, **calling: Any) -> list[types.FunctionCall]:
        said = client.models.generate_content(model="gemini-2.5-flash", contents=text, config=google_tools(**calling))  # type: ignore[arg-type]
        return said.function_calls or []

    (call,) = calls("Hello?", mode="ANY", allowed_function_names=["get_time"])
    assert call.name == "get_time"
    assert fits(call.args)
    assert [one.name for one in calls("Hello?", mode="ANY")] == ["get_weather"]
    assert [one.name for one in calls("Use get_time.")] == ["get_time"]
    assert calls("Use get_time.", mode="NONE") == calls("Hello?") == []
    talk = [
        types.Content(role="user", parts=[types.Part(text="Use get_time.")]),
        types.Content(role="model", parts=[types.Part(function_call=call)]),
        types.Content(
            role="user",
            parts=[types.Part(function_response=types.FunctionResponse(name="get_time", response={"it_is": "noon"}))],
        ),
    ]
    said = client.models.generate_content(model="gemini-2.5-flash", contents=talk, config=google_tools())  # type: ignore[arg-type]
    assert "noon" in (said.text or "")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"tools": [{"google_search": {}}]}, "googleSearch"),
        ({"tools": [{"code_execution": {}}]}, "codeExecution"),
        ({"cached_content": "cachedContents/x"}, "cached_content"),
        ({"response_logprobs": True}, "responseLogprobs"),
        ({"response_modalities": ["IMAGE"]}, "IMAGE"),
    ],
)
def test_what_google_refuses(shared: EmulatorProcess, config: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.ClientError, match=words):
        gemini_client(shared).models.generate_content(model="gemini-2.5-flash", contents="x", config=config)  # type: ignore[arg-type]


def test_ollama_and_together_call_tools(shared: EmulatorProcess) -> None:
    client = ollama.Client(host=f"{shared.url}/ollama")
    asked = [{"role": "user", "content": "Use get_time."}]
    (call,) = client.chat("llama3.2", messages=asked, tools=TOOLS).message.tool_calls or []
    # The client itself leaves the bounds of numbers out.
    assert (call.function.name, set(call.function.arguments)) == ("get_time", {"city", "days", "unit"})
    client._client.close()
    with Together(api_key="any", base_url=f"{shared.url}/together/v1", max_retries=0) as other:
        said = other.chat.completions.create(
            model="Qwen/Qwen3-235B-A22B", messages=asked, tools=TOOLS, tool_choice="required"
        )
    assert said.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (chat_body("x", tools=[{"type": "web_search"}]), "tools[0].type"),
        (chat_body("x", tool_choice="required"), "tool_choice"),
        (chat_body("x", tools=TOOLS, tool_choice={"type": "function", "function": {"name": "no"}}), "tool_choice"),
        (chat_body("x", functions=[{"name": "f"}]), "functions"),
        (chat_body("x", audio={"voice": "a", "format": "mp3"}), "audio"),
        (chat_body("x", web_search_options={}), "web_search_options"),
        (chat_body("x", service_tier="turbo"), "service_tier"),
        (chat_body("x", stop=["a"] * 5), "stop"),
        (chat_body("x", top_logprobs=3), "top_logprobs"),
        (chat_body("x", model="gpt-5", logprobs=True), "logprobs"),
        (chat_body([{"type": "video", "video": "x"}]), "messages[0].content[0].type"),  # type: ignore[arg-type]
    ],
)
def test_what_chat_refuses_by_name(client: OpenAI, body: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(**body)
    assert refused.value.param == param


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"prompt": {"id": "pmpt_x"}}, "prompt"),
        ({"conversation": "conv_x"}, "conversation"),
        ({"include": ["file_search_call.results"]}, "include"),
        ({"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}, "tools[0].type"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        ({"background": True, "stream": True}, "background"),
    ],
)
def test_what_responses_refuse_by_name(client: OpenAI, more: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(**{"model": "gpt-4.1", "input": "x", **more})
    assert refused.value.param == param


def test_stops_end_an_answer_in_every_dialect(shared: EmulatorProcess, client: OpenAI) -> None:
    cut = client.chat.completions.create(**chat_body("A lake of words?", stop=["[trace"]))
    assert "trace" not in (cut.choices[0].message.content or "x[trace")
    assert cut.choices[0].finish_reason == "stop"
    said = gemini_client(shared).models.generate_content(
        model="gemini-2.0-flash", contents="A lake?", config={"stop_sequences": ["[trace"]}
    )
    assert "trace" not in (said.text or "x[trace")
    local = ollama.Client(host=f"{shared.url}/ollama")
    assert "trace" not in local.generate("llama3.2", "A lake?", options={"stop": ["[trace"]}).response
    local._client.close()


def test_logprobs_tiers_and_pictures(client: OpenAI) -> None:
    plain = client.chat.completions.create(**chat_body("A lake?"))
    said = client.chat.completions.create(
        **chat_body("A lake?", logprobs=True, top_logprobs=3, service_tier="flex", n=2)
    )
    content = said.choices[0].logprobs.content if said.choices[0].logprobs else []
    assert "".join(token.token for token in content or []) == said.choices[0].message.content
    assert all(token.logprob <= 0 and len(token.top_logprobs) == 3 for token in content or [])
    assert (said.service_tier, len(said.choices)) == ("flex", 2)
    picture: Any = [
        {"type": "text", "text": "A lake?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    seen = client.chat.completions.create(**chat_body(picture))
    assert plain.usage is not None
    assert seen.usage is not None
    assert seen.usage.prompt_tokens == plain.usage.prompt_tokens + 258


def test_documents_count_in_messages(shared: EmulatorProcess, messages: Connect) -> None:
    client: Anthropic = messages(shared)
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "12345678"}}

    def tokens(*blocks: Any) -> int:
        asked: Any = [{"role": "user", "content": [*blocks, {"type": "text", "text": "1234"}]}]
        return client.messages.count_tokens(model="claude-haiku-4-5", messages=asked).input_tokens

    assert tokens() == 1
    assert tokens(picture) == 259
    assert tokens(text) == 4


def test_a_truth_makes_a_model_call(emulate: Callable[..., EmulatorProcess], connect: Callable[..., OpenAI]) -> None:
    planted = {"weather in (\\w+)": {"call": "get_weather", "arguments": {"city": "\\1", "days": 2}}}
    client = connect(emulate({"answer_with": planted, "answers": {"calls": 1.0}}))
    (call,) = chat_calls(client, "The weather in Rome?")
    assert json.loads(call.function.arguments) == {"city": "Rome", "days": 2}
    assert [one.function.name for one in chat_calls(client, "Hello?")] == ["get_weather"]


def test_tools_in_a_batch(emulator: EmulatorProcess, connect: Callable[..., OpenAI]) -> None:
    client = connect(emulator)
    lines = [line(f"r{n}", chat_body(f"Row {n}", tools=TOOLS, tool_choice="required")) for n in range(5)]
    lines.append(line("bad", chat_body("x", tools=[{"type": "web_search"}])))
    batch = ended(emulator, client, lines)
    good = rows(client, batch.output_file_id)
    assert len(good) == 5
    for row in good:
        message = row["response"]["body"]["choices"][0]["message"]
        assert fits(json.loads(message["tool_calls"][0]["function"]["arguments"]))
    (bad,) = rows(client, batch.error_file_id)
    assert bad["response"]["body"]["error"]["param"] == "tools[0].type"
