"""A schema in Google's own words (types in capitals) as JSON Schema has it."""

from __future__ import annotations

from typing import Any

_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength"})
_INNER = frozenset({"items", "anyOf", "prefixItems"})


def json_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [json_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            plain[key] = value.lower()
        elif key == "properties" and isinstance(value, dict):
            plain[key] = {name: json_schema(part) for name, part in value.items()}
        elif key in _COUNTS:
            plain[key] = int(value)  # whole numbers of 64 bits are written as text
        else:
            plain[key] = json_schema(value) if key in _INNER else value
    return plain
