"""Reading a `generateContent` request as a Prompt."""

from __future__ import annotations

from typing import Any

from overnight_emulator.answering import Prompt, Turn
from overnight_emulator.dialects.google.rules import thinks

_ROLES = {"model": "assistant"}
# The most tokens of a thinking budget that is still so little.
_BUDGETS = ((0, "none"), (512, "minimal"), (2_048, "low"), (8_192, "medium"))


def read_prompt(model: str, request: dict[str, Any], digest: bytes) -> Prompt:
    """Of a request in its written form that has passed the rules."""
    config = request.get("generationConfig") or {}
    return Prompt(
        model=model,
        turns=turns_of(request),
        digest=digest,
        schema=config.get("responseJsonSchema") or _json_schema(config.get("responseSchema")),
        wants_json=config.get("responseMimeType") == "application/json",
        max_tokens=config.get("maxOutputTokens"),
        effort=_effort(model, config.get("thinkingConfig") or {}),
    )


def turns_of(request: dict[str, Any]) -> tuple[Turn, ...]:
    """Of any request, whether or not it would pass the rules."""
    contents = request.get("contents")
    said = [one for one in contents if isinstance(one, dict)] if isinstance(contents, list) else []
    turns = [Turn(_ROLES.get(str(one.get("role")), "user"), _text(one)) for one in said]
    system = request.get("systemInstruction")
    return (Turn("system", _text(system)), *turns) if isinstance(system, dict) else tuple(turns)


def _text(content: dict[str, Any]) -> str:
    """The text parts; pictures and sound say nothing to a simulated model."""
    parts = content.get("parts")
    if isinstance(parts, dict):
        parts = [parts]
    if not isinstance(parts, list):
        return ""
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def _effort(model: str, thinking: dict[str, Any]) -> str:
    if not thinks(model):
        return "none"
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is not None:
        return str(level).lower()
    if budget is None or budget < 0:
        return "medium"
    return next((effort for most, effort in _BUDGETS if budget <= most), "high")


def _json_schema(schema: Any) -> Any:
    """A schema in Google's own words (types in capitals) as JSON Schema has it."""
    if isinstance(schema, list):
        return [_json_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            plain[key] = value.lower()
        elif key == "properties" and isinstance(value, dict):
            plain[key] = {name: _json_schema(part) for name, part in value.items()}
        elif key in {"minItems", "maxItems", "minLength", "maxLength"}:
            plain[key] = int(value)  # whole numbers of 64 bits are written as text
        else:
            plain[key] = _json_schema(value) if key in {"items", "anyOf", "prefixItems"} else value
    return plain
