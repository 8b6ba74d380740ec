"""Answers that are to be JSON: whether they are what the schema asks for, and what they say, column by column.

The outermost level is looked at: its type, the fields it requires, and each field's type and listed values. What lies
deeper is kept as JSON text, as it came.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from overnight.core.task import ColumnKind, Row, wider

# No column that every task has, and none of the tasks' own, begins like this.
PREFIX = "answer_"

Kind = ColumnKind | Literal["json"]

_JSON_TYPES: Mapping[type, tuple[str, ...]] = {
    dict: ("object",),
    list: ("array",),
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    type(None): ("null",),
}
_KINDS: Mapping[frozenset[str], Kind] = {
    frozenset({"string"}): "text",
    frozenset({"integer"}): "integer",
    frozenset({"number"}): "number",
    frozenset({"integer", "number"}): "number",
    frozenset({"boolean"}): "boolean",
}
# Values under which no other name can stand.
_PLAIN = frozenset({str, bool, int, float, type(None)})
# What a column of whole numbers can hold.
_LARGEST = 2**63
# References that lead to references: a circle ends here.
_DEEPEST = 20


def decoded(answer: str) -> Any:
    """The answer's JSON; ValueError where it is none, or says two things under one name."""
    try:
        value = msgspec.json.decode(answer)
        if not _has_distinct_names(value, answer):
            _CONTRADICTIONS.decode(answer)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError("no JSON") from error
    return value


def _has_distinct_names(value: Any, answer: str) -> bool:
    """Whether this can be told without a second look: each name needs a colon, and there is one for each that is left.

    Verdicts are read by the million, and few of them have another colon in their explanation.
    """
    return isinstance(value, dict) and answer.count(":") == len(value) and _PLAIN.issuperset(map(type, value.values()))


def _refuse_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs) and any(found[name] != value for name, value in pairs):
        raise ValueError("two values under one name")
    return found


_CONTRADICTIONS = json.JSONDecoder(object_pairs_hook=_refuse_contradiction)


class AnswerSchema:
    """A JSON schema as a reader of answers."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        root = _followed(schema, schema)
        self._types = _types(root, schema) or frozenset({"object", "array"})
        required = root.get("required")
        self._required: Sequence[Any] = required if isinstance(required, list) else ()
        written = root.get("properties")
        properties = written if isinstance(written, dict) and "object" in self._types else {}
        self._properties = {name: _Property(part, schema) for name, part in properties.items()}
        self.columns: dict[str, ColumnKind] = {
            PREFIX + name: "text" if part.kind == "json" else part.kind for name, part in self._properties.items()
        }

    def read(self, answer: str) -> Row | None:
        """The task's columns; None for an answer that is not what the schema asks for: nothing of it is guessed."""
        try:
            value = decoded(answer)
            if self._types.isdisjoint(_JSON_TYPES[type(value)]):
                return None
            if not isinstance(value, dict):
                return {}
            if any(name not in value for name in self._required):
                return None
            there = {name: part for name, part in self._properties.items() if name in value}
            return {PREFIX + name: part.read(value[name]) for name, part in there.items()}
        except ValueError:
            return None


class _Property:
    """One field of the outermost object."""

    def __init__(self, schema: Any, root: Mapping[str, Any]) -> None:
        here = _followed(schema, root)
        self._types = _types(here, root)
        self._listed = here.get("enum") if isinstance(here.get("enum"), list) else None
        self.kind: Kind = _KINDS.get((self._types or frozenset()) - {"null"}, "json")

    def read(self, value: Any) -> Any:
        """As its column holds it; ValueError when the schema does not admit it, or the column cannot hold it."""
        if self.kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        if self._types is not None and self._types.isdisjoint(_JSON_TYPES[type(value)]):
            raise ValueError("another type")
        if self._listed is not None and value not in self._listed:
            raise ValueError("none of the values listed")
        if self.kind == "integer" and value is not None and not -_LARGEST <= value < _LARGEST:
            raise ValueError("too large")
        if value is None:
            return None
        return msgspec.json.encode(value).decode() if self.kind == "json" else value


def columns_of(schemas: Iterable[AnswerSchema]) -> dict[str, ColumnKind]:
    """The columns of them all; one that they disagree on is wide enough for each."""
    found: dict[str, ColumnKind] = {}
    for schema in schemas:
        for name, kind in schema.columns.items():
            found[name] = wider(found.get(name, kind), kind)
    return found


def _followed(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself, or what it refers to inside the whole; empty where nobody can say."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict):
            break
        if "$ref" not in schema:
            return schema
        schema = _referred(schema["$ref"], root)
    return {}


def _referred(reference: Any, root: Mapping[str, Any]) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for step in filter(None, reference[1:].split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _types(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> frozenset[str] | None:
    """The types that are admitted; None where the schema does not say."""
    if "type" in schema:
        written = schema["type"]
        return frozenset(map(str, written if isinstance(written, list) else [written]))
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(listed, list):
        return frozenset(_JSON_TYPES.get(type(value), ("string",))[0] for value in listed)
    parts = list(_alternatives(schema, root))
    if not parts or depth > _DEEPEST:
        return None
    found = [_types(part, root, depth + 1) for part in parts]
    return None if None in found else frozenset().union(*(types for types in found if types is not None))


def _alternatives(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for word in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(word)
        if isinstance(parts, list) and (word != "allOf" or len(parts) == 1):
            yield from (_followed(part, root) for part in parts)
