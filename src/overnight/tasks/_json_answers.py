"""Answers that are to be JSON: a first look at whether they are what the schema asks for."""

from collections.abc import Mapping
from typing import Any

import msgspec

_JSON_TYPES: Mapping[type, tuple[str, ...]] = {
    dict: ("object",),
    list: ("array",),
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    type(None): ("null",),
}


def admits(schema: Mapping[str, Any], answer: str) -> bool:
    """Whether the answer is JSON of the schema's outermost type, with every field it requires there."""
    try:
        value = msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    wanted = schema.get("type", ["object", "array"])
    types = wanted if isinstance(wanted, list) else [wanted]
    if not any(kind in types for kind in _JSON_TYPES[type(value)]):
        return False
    required = schema.get("required", [])
    return not isinstance(value, dict) or all(name in value for name in required)
