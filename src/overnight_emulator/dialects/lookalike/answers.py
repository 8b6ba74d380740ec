"""One chat completion of a look-alike: fewer rules than OpenAI has, since its models are other people's."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from overnight_emulator.answering import EFFORTS, Models, Prompt
from overnight_emulator.dialects.openai.chat import complete
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.prompts import chat_prompt
from overnight_emulator.dialects.openai.rules import exists
from overnight_emulator.rows import Reply, canonical
from overnight_emulator.schema import UnusableSchemaError
from overnight_emulator.truth import Truth

_LIMITS = ("max_tokens", "max_completion_tokens", "n")
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
    for name in _LIMITS:
        limit = body.get(name)
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise ApiError(400, f"Invalid '{name}': expected a whole number of at least 1.", param=name)
