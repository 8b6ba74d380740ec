"""Reading a `generateContent` request as a Prompt."""

from __future__ import annotations

from typing import Any

import msgspec

from overnight_emulator.answers.answering import Prompt, Turn
from overnight_emulator.batches.rows import Shape
from overnight_emulator.dialects.google.rules import thinks
from overnight_emulator.dialects.google.schemas import json_schema
from overnight_emulator.dialects.google.tools import offer_of

_ROLES = {"model": "assistant"}
_write = msgspec.json.Encoder().encode
# The most tokens of a thinking budget that is still so little.
_BUDGETS = ((0, "none"), (512, "minimal"), (2_048, "low"), (8_192, "medium"))


def read_prompt(model: str, request: dict[str, Any], digest: bytes) -> Prompt:
    """Of a request in its written form that has passed the rules."""
    config = request.get("generationConfig") or {}
    return Prompt(
        model=model,
        turns=turns_of(request),
        digest=digest,
        schema=config.get("responseJsonSchema") or json_schema(config.get("responseSchema")),
        wants_json=config.get("responseMimeType") == "application/json",
        max_tokens=config.get("maxOutputTokens"),
        effort=_effort(model, config.get("thinkingConfig") or {}),
        offer=offer_of(request),
        stops=tuple(config.get("stopSequences") or ()),
    )


def turns_of(request: dict[str, Any]) -> tuple[Turn, ...]:
    """Of any request, whether or not it would pass the rules."""
    contents = request.get("contents")
    said = [one for one in contents if isinstance(one, dict)] if isinstance(contents, list) else []
    turns = [_turn(one, _ROLES.get(str(one.get("role")), "user")) for one in said]
    system = request.get("systemInstruction")
    return (_turn(system, "system"), *turns) if isinstance(system, dict) else tuple(turns)


def content_shape(request: dict[str, Any]) -> Shape | None:
    """Of contents that are a role and one text each; the name of the model stands beside them."""
    contents = request.get("contents")
    if type(contents) is not list:
        return None
    turns: list[Turn] = []
    roles: list[str] = []
    for content in contents:
        if type(content) is not dict or len(content) != 2:
            return None
        role, parts = content.get("role"), content.get("parts")
        part = parts[0] if type(parts) is list and len(parts) == 1 else None
        text = part.get("text") if type(part) is dict and len(part) == 1 else None
        if type(role) is not str or type(text) is not str or not text:
            return None
        roles.append(role)
        turns.append(Turn(_ROLES.get(role, "user"), text))
    system = request.get("systemInstruction")
    head = (_turn(system, "system"),) if isinstance(system, dict) else ()
    return Shape(_write({**request, "contents": roles}), (*head, *turns))


def _turn(content: dict[str, Any], role: str) -> Turn:
    """Words and calls are read; pictures and sound are counted, and say nothing to a simulated model."""
    parts = content.get("parts")
    if isinstance(parts, dict):
        parts = [parts]
    parts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    answered = any("functionResponse" in part for part in parts)
    texts = [text for text in map(_text, parts) if text is not None]
    files = sum("inlineData" in part or "fileData" in part for part in parts)
    return Turn("tool" if answered else role, "\n".join(texts), files)


def _text(part: dict[str, Any]) -> str | None:
    if "text" in part:
        return str(part["text"])
    told = next((part[name] for name in ("functionCall", "functionResponse") if name in part), None)
    return None if told is None else msgspec.json.encode(told).decode()


def _effort(model: str, thinking: dict[str, Any]) -> str:
    if not thinks(model):
        return "none"
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is not None:
        return str(level).lower()
    if budget is None or budget < 0:
        return "medium"
    return next((effort for most, effort in _BUDGETS if budget <= most), "high")
