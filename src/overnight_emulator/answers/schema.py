"""Structured output: a JSON document that is valid for a JSON schema.

Understood are types, enum, const, properties, required, items, prefixItems, bounds of lengths and numbers, anyOf and
oneOf (the first), allOf and `$ref`. A string's `format` and `pattern` are not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

# Below this depth a schema that refers to itself is brought to an end as soon as it allows.
_DEEP = 5
_USUAL_SPAN = 9
_LARGEST_LIST = 3
_SCALE_WIDTH = 20
# No model answers with more than this; a schema that wants more would fill the memory.
_MOST_VALUES = 10_000
_MOST_CHARACTERS = 1_000_000
_COMPOSITE = ("anyOf", "oneOf", "allOf")


class Author(Protocol):
    """Who fills the document in: `name` is the property (or the place in a list) that is wanted."""

    def decide(self, name: str, alternatives: Sequence[Any]) -> Any: ...

    def text(self, name: str) -> str: ...

    def number(self, name: str) -> float:
        """Between 0 and 1, without 1."""

    def length(self, name: str, alternatives: Sequence[Any]) -> int | None:
        """How many decisions a list of them has, where what they are about can be counted."""


class UnusableSchemaError(ValueError):
    """A schema that cannot be followed: a reference to nowhere, a bound that is no number."""


def document(schema: Mapping[str, Any], author: Author) -> Any:
    try:
        return _Writer(schema, author).value(schema, "answer", 0)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise UnusableSchemaError(str(error)) from error


class _Writer:
    def __init__(self, root: Mapping[str, Any], author: Author) -> None:
        self._root = root
        self._author = author
        self._values = 0

    def value(self, schema: Any, name: str, depth: int) -> Any:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise ValueError(f"it wants more than {_MOST_VALUES:,} values")
        if not isinstance(schema, Mapping):
            return self._author.text(name)
        schema = self._resolved(schema, depth)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._author.decide(name, schema["enum"])
        write: Callable[[Mapping[str, Any], str, int], Any] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": self._integer,
            "number": self._number,
            "boolean": lambda _schema, name, _depth: self._author.decide(name, (True, False)),
            "null": lambda _schema, _name, _depth: None,
        }.get(_type(schema), self._string)
        return write(schema, name, depth)

    def _resolved(self, schema: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
        """Follow references and choose among alternatives until a plain schema is left."""
        for _ in range(100):
            if "$ref" in schema:
                rest = {key: value for key, value in schema.items() if key != "$ref"}
                schema = {**self._target(schema["$ref"]), **rest}
            elif any(schema.get(key) for key in _COMPOSITE):
                schema = self._merged(schema, depth)
            else:
                break
        return schema

    def _merged(self, schema: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
        parts = list(schema.get("allOf") or ())
        parts += [self._chosen(schema[key], depth) for key in ("anyOf", "oneOf") if schema.get(key)]
        merged = {key: value for key, value in schema.items() if key not in _COMPOSITE}
        for part in parts:
            merged = _joined(merged, self._resolved(part, depth))
        return merged

    def _chosen(self, options: Sequence[Mapping[str, Any]], depth: int) -> Mapping[str, Any]:
        """The first; deep down, the first that ends there."""
        if depth < _DEEP:
            return options[0]
        return next((option for option in options if _type(option) in _ENDS and "$ref" not in option), options[0])

    def _target(self, reference: str) -> Mapping[str, Any]:
        place: Any = self._root
        for step in reference.lstrip("#").strip("/").split("/"):
            if step:
                place = place[step.replace("~1", "/").replace("~0", "~")]
        if not isinstance(place, Mapping):
            raise TypeError(f"{reference} is no schema")
        return place

    def _object(self, schema: Mapping[str, Any], _: str, depth: int) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties") or {}
        required = list(schema.get("required") or ())
        names = [key for key in properties if depth < _DEEP or key in required]
        names += [key for key in required if key not in properties]
        more = schema.get("additionalProperties", True)
        for index in range(len(names), min(schema.get("minProperties", 0), _MOST_VALUES + 1)):
            names.append(f"property_{index + 1}")
        return {key: self.value(properties.get(key, more), key, depth + 1) for key in names}

    def _array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        first: Sequence[Any] = schema.get("prefixItems") or ()
        least = max(schema.get("minItems", 0), len(first))
        most = max(least, min(schema.get("maxItems", _LARGEST_LIST), max(least, _LARGEST_LIST)))
        further = schema.get("items", True)
        if further is False:
            most = len(first)
        length = least if depth >= _DEEP else least + int(self._author.number(f"{name}#") * (most - least + 1))
        counted = self._author.length(name, _alternatives(further))
        if counted is not None:
            length = max(least, min(counted, schema.get("maxItems", counted)))
        items: list[Any] = []
        for index in range(length):
            kind = first[index] if index < len(first) else further
            item = self.value(kind, f"{name}[{index}]", depth + 1)
            if schema.get("uniqueItems") and item in items and index >= least:
                continue
            items.append(item)
        return items

    def _string(self, schema: Mapping[str, Any], name: str, _: int) -> str:
        text = self._author.text(name)
        least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
        if least > _MOST_CHARACTERS:
            raise ValueError(f"it wants a text of more than {_MOST_CHARACTERS:,} characters")
        if len(text) < least:
            text = (text + " ") * (least // (len(text) + 1) + 1)
            text = text[: max(least, 1)]
        return text if len(text) <= most else text[: int(most)]

    def _integer(self, schema: Mapping[str, Any], name: str, _: int) -> int:
        step = schema.get("multipleOf", 1)
        low, high = _bounds(schema, closest=1)
        first, last = math.ceil(low / step), math.floor(high / step)
        if schema.get("minimum") is not None and last - first < _SCALE_WIDTH and _has_top(schema):
            return int(self._author.decide(name, [number * step for number in range(first, last + 1)]))
        return int((first + int(self._author.number(name) * (last - first + 1))) * step)

    def _number(self, schema: Mapping[str, Any], name: str, _: int) -> float:
        step = schema.get("multipleOf")
        low, high = _bounds(schema, closest=1e-9)
        if not _BOUNDS & schema.keys() and _IS_SHARE.search(name):
            low, high = 0.0, 1.0
        draw = self._author.number(name)
        if step:
            first, last = math.ceil(low / step), math.floor(high / step)
            return float((first + int(draw * (last - first + 1))) * step)
        return min(max(round(low + draw * (high - low), 3), low), high)


_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
# What is called so goes from 0 to 1, whether a schema says so or not.
_IS_SHARE = re.compile("confiden|certain|probab|share", re.IGNORECASE)
_ENDS = frozenset({"null", "string", "integer", "number", "boolean"})


def _alternatives(schema: Any) -> Sequence[Any]:
    """What may stand at each place of a list of decisions; nothing for any other list."""
    return schema.get("enum") or () if isinstance(schema, Mapping) else ()


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(kind)


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both schemas at once, as far as that can be said in one."""
    joined = {**one, **other}
    joined["properties"] = {**(one.get("properties") or {}), **(other.get("properties") or {})}
    joined["required"] = [*(one.get("required") or ()), *(other.get("required") or ())]
    return {key: value for key, value in joined.items() if value or key not in {"properties", "required"}}


def _has_top(schema: Mapping[str, Any]) -> bool:
    return schema.get("maximum") is not None or schema.get("exclusiveMaximum") is not None


def _bounds(schema: Mapping[str, Any], closest: float) -> tuple[float, float]:
    """The least and the greatest value; one side is enough to find the other."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("exclusiveMinimum") is not None:
        low = max(schema["exclusiveMinimum"] + closest, -math.inf if low is None else low)
    if schema.get("exclusiveMaximum") is not None:
        high = min(schema["exclusiveMaximum"] - closest, math.inf if high is None else high)
    span = max(_USUAL_SPAN, 2 * schema.get("multipleOf", 1))
    if low is None:
        low = 0 if high is None else high - span
    return low, low + span if high is None else high
