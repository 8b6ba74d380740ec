"""One chat completion of a look-alike: fewer rules than OpenAI has, since its models are other people's."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from overnight_emulator.answers.answering import EFFORTS, Models, Prompt
from overnight_emulator.answers.schema import UnusableSchemaError
from overnight_emulator.batches.rows import Reply, canonical
from overnight_emulator.dialects.openai.chat import complete
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.prompts import chat_prompt
from overnight_emulator.dialects.openai.rules import check_chat_options, exists
from overnight_emulator.dialects.openai.unsimulated import not_simulated, refuse_chat
from overnight_emulator.truth import Truth

# Fields of Groq, Mistral, xAI, Fireworks and Together that change what is answered, and are not simulated.
_NOT_SIMULATED = (
    *("citation_options", "compound_custom", "documents", "exclude_domains", "include_domains", "search_settings"),
    *("guardrails", "min_tokens", "prompt_logprobs", "prompt_mode", "top_prompt_logprobs"),
    *("search_parameters", "deferred", "echo", "raw_output", "safety_model"),
)
_OPENAIS_OWN = ("service_tier", "system_fingerprint")


def read_prompt(body: dict[str, Any]) -> Prompt:
    return prompt_of(body, sha256(canonical(body)).digest())


def prompt_of(body: dict[str, Any], digest: bytes) -> Prompt:
    """Such a model thinks when it is told to by name, and not otherwise."""
    asked = body.get("reasoning_effort")
    return replace(chat_prompt(body, digest), effort=asked if asked in EFFORTS else "none")


def answer(models: Models, truth: Truth, body: dict[str, Any], digest: bytes, moment: float) -> Reply:
    """One request, live or in a batch. The body names the model."""
    try:
        check_request(body, truth)
        reply = complete(models, prompt_of(body, digest), body, moment)
    except ApiError as refusal:
        return Reply(refusal.status, refusal.body)
    except UnusableSchemaError as error:
        invalid = ApiError(400, f"Invalid schema: {error}.", param="response_format", code="invalid_json_schema")
        return Reply(invalid.status, invalid.body)
    plain = {name: value for name, value in reply.body.items() if name not in _OPENAIS_OWN}
    return Reply(reply.status, plain, reply.usage)


def check_request(body: Mapping[str, Any], truth: Truth) -> None:
    model, messages = body.get("model"), body.get("messages")
    if not isinstance(model, str) or not model:
        raise ApiError(400, "Missing required parameter: 'model'.", param="model")
    if not exists(model, truth):
        message = f"The model `{model}` does not exist or you do not have access to it."
        raise ApiError(404, message, code="model_not_found")
    if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
        raise ApiError(400, "Missing required parameter: 'messages'.", param="messages")
    refuse_unsimulated(body)
    check_chat_options(body)


def refuse_unsimulated(body: Mapping[str, Any]) -> None:
    """Of a body whose messages are a list of objects."""
    refuse_chat(body)
    for name in _NOT_SIMULATED:
        if body.get(name) is not None:
            raise not_simulated(name)
