"""Walking through a JSON schema, wherever its objects are."""

from collections.abc import Iterator
from typing import Any


def objects_in(schema: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object with properties, at any depth, and the place it is at."""
    if isinstance(schema, list):
        for place, part in enumerate(schema):
            yield from objects_in(part, f"{where}[{place}]")
    if not isinstance(schema, dict):
        return
    fields = schema.get("properties")
    if isinstance(fields, dict):
        yield where, schema
        for name, part in fields.items():
            yield from objects_in(part, f"{where}.{name}")
    for word in ("items", "anyOf"):
        yield from objects_in(schema.get(word), f"{where}.{word}")
    for word in ("$defs", "definitions"):
        named = schema.get(word)
        for name, part in named.items() if isinstance(named, dict) else ():
            yield from objects_in(part, f"{where}.{word}.{name}")
