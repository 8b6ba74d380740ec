"""Every field that the vendors' SDKs document for a live call has its effect, is taken as it is, or is refused by name.

The fields are those of the SDKs that are installed: one that a later SDK adds fails here until somebody decides.
"""

from __future__ import annotations

import json
import typing
import urllib.error
import urllib.request

import botocore.session
import pytest
from anthropic.types import message_create_params
from google.genai import types
from groq.types.chat import completion_create_params as groq_params
from mistralai.client import models as mistral
from openai.types import embedding_create_params, moderation_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from together.types.chat import completion_create_params as together_params

SAID = [{"role": "user", "content": "Tell me of a lake."}]
CHAT = {"model": "gpt-4.1", "messages": SAID}


def written(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def typed(kind: object) -> frozenset[str]:
    return frozenset(typing.get_type_hints(kind))


def converse() -> frozenset[str]:
    operation = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("Converse")
    return frozenset(operation.input_shape.members) - {"modelId"}


# By path: the fields there are, a body, and those that have an effect; those that change no answer; see the docs.
CHAT_EFFECTS = frozenset(
    {
        *(
            "model",
            "messages",
            "n",
            "stop",
            "max_tokens",
            "max_completion_tokens",
            "response_format",
            "reasoning_effort",
        ),
        *("tools", "tool_choice", "stream", "stream_options", "logprobs", "top_logprobs", "service_tier"),
    }
)
CHAT_TAKEN = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "seed", "random_seed", "frequency_penalty", "presence_penalty"),
        *("repetition_penalty", "logit_bias", "user", "metadata", "verbosity", "parallel_tool_calls", "store"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "safe_prompt"),
        *("disable_tool_validation", "include_reasoning", "reasoning_format", "reasoning", "chat_template_kwargs"),
        *("compliance", "context_length_exceeded_behavior", "modalities"),
    }
)
CALLS = {
    "/openai/v1/chat/completions": (
        typed(completion_create_params.CompletionCreateParamsNonStreaming), CHAT, CHAT_EFFECTS | CHAT_TAKEN
    ),
    "/azure/openai/v1/chat/completions": (
        typed(completion_create_params.CompletionCreateParamsNonStreaming), CHAT, CHAT_EFFECTS | CHAT_TAKEN
    ),
    "/groq/openai/v1/chat/completions": (typed(groq_params.CompletionCreateParams), CHAT, CHAT_EFFECTS | CHAT_TAKEN),
    "/mistral/v1/chat/completions": (
        frozenset(mistral.ChatCompletionRequest.model_fields), CHAT, CHAT_EFFECTS | CHAT_TAKEN
    ),
    "/together/v1/chat/completions": (
        typed(together_params.CompletionCreateParamsNonStreaming), CHAT, (CHAT_EFFECTS | CHAT_TAKEN) - {"logprobs"}
    ),
    "/openai/v1/responses": (
        typed(response_create_params.ResponseCreateParamsNonStreaming),
        {"model": "gpt-4.1", "input": "Tell me of a lake."},
        CHAT_EFFECTS | CHAT_TAKEN | {
            *("input", "instructions", "max_output_tokens", "text", "reasoning", "background", "previous_response_id"),
            *("include", "max_tool_calls", "truncation"),
        },
    ),
    "/openai/v1/embeddings": (
        typed(embedding_create_params.EmbeddingCreateParams),
        {"model": "text-embedding-3-small", "input": "a"},
        {"dimensions", "encoding_format", "input", "model", "user"},
    ),
    "/openai/v1/moderations": (
        typed(moderation_create_params.ModerationCreateParams), {"input": "a"}, {"input", "model"}
    ),
    "/anthropic/v1/messages": (
        typed(message_create_params.MessageCreateParamsNonStreaming),
        {"model": "claude-haiku-4-5", "max_tokens": 300, "messages": SAID},
        {
            *("cache_control", "max_tokens", "messages", "model", "output_config", "stop_sequences", "stream", "system"),
            *("thinking", "tool_choice", "tools", "metadata", "service_tier", "inference_geo", "user_profile_id", "workspace_id"),
        },
    ),
    "/bedrock/model/a.claude/converse": (
        converse(),
        {"messages": [{"role": "user", "content": [{"text": "Tell me of a lake."}]}]},
        {
            *("messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields", "outputConfig"),
            *("requestMetadata", "performanceConfig", "serviceTier"),
        },
    ),
}  # fmt: skip
# Of a configuration of Google's: in `generationConfig`, but for those that the SDK puts beside it.
BESIDE = {
    "cached_content",
    "labels",
    "safety_settings",
    "service_tier",
    "store",
    "tool_config",
    "tools",
    "system_instruction",
}
OF_THE_SDK = {"http_options", "should_return_http_response", "automatic_function_calling", "automatic_continuation"}
GOOGLES = (
    frozenset(types.GenerateContentConfig.model_fields) | frozenset(types.GenerationConfig.model_fields)
) - OF_THE_SDK
GOOGLES_DONE = frozenset(
    {
        *("candidate_count", "max_output_tokens", "response_json_schema", "response_mime_type", "response_schema"),
        *("stop_sequences", "system_instruction", "thinking_config", "tool_config", "tools"),
        *(
            "temperature",
            "top_k",
            "top_p",
            "seed",
            "frequency_penalty",
            "presence_penalty",
            "labels",
            "safety_settings",
        ),
        *("media_resolution", "service_tier", "store", "response_modalities"),
    }
)


def refusal(emulator, path: str, body: dict[str, object]) -> str:
    """What is said of a request; nothing when it is answered."""
    signed = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0"
    headers = {
        "Authorization": signed if path.startswith("/bedrock") else "Bearer x",
        "x-goog-api-key": "x",
        "anthropic-version": "2023-06-01",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(emulator.url + path, json.dumps(body).encode(), headers)
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode() if error.code == 400 else f"{error.code}"
    return ""


@pytest.mark.parametrize("path", sorted(CALLS))
def test_what_is_not_done_is_refused_by_name(shared, path):
    fields, body, done = CALLS[path]
    assert refusal(shared, path, body) == ""
    silent = [name for name in sorted(fields - done) if name not in refusal(shared, path, {**body, name: {"a": "b"}})]
    assert silent == []


def test_what_is_not_done_of_googles_is_refused_by_name(shared):
    path = "/gemini/v1beta/models/gemini-2.5-flash:generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": "Tell me of a lake."}]}]}
    assert refusal(shared, path, body) == ""
    silent = []
    for name in sorted(GOOGLES - GOOGLES_DONE):
        told = {written(name): {"a": "b"}}
        said = refusal(shared, path, {**body, **(told if name in BESIDE else {"generationConfig": told})})
        if name not in said and written(name) not in said:
            silent.append(name)
    assert silent == []
