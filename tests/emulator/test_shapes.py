"""The vendors' own type definitions as a second witness: every reply has all that they require, of the right kinds.

The SDKs do not check replies when they read them, so that these tests read them once more, and want no field that the
types do not know, but for those that are named here.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.types import DeletedFile, FileMetadata, Message, ModelInfo, RawMessageStreamEvent
from anthropic.types.messages import MessageBatch
from google.genai import types
from groq.types import chat as groq
from mistralai.client import models as mistral
from ollama import ChatResponse, EmbedResponse, GenerateResponse, ListResponse, ProcessResponse, ShowResponse
from openai.types import Batch, CreateEmbeddingResponse, FileObject, Model, ModerationCreateResponse, Upload
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter
from together.types import chat as together

from emulator_process import EmulatorProcess

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASKED = [{"role": "user", "content": "Tell me of a lake."}]
CHAT = {"model": "gpt-4.1", "messages": ASKED}
TOOL = {"type": "function", "function": {"name": "find_city", "parameters": SCHEMA}}
FLAT = {"type": "function", "name": "find_city", "parameters": SCHEMA, "strict": False}
MESSAGE = {"model": "claude-haiku-4-5", "max_tokens": 3000, "messages": ASKED}
CLAUDE_TOOL = {"name": "find_city", "input_schema": SCHEMA}
CONTENT = {"contents": [{"role": "user", "parts": [{"text": "Tell me of a lake."}]}]}
DECLARED = {"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}]}
FORCED = {**DECLARED, "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}
GEMINI = "/gemini/v1beta/models/gemini-2.5-flash"


# What is answered though the types leave it out, by the path that is called.
BESIDE = {
    "/openai/v1/responses": {"Response.store"},
    "/together/v1/chat/completions": {"ChatCompletion.prompt", "ChoiceDelta.refusal"},
    "/xai/v1/chat/completions": {"CompletionUsage.cost_in_usd_ticks"},
    # Mistral's type takes any further count.
    "/mistral/v1/chat/completions": {"UsageInfo.prompt_tokens_details", "UsageInfo.completion_tokens_details"},
}


def read(kind: Any, path: str, raw: bytes) -> Any:
    """The reply as its type reads it, with nothing left over."""
    found = TypeAdapter(kind).validate_json(raw)
    assert not set(left_over(found)) - BESIDE.get(path, set())
    return found


def left_over(value: Any) -> Iterator[str]:
    """Every field, at any depth, that the type of its object does not know."""
    if isinstance(value, BaseModel):
        yield from (f"{type(value).__name__}.{name}" for name in value.model_extra or ())
        value = [getattr(value, name, None) for name in type(value).model_fields]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from left_over(inner)


def asked(emulator: EmulatorProcess, path: str, body: Any = None) -> bytes:
    headers = {"Authorization": "Bearer x", "x-goog-api-key": "x", "anthropic-version": "2023-06-01"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(emulator.url + path, data, {**headers, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        content: bytes = answer.read()
    return content


WHOLE: list[tuple[Any, str, Any]] = [
    (ChatCompletion, "/openai/v1/chat/completions", CHAT),
    (ChatCompletion, "/openai/v1/chat/completions", {**CHAT, "n": 2, "logprobs": True, "top_logprobs": 2}),
    (ChatCompletion, "/openai/v1/chat/completions", {**CHAT, "tools": [TOOL], "tool_choice": "required"}),
    (ChatCompletion, "/ollama/v1/chat/completions", {**CHAT, "model": "llama3.2"}),
    (ChatCompletion, "/together/v1/chat/completions", {**CHAT, "model": "Qwen/Qwen3"}),
    (ChatCompletion, "/azure/openai/v1/chat/completions", CHAT),
    (ChatCompletion, "/fireworks/inference/v1/chat/completions", CHAT),
    (ChatCompletion, "/xai/v1/chat/completions", {**CHAT, "tools": [TOOL], "tool_choice": "required"}),
    (groq.ChatCompletion, "/groq/openai/v1/chat/completions", CHAT),
    (groq.ChatCompletion, "/groq/openai/v1/chat/completions", {**CHAT, "tools": [TOOL], "tool_choice": "required"}),
    (mistral.ChatCompletionResponse, "/mistral/v1/chat/completions", CHAT),
    (Response, "/openai/v1/responses", {"model": "gpt-4.1", "input": "A lake?"}),
    (Response, "/openai/v1/responses", {"model": "gpt-5", "input": "A lake?", "reasoning": {"summary": "auto"}}),
    (Response, "/openai/v1/responses", {"model": "gpt-4.1", "input": "x", "tools": [FLAT], "tool_choice": "required"}),
    (Response, "/openai/v1/responses", {"model": "gpt-4.1", "input": "x", "background": True}),
    (CreateEmbeddingResponse, "/openai/v1/embeddings", {"model": "text-embedding-3-small", "input": ["a"]}),
    (ModerationCreateResponse, "/openai/v1/moderations", {"input": "a"}),
    (Model, "/openai/v1/models/gpt-4.1", None),
    (Upload, "/openai/v1/uploads", {"bytes": 3, "filename": "a", "mime_type": "text/plain", "purpose": "batch"}),
    (Message, "/anthropic/v1/messages", MESSAGE),
    (Message, "/anthropic/v1/messages", {**MESSAGE, "thinking": {"type": "enabled", "budget_tokens": 1024}}),
    (Message, "/anthropic/v1/messages", {**MESSAGE, "tools": [CLAUDE_TOOL], "tool_choice": {"type": "any"}}),
    (MessageBatch, "/anthropic/v1/messages/batches", {"requests": [{"custom_id": "a", "params": MESSAGE}]}),
    (ModelInfo, "/anthropic/v1/models/claude-haiku-4-5", None),
    (types.GenerateContentResponse, f"{GEMINI}:generateContent", CONTENT),
    (types.GenerateContentResponse, f"{GEMINI}:generateContent", {**CONTENT, **FORCED}),
    (ChatResponse, "/ollama/api/chat", {"model": "llama3.2", "messages": ASKED, "stream": False}),
    (GenerateResponse, "/ollama/api/generate", {"model": "llama3.2", "prompt": "A lake?", "stream": False}),
    (EmbedResponse, "/ollama/api/embed", {"model": "llama3.2", "input": "a"}),
    (ShowResponse, "/ollama/api/show", {"model": "llama3.2"}),
    (ListResponse, "/ollama/api/tags", None),
    (ProcessResponse, "/ollama/api/ps", None),
]


@pytest.mark.parametrize(("kind", "path", "body"), WHOLE)
def test_a_reply(shared: EmulatorProcess, kind: Any, path: str, body: Any) -> None:
    read(kind, path, asked(shared, path, body))


def events(raw: bytes) -> Iterator[bytes]:
    for line in raw.replace(b"\r\n", b"\n").split(b"\n"):
        told = line.removeprefix(b"data: ") if line.startswith(b"data: ") else b""
        if told and told != b"[DONE]":
            yield told


STREAMED: list[tuple[Any, str, Any]] = [
    (ChatCompletionChunk, "/openai/v1/chat/completions", {**CHAT, "stream_options": {"include_usage": True}}),
    (ChatCompletionChunk, "/openai/v1/chat/completions", {**CHAT, "tools": [TOOL], "tool_choice": "required"}),
    (ChatCompletionChunk, "/azure/openai/v1/chat/completions", CHAT),
    (ChatCompletionChunk, "/fireworks/inference/v1/chat/completions", CHAT),
    (ChatCompletionChunk, "/xai/v1/chat/completions", CHAT),
    (groq.ChatCompletionChunk, "/groq/openai/v1/chat/completions", CHAT),
    (mistral.CompletionChunk, "/mistral/v1/chat/completions", CHAT),
    (together.ChatCompletionChunk, "/together/v1/chat/completions", {**CHAT, "model": "Qwen/Qwen3"}),
    (ResponseStreamEvent, "/openai/v1/responses", {"model": "gpt-5", "input": "x", "reasoning": {"summary": "auto"}}),
    (ResponseStreamEvent, "/openai/v1/responses", {"model": "gpt-4.1", "input": "find city", "tools": [FLAT]}),
    (RawMessageStreamEvent, "/anthropic/v1/messages", MESSAGE),
    (RawMessageStreamEvent, "/anthropic/v1/messages", {**MESSAGE, "tools": [CLAUDE_TOOL], "tool_choice": {"type": "any"}}),
    (types.GenerateContentResponse, f"{GEMINI}:streamGenerateContent?alt=sse", CONTENT),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "body"), STREAMED)
def test_every_event_of_a_stream(shared: EmulatorProcess, kind: Any, path: str, body: Any) -> None:
    stream = {} if path.startswith("/gemini") else {"stream": True}
    told = [one for one in events(asked(shared, path, {**body, **stream})) if json.loads(one).get("type") != "ping"]
    assert len(told) > 2
    for one in told:
        read(kind, path, one)


def test_files_and_batches(shared: EmulatorProcess) -> None:
    form = (
        b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data;'
    )
    form += b' name="file"; filename="a.jsonl"\r\n\r\n{}\r\n--b--\r\n'
    headers = {"Authorization": "Bearer x", "anthropic-version": "2023-06-01"}
    headers["Content-Type"] = "multipart/form-data; boundary=b"
    with urllib.request.urlopen(urllib.request.Request(f"{shared.openai_url}/files", form, headers)) as answer:
        file = read(FileObject, "/openai/v1/files", answer.read())
    create = {"input_file_id": file.id, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    read(Batch, "/openai/v1/batches", asked(shared, "/openai/v1/batches", create))
    with urllib.request.urlopen(urllib.request.Request(f"{shared.url}/anthropic/v1/files", form, headers)) as answer:
        kept = read(FileMetadata, "/anthropic/v1/files", answer.read())
    gone = urllib.request.Request(f"{shared.url}/anthropic/v1/files/{kept.id}", headers=headers, method="DELETE")
    with urllib.request.urlopen(gone) as answer:
        read(DeletedFile, "/anthropic/v1/files", answer.read())
