"""Prompts that ask for JSON in words alone: what they want is read off the example or the schema that they show."""

from __future__ import annotations

import json
import re
from typing import Any

_ASKED = re.compile(
    r"\b(?:respond|reply|answer|return|output|produce|provide|write|give|generate|format|formatted)\b[^.\n]{0,100}\bjson\b"
    r"|\bjson\b[^.\n]{0,60}\b(?:only|object|format|array|list)\b",
    re.IGNORECASE,
)
_FIELD = re.compile(r'"(\w+)"\s*:')
_LONGEST = 20_000
_MOST_TRIED = 50
# Of an object that is asked for and not shown.
ANY_FIELDS = {"answer": {"type": "string"}}
_ANYTHING = {"type": "object", "properties": ANY_FIELDS}


def wanted_schema(text: str) -> dict[str, Any] | None:
    """A schema of what an instruction asks for; None when it asks for no JSON."""
    if _ASKED.search(text) is None:
        return None
    shown = _shown(text)
    if shown is None:
        named = dict.fromkeys(_FIELD.findall(text))
        fields: dict[str, Any] = {name: {"type": "string"} for name in named}
        return {"type": "object", "properties": fields, "required": list(fields)} if fields else _ANYTHING
    if isinstance(shown, dict) and isinstance(shown.get("properties"), dict):
        return shown
    return _schema(shown)


def _shown(text: str) -> Any:
    """The last object or list of JSON in a text."""
    decoder = json.JSONDecoder()
    place, found = 0, None
    for _ in range(_MOST_TRIED):
        opening = re.compile(r"[{\[]").search(text, place, _LONGEST)
        if opening is None:
            break
        try:
            value, place = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            place = opening.start() + 1
            continue
        found = value or found
    return found


def _schema(example: Any) -> dict[str, Any]:
    if isinstance(example, dict):
        fields = {str(name): _schema(value) for name, value in example.items()}
        return {"type": "object", "properties": fields, "required": list(fields)}
    if isinstance(example, list):
        return {"type": "array", "items": _schema(example[0]) if example else {"type": "string"}, "minItems": 1}
    kinds = {bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds.get(type(example), "string")}
