"""What OpenAI's API checks before a model is asked: fields, roles, ranges, limits of models, strict schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overnight_emulator.answers.answering import Models
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.prompts import chat_turns, responses_turns
from overnight_emulator.dialects.openai.rules import CHAT, thinks
from overnight_emulator.model_limits import most_input, most_output
from overnight_emulator.strictness import out_of_range, schema_flaw, unknown_field
from overnight_emulator.truth import Truth

_BOTH = frozenset(
    {
        *("metadata", "model", "moderation", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_options"),
        *("prompt_cache_retention", "safety_identifier", "service_tier", "store", "stream", "stream_options"),
        *("temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user"),
    }
)
_CHAT = _BOTH | {
    *("audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens"),
    *("max_tokens", "messages", "modalities", "n", "prediction", "presence_penalty", "reasoning_effort"),
    *("response_format", "seed", "stop", "verbosity", "web_search_options"),
}
_RESPONSES = _BOTH | {
    *("access_programs", "background", "context_management", "conversation", "image", "include", "input"),
    *("instructions", "max_output_tokens", "max_tool_calls", "previous_response_id", "prompt", "reasoning"),
    *("text", "truncation"),
}
_RANGES = {"temperature": (0, 2), "top_p": (0, 1), "frequency_penalty": (-2, 2), "presence_penalty": (-2, 2)}
_CHAT_ROLES = frozenset({"developer", "system", "user", "assistant", "tool", "function"})
_RESPONSE_ROLES = frozenset({"developer", "system", "user", "assistant"})
_NOT_FOR_REASONING = ("frequency_penalty", "presence_penalty", "logit_bias", "top_logprobs")
_CAPS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


def check_strictly(body: Mapping[str, Any], endpoint: str, truth: Truth, models: Models) -> None:
    """Of a body that has passed the rules."""
    chat = endpoint == CHAT
    strange = unknown_field(body, _CHAT if chat else _RESPONSES)
    if strange is not None:
        raise ApiError(400, f"Unknown parameter: '{strange}'.", param=strange, code="unknown_parameter")
    _check_roles(body, chat=chat)
    wrong = out_of_range(body, _RANGES)
    if wrong is not None:
        name, low, high = wrong
        message = f"Invalid '{name}': expected a number from {low:g} to {high:g}, got {body[name]!r}."
        raise ApiError(400, message, param=name, code="decimal_above_max_value")
    if thinks(body["model"]):
        _check_reasoning(body)
    _check_limits(dict(body), truth, models, chat=chat)
    _check_schemas(body, chat=chat)


def _check_roles(body: Mapping[str, Any], *, chat: bool) -> None:
    where, known = ("messages", _CHAT_ROLES) if chat else ("input", _RESPONSE_ROLES)
    said = body[where]
    for place, one in enumerate(said if isinstance(said, list) else ()):
        if (chat or "role" in one) and one.get("role") not in known:
            values = ", ".join(f"'{role}'" for role in sorted(known))
            message = f"Invalid value: '{one.get('role')}'. Supported values are: {values}."
            raise ApiError(400, message, param=f"{where}[{place}].role", code="invalid_value")


def _check_reasoning(body: Mapping[str, Any]) -> None:
    for name in _NOT_FOR_REASONING:
        if body.get(name):
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            raise ApiError(400, message, param=name, code="unsupported_parameter")


def _check_limits(body: dict[str, Any], truth: Truth, models: Models, *, chat: bool) -> None:
    model, longest = body["model"], most_output(body["model"], truth)
    name, asked = next(((one, body[one]) for one in _CAPS if body.get(one)), ("", 0))
    if longest is not None and asked > longest:
        supports = f"This model supports at most {longest} completion tokens, whereas you provided {asked}."
        raise ApiError(400, f"{name} is too large: {asked}. {supports}", param=name, code="invalid_value")
    most = most_input(model, truth)
    if most is None:
        return
    tokens = models.input_tokens(chat_turns(body) if chat else responses_turns(body), model)
    if tokens > most:
        message = f"This model's maximum context length is {most} tokens. However, your messages resulted in {tokens}."
        raise ApiError(400, message, param="messages" if chat else "input", code="context_length_exceeded")


def _check_schemas(body: Mapping[str, Any], *, chat: bool) -> None:
    form = (body.get("response_format") if chat else (body.get("text") or {}).get("format")) or {}
    described = form.get("json_schema") if chat else form
    if form.get("type") == "json_schema" and described and described.get("strict"):
        name = str(described.get("name"))
        _check_schema(described.get("schema"), f"response_format '{name}'", "response_format", "invalid_json_schema")
    for place, tool in enumerate(body.get("tools") or ()):
        function = tool.get("function") if chat else tool
        if tool.get("type") == "function" and isinstance(function, dict) and function.get("strict"):
            what, param = f"function '{function.get('name')}'", f"tools[{place}].parameters"
            _check_schema(function.get("parameters") or {}, what, param, "invalid_function_parameters")


def _check_schema(schema: Any, what: str, param: str, code: str) -> None:
    flaw = schema_flaw(schema, all_required=True)
    if flaw is None:
        return
    context = repr(flaw.place)
    if flaw.wants == "required":
        wanted = "'required' is required to be supplied and to be an array including every key in properties."
        wanted = f"{wanted} Missing '{flaw.missing}'."
    else:
        wanted = "'additionalProperties' is required to be supplied and to be false."
    raise ApiError(400, f"Invalid schema for {what}: In context={context}, {wanted}", param=param, code=code)
