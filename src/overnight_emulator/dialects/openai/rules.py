"""What OpenAI's models accept: which think, which parameters they refuse, which endpoint they answer on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from overnight_emulator.answers.answering import EFFORTS
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.unsimulated import refuse_chat, refuse_responses
from overnight_emulator.patterns import matches_any
from overnight_emulator.truth import Truth

_REASONING = re.compile(r"^(?:o\d|gpt-(?:[5-9]|\d\d))")
_RESPONSES_ONLY = re.compile(r"-pro(?:-|$)|codex|deep-research")
_MOST_CHOICES = 128
_MAY_LEAVE_OUT = re.compile(r"^gpt-5\.\d(?!.*(?:-pro(?:-|$)|codex))")
_NO_STOP = re.compile(r"^(?:o3|o4-mini)")

_TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
_MOST_TOP = 20
_MOST_STOPS = 4

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
EMBEDDINGS = "/v1/embeddings"
MODERATIONS = "/v1/moderations"


@lru_cache(1_000)
def thinks(model: str) -> bool:
    return _REASONING.match(model) is not None and not model.endswith("-chat-latest")


def exists(model: str, truth: Truth) -> bool:
    return not matches_any(model, truth.models.unknown)


# The snapshots that short names stand for; other names are said back as they are.
_SNAPSHOTS = {
    **dict.fromkeys(("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"), "2025-04-14"),
    "gpt-4o": "2024-08-06",
    "gpt-4o-mini": "2024-07-18",
    **dict.fromkeys(("gpt-5", "gpt-5-mini", "gpt-5-nano"), "2025-08-07"),
    "gpt-5.1": "2025-11-13",
    **dict.fromkeys(("o3", "o4-mini"), "2025-04-16"),
}


def served_name(model: str) -> str:
    """The model that answers, as the service names it: a snapshot with its date."""
    return f"{model}-{_SNAPSHOTS[model]}" if model in _SNAPSHOTS else model


def tier_of(body: Mapping[str, Any]) -> str:
    """The tier that a request is run in: what is asked for, or the usual one."""
    asked = body.get("service_tier") or "auto"
    return "default" if asked == "auto" else str(asked)


def check_request(body: Mapping[str, Any], endpoint: str, truth: Truth) -> None:
    """Raise what the provider would answer instead of an answer."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise ApiError(400, "you must provide a model parameter", param="model")
    if not exists(model, truth):
        message = f"The model `{model}` does not exist or you do not have access to it."
        raise ApiError(404, message, code="model_not_found")
    if endpoint in {EMBEDDINGS, MODERATIONS}:
        return
    if endpoint == CHAT:
        _check_chat(body, model)
        refuse_chat(body)
    else:
        _check_responses(body, model)
        refuse_responses(body)
    if thinks(model) and not _left_out(body, model):
        _check_sampling(body)
    tier = body.get("service_tier")
    if tier is not None and tier not in _TIERS:
        message = f"Invalid value: '{tier}'. Supported values are: {', '.join(_TIERS)}."
        raise ApiError(400, message, param="service_tier", code="invalid_value")


def _check_chat(body: Mapping[str, Any], model: str) -> None:
    if _RESPONSES_ONLY.search(model):
        message = "This model is only supported in v1/responses and not in v1/chat/completions."
        raise ApiError(400, message, param="model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(item, dict) for item in messages):
        raise _missing("messages")
    if thinks(model):
        if body.get("max_tokens") is not None:
            raise _unsupported("max_tokens", "is not supported with this model. Use 'max_completion_tokens' instead.")
        if _NO_STOP.match(model) and body.get("stop") is not None:
            raise _unsupported("stop", "is not supported with this model.")
        if body.get("logprobs") and not _left_out(body, model):
            raise _unsupported("logprobs", "is not supported with this model.")
    check_chat_options(body)
    _check_effort(body.get("reasoning_effort"), "reasoning_effort", model)
    form = _mapping(body, "response_format")
    if form.get("type") == "json_schema":
        _check_schema(form.get("json_schema"), "response_format.json_schema")
    if form.get("type") == "json_object":
        _check_mentions_json(messages, "messages")


def check_chat_options(body: Mapping[str, Any]) -> None:
    """What every API of this form limits, whoever's models answer."""
    _check_stop(body.get("stop"))
    _check_logprobs(body, asked=bool(body.get("logprobs")))
    for name in ("max_tokens", "max_completion_tokens"):
        _check_limit(body, name)
    _check_limit(body, "n", most=_MOST_CHOICES)


def _check_responses(body: Mapping[str, Any], model: str) -> None:
    if not isinstance(body.get("input"), str | list):
        raise _missing("input")
    _check_effort(_mapping(body, "reasoning").get("effort"), "reasoning.effort", model)
    _check_limit(body, "max_output_tokens")
    _check_logprobs(body, asked=True)
    form = _mapping(_mapping(body, "text"), "format")
    if form.get("type") == "json_schema":
        _check_schema(form, "text.format")
    if form.get("type") == "json_object":
        _check_mentions_json([body["input"], body.get("instructions")], "input")


def _left_out(body: Mapping[str, Any], model: str) -> bool:
    """Whether a model that can answer without thinking does: it then takes what every other model takes."""
    effort = body.get("reasoning_effort") or _mapping(body, "reasoning").get("effort")
    return _MAY_LEAVE_OUT.match(model) is not None and effort in (None, "none")


def _check_sampling(body: Mapping[str, Any]) -> None:
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if value is not None and value != 1:
            message = (
                f"Unsupported value: '{name}' does not support {value} with this model."
                " Only the default (1) value is supported."
            )
            raise ApiError(400, message, param=name, code="unsupported_value")


def _check_stop(stop: object) -> None:
    listed = [stop] if isinstance(stop, str) else [] if stop is None else stop
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise ApiError(400, "Invalid type for 'stop': expected a string or strings.", param="stop", code="invalid_type")
    if len(listed) > _MOST_STOPS:
        message = f"Invalid 'stop': array too long. Expected at most {_MOST_STOPS}, got {len(listed)}."
        raise ApiError(400, message, param="stop", code="array_above_max_length")


def _check_logprobs(body: Mapping[str, Any], *, asked: bool) -> None:
    top = body.get("top_logprobs")
    if top is None:
        return
    if not asked:
        raise ApiError(400, "'top_logprobs' needs 'logprobs' to be true.", param="top_logprobs", code="invalid_value")
    if not isinstance(top, int) or isinstance(top, bool) or not 0 <= top <= _MOST_TOP:
        message = f"Invalid 'top_logprobs': expected a whole number from 0 to {_MOST_TOP}, got {top!r}."
        raise ApiError(400, message, param="top_logprobs", code="invalid_value")


def _check_effort(effort: object, param: str, model: str) -> None:
    if effort is None:
        return
    if not thinks(model):
        raise _unsupported(param, "is not supported with this model.")
    if effort not in EFFORTS:
        message = f"Invalid value: '{effort}'. Supported values are: {', '.join(EFFORTS)}."
        raise ApiError(400, message, param=param, code="invalid_value")


def _check_limit(body: Mapping[str, Any], name: str, most: int | None = None) -> None:
    limit = body.get(name)
    if limit is None:
        return
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        message = f"Invalid '{name}': expected a whole number of at least 1, got {limit!r}."
        raise ApiError(400, message, param=name, code="integer_below_min_value")
    if most is not None and limit > most:
        message = f"Invalid '{name}': expected a whole number of at most {most}, got {limit}."
        raise ApiError(400, message, param=name, code="integer_above_max_value")


def _check_schema(described: object, param: str) -> None:
    if not isinstance(described, dict) or not isinstance(described.get("schema"), dict):
        raise _missing(f"{param}.schema")
    if not isinstance(described.get("name"), str):
        raise _missing(f"{param}.name")


def _check_mentions_json(texts: object, param: str) -> None:
    if "json" not in str(texts).lower():
        message = f"'{param}' must contain the word 'json' in some form, to use json_object."
        raise ApiError(400, message, param=param)


def _mapping(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ApiError(400, f"Invalid type for '{name}': expected an object.", param=name, code="invalid_type")
    return value


def _missing(param: str) -> ApiError:
    return ApiError(400, f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")


def _unsupported(param: str, why: str) -> ApiError:
    return ApiError(400, f"Unsupported parameter: '{param}' {why}", param=param, code="unsupported_parameter")
