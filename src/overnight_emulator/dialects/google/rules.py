"""What Gemini models accept: which think, by level or by budget, and which settings they refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.dialects.google.unsimulated import check_parts, refuse_unsimulated
from overnight_emulator.patterns import matches_any
from overnight_emulator.truth import Truth

_GENERATION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_NO_MINIMAL = re.compile(r"gemini-3(?:\.[78]-flash|(?:\.\d)?-pro)")
_ALWAYS_THINKS = re.compile(r"gemini-(?:2\.5-pro|3(?:\.\d)?-pro|3\.6-flash|pro-latest)")
LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
_ROLES = frozenset({"user", "model", "function"})
_MOST_CANDIDATES = 8
_MOST_STOPS = 5
_DYNAMIC = -1


def exists(model: str, truth: Truth) -> bool:
    return not matches_any(model, truth.models.unknown)


def generation(model: str) -> tuple[int, int]:
    """(2, 5) for gemini-2.5-flash; what has no number is taken to be new."""
    found = _GENERATION.match(model)
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)


def thinks(model: str) -> bool:
    return generation(model) >= (2, 5)


def check_request(model: str, request: Mapping[str, Any]) -> None:
    """Raise what Google would answer instead of an answer."""
    contents = request.get("contents")
    if not isinstance(contents, list) or not contents:
        raise GoogleError(400, "* GenerateContentRequest.contents: contents is not specified")
    for place, content in enumerate(contents):
        _check_content(content, place)
    config = _mapping(request, "generationConfig")
    _check_numbers(config)
    _check_schema(config)
    _check_thinking(model, _mapping(config, "thinkingConfig"))
    refuse_unsimulated(request, config)


def _check_content(content: Any, place: int) -> None:
    where = f"GenerateContentRequest.contents[{place}]"
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) for part in parts):
        raise GoogleError(400, f"* {where}.parts: contents.parts must not be empty.")
    check_parts(parts, where)
    if content.get("role", "user") not in _ROLES:
        raise GoogleError(400, "Please use a valid role: user, model.")


def _check_numbers(config: Mapping[str, Any]) -> None:
    for name, low, high in (("temperature", 0, 2), ("topP", 0, 1)):
        value = config.get(name)
        if value is not None and (not isinstance(value, int | float) or not low <= value <= high):
            raise GoogleError(400, f"Unable to submit request because {name} must be in the range [{low}, {high}].")
    limit = config.get("maxOutputTokens")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise GoogleError(400, "max_output_tokens must be positive.")
    count = config.get("candidateCount")
    if count is not None and (not isinstance(count, int) or not 1 <= count <= _MOST_CANDIDATES):
        message = f"Unable to submit request because candidateCount must be in the range [1, {_MOST_CANDIDATES}]."
        raise GoogleError(400, message)
    stops = config.get("stopSequences")
    if stops is not None and (not isinstance(stops, list) or len(stops) > _MOST_STOPS):
        raise GoogleError(400, f"stop_sequences: at most {_MOST_STOPS} are supported.")


def _check_schema(config: Mapping[str, Any]) -> None:
    schemas = [name for name in ("responseSchema", "responseJsonSchema") if config.get(name) is not None]
    if len(schemas) > 1:
        raise GoogleError(400, "Only one of response_schema and response_json_schema can be set.")
    if schemas and config.get("responseMimeType") not in {"application/json", "text/x.enum"}:
        raise GoogleError(400, f"{schemas[0]} requires response_mime_type to be application/json or text/x.enum.")


def _check_thinking(model: str, thinking: Mapping[str, Any]) -> None:
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is None and budget is None:
        return
    if not thinks(model):
        raise GoogleError(400, f"Thinking is not supported for {model}.")
    if level is not None and budget is not None:
        raise GoogleError(400, "You can only set only one of thinking budget and thinking level.")
    if level is not None:
        _check_level(model, str(level).upper())
    elif not isinstance(budget, int) or budget < _DYNAMIC:
        raise GoogleError(400, f"Invalid thinking budget {budget!r}.")
    elif budget == 0 and _ALWAYS_THINKS.match(model):
        raise GoogleError(400, "Budget 0 is invalid. This model only works in thinking mode.")


def _check_level(model: str, level: str) -> None:
    if level not in LEVELS:
        raise GoogleError(400, f"Invalid value at 'generation_config.thinking_config.thinking_level': {level}.")
    if generation(model) < (3, 0):
        raise GoogleError(400, "Thinking level is not supported for this model.")
    if level == "MINIMAL" and _NO_MINIMAL.match(model):
        raise GoogleError(400, "Thinking level MINIMAL is not supported for this model.")


def _mapping(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise GoogleError(400, f"Invalid value at '{name}': expected an object.")
    return value
