"""What this emulator does not do of OpenAI's API: refused by name, so that nobody takes silence for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overnight_emulator.dialects.openai.errors import ApiError

CHAT_PARTS = frozenset({"text", "image_url", "input_audio", "file", "refusal"})
RESPONSE_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file", "refusal", "summary_text"})
ITEMS = frozenset(
    {
        *("message", "reasoning", "function_call", "function_call_output"),
        *("custom_tool_call", "custom_tool_call_output"),
    }
)
_CHAT = frozenset({"audio", "prediction", "web_search_options", "moderation"})
_RESPONSES = frozenset({"prompt", "conversation", "context_management", "moderation", "image", "access_programs"})
_INCLUDED = frozenset({"message.output_text.logprobs", "reasoning.encrypted_content"})


def refuse_chat(body: Mapping[str, Any]) -> None:
    _refuse(body, _CHAT)
    if "modalities" in body and "audio" in (body["modalities"] or ()):
        raise not_simulated("modalities")
    for place, message in enumerate(body["messages"]):
        content = message.get("content")
        if type(content) is not str:
            _check_parts(content, CHAT_PARTS, f"messages[{place}].content")


def refuse_responses(body: Mapping[str, Any]) -> None:
    _refuse(body, _RESPONSES)
    for wanted in body.get("include") or ():
        if wanted not in _INCLUDED:
            raise not_simulated(f"include: {wanted}")
    said = body.get("input")
    for place, item in enumerate(said if isinstance(said, list) else ()):
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if kind not in ITEMS:
            raise not_simulated(f"input[{place}].type: {kind}")
        content = item.get("output") if str(kind).endswith("_output") else item.get("content")
        _check_parts(content, RESPONSE_PARTS, f"input[{place}].content")


def _refuse(body: Mapping[str, Any], names: frozenset[str]) -> None:
    if names.isdisjoint(body):  # as with nearly every row of a batch
        return
    for name in sorted(names):
        if body.get(name) is not None:
            raise not_simulated(name)


def not_simulated(what: str) -> ApiError:
    message = f"'{what}' is not simulated by this emulator. Send the request without it."
    return ApiError(400, message, param=what.partition(":")[0], code="unsupported_parameter")


def _check_parts(content: Any, known: frozenset[str], param: str) -> None:
    for place, part in enumerate(content if isinstance(content, list) else ()):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in known:
            message = f"Invalid value: '{kind}'. Supported values are: {', '.join(sorted(known))}."
            raise ApiError(400, message, param=f"{param}[{place}].type", code="invalid_value")
