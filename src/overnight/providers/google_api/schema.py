"""JSON schemas for Google: as they are where a model reads JSON Schema, else in the smaller language that it reads.

Vertex takes its input through an importer of tables, which knows no `$` names, no empty objects and no more than
15 levels: there a schema goes in the smaller language, with every reference written out.
"""

import re
from collections.abc import Iterator
from typing import Any

# The words of the smaller language; all others say nothing that it could use.
_KEPT = frozenset(
    {
        *("type", "format", "title", "description", "nullable", "enum", "items", "prefixItems", "properties"),
        *("required", "anyOf", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern"),
        *("propertyOrdering", "minProperties", "maxProperties"),
    }
)
_COLUMN = re.compile(r"[A-Za-z_]\w{0,299}")
_DEEPEST = 30


class UnwritableSchemaError(ValueError):
    """A schema that has no form in the smaller language."""


def smaller(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema in the smaller language."""
    return _smaller(schema, schema, 0)


def schema_problems(schema: dict[str, Any], *, imported: bool) -> Iterator[str]:
    """What keeps a schema from being sent in the smaller language; `imported`: through an importer of tables."""
    try:
        small = smaller(schema)
    except UnwritableSchemaError as error:
        yield f"json_schema: {error}"
        return
    if imported:
        yield from (f"json_schema: {found}" for found in dict.fromkeys(_unimportable(small, 0)))


def _smaller(schema: Any, root: dict[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict):
        raise UnwritableSchemaError(f"{schema!r} in place of a schema; write what is wanted there")
    if depth > _DEEPEST:
        raise UnwritableSchemaError("it refers to itself, which this model cannot follow; write it out")
    if "$ref" in schema:
        beside = {word: value for word, value in schema.items() if word != "$ref"}
        return _smaller({**_target(schema["$ref"], root), **beside}, root, depth + 1)
    small: dict[str, Any] = {}
    for word, value in _plain_words(schema).items():
        if word == "properties":
            small[word] = {name: _smaller(part, root, depth + 1) for name, part in value.items()}
        elif word == "items":
            small[word] = _smaller(value, root, depth + 1)
        elif word in ("anyOf", "prefixItems"):
            small[word] = [_smaller(part, root, depth + 1) for part in value]
        elif word in _KEPT:
            small[word] = value
    return small


def _plain_words(schema: dict[str, Any]) -> dict[str, Any]:
    """With the words that JSON Schema has more of put into those that there are."""
    words = dict(schema)
    if "oneOf" in words:
        words.setdefault("anyOf", words["oneOf"])
    if "const" in words:
        words["enum"] = [words["const"]]
    kinds = words.get("type")
    if isinstance(kinds, list):
        real = [kind for kind in kinds if kind != "null"]
        if len(real) != 1:
            raise UnwritableSchemaError(f"`type: {kinds}`; write one type, or `anyOf`")
        words |= {"type": real[0]} | ({"nullable": True} if len(real) < len(kinds) else {})
    if "allOf" in words:
        raise UnwritableSchemaError("`allOf` has no counterpart at this model; write the parts as one")
    return words


def _target(reference: Any, root: dict[str, Any]) -> dict[str, Any]:
    place: Any = root
    for step in str(reference).lstrip("#").strip("/").split("/"):
        place = place.get(step) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        raise UnwritableSchemaError(f"`$ref: {reference}` points nowhere")
    return place


def _unimportable(value: Any, depth: int) -> Iterator[str]:
    # The schema itself stands four levels deep in a line.
    if depth + 4 > 15:
        yield "nested too deeply for Vertex, which reads 15 levels; make it flatter"
        return
    if isinstance(value, list):
        for part in value:
            yield from _unimportable(part, depth + 1)
    if not isinstance(value, dict):
        return
    if not value:
        yield "an empty object, which Vertex cannot read; say what is wanted there"
    for name, part in value.items():
        if not _COLUMN.fullmatch(name):
            yield f"the field '{name}'; Vertex reads names of letters, digits and _ only"
        yield from _unimportable(part, depth + 1)
