"""Strictness: what the providers' own checks refuse before a model is asked, and what every dialect looks for alike."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

_OBJECTS = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


class SchemaFlaw(NamedTuple):
    """What a strict schema lacks: where, and in which words the flaw can be named."""

    place: tuple[str, ...]
    wants: str
    missing: str = ""


def unknown_field(body: Mapping[str, Any], known: Collection[str]) -> str | None:
    return next((name for name in body if name not in known), None)


def out_of_range(body: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]) -> tuple[str, float, float] | None:
    """The first number that is not one, or lies outside of its bounds."""
    for name, (low, high) in ranges.items():
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            return name, low, high
    return None


def schema_flaw(schema: Any, *, all_required: bool) -> SchemaFlaw | None:
    """What keeps a schema from being strict: objects that allow more, or that do not want all that they name."""
    for place, part in _objects(schema, (), 0):
        if part.get("additionalProperties") is not False:
            return SchemaFlaw(place, "additionalProperties")
        required = part.get("required") or ()
        missing = next((name for name in part.get("properties") or {} if name not in required), None)
        if all_required and missing is not None:
            return SchemaFlaw(place, "required", missing)
    return None


def _objects(schema: Any, place: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every object within a schema, itself first."""
    if not isinstance(schema, Mapping) or depth > 100:
        return
    kind = schema.get("type")
    if kind == "object" or (isinstance(kind, list) and "object" in kind) or (kind is None and "properties" in schema):
        yield place, schema
    for group in _OBJECTS:
        inner = schema.get(group)
        for name, part in inner.items() if isinstance(inner, Mapping) else ():
            yield from _objects(part, (*place, group, str(name)), depth + 1)
    for group in _LISTS:
        listed = schema.get(group)
        for number, part in enumerate(listed if isinstance(listed, list) else ()):
            yield from _objects(part, (*place, group, str(number)), depth + 1)
    yield from _objects(schema.get("items"), (*place, "items"), depth + 1)
