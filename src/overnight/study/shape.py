"""Turning what was written into typed values, and what does not fit into a sentence with its place."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from overnight.core.errors import StudyError
from overnight.core.wording import found_text
from overnight.study.origin import Origin, Route

T = TypeVar("T")

_MISFIT = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `[^`]*`")
_ABSENT = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_PLACE = re.compile(r" - at (?P<key>`key` in )?`\$(?P<steps>[^`]*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}


class _UnwritableError(Exception):
    """A value that has no form in a file."""


def plain_settings(value: Any, origin: Origin, route: Route) -> Any:
    """Lists, mappings and scalars only: what a program hands over in the form that a file has."""
    try:
        plain = msgspec.to_builtins(value, builtin_types=(bytes, bytearray), enc_hook=_path_text)
    except _UnwritableError as error:
        raise origin.error(route, f"a value of type {error} cannot be written in a study") from None
    except RecursionError:
        raise origin.error(route, "nested too deeply") from None
    _refuse_unsendable(plain, origin, route)
    return plain


def _path_text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise _UnwritableError(type(value).__name__)


def _refuse_unsendable(value: Any, origin: Origin, route: Route) -> None:
    """JSON has no place for these, and would lose them or fail long after the study was accepted."""
    match value:
        case str() if not value.isascii() and not _encodes(value):
            raise origin.error(route, "half a character (a lone surrogate) cannot be sent")
        case int() if not -(2**63) <= value < 2**63:
            raise origin.error(route, f"{found_text(value).removeprefix('the number ')} does not fit into 64 bits")
        case float() if not math.isfinite(value):
            raise origin.error(route, f"{value} is no number that can be sent")
        case bytes() | bytearray():
            raise origin.error(route, f"a value of type {type(value).__name__} cannot be written in a study")
        case dict():
            for key, inner in value.items():
                _refuse_unsendable(key, origin, route)
                _refuse_unsendable(inner, origin, (*route, key))
        case list() | tuple():
            for index, inner in enumerate(value):
                _refuse_unsendable(inner, origin, (*route, index))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shaped(raw: Mapping[str, Any], kind: type[T], origin: Origin) -> T:
    """The mapping as a struct of this kind; every key must be one of its fields, at every depth."""
    _refuse_unknown_keys(raw, inspect.type_info(kind), (), origin)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _in_words(str(error), raw, origin) from None


def _refuse_unknown_keys(value: Any, kind: inspect.Type, route: Route, origin: Origin) -> None:
    if isinstance(kind, inspect.UnionType):
        for one in kind.types:
            _refuse_unknown_keys(value, one, route, origin)
    elif isinstance(kind, inspect.StructType) and isinstance(value, dict):
        fields = {field.name: field.type for field in kind.fields}
        for key, inner in value.items():
            if key not in fields:
                raise origin.unknown_key(route, str(key), fields)
            _refuse_unknown_keys(inner, fields[key], (*route, key), origin)
    elif isinstance(kind, inspect.ListType) and isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _refuse_unknown_keys(inner, kind.item_type, (*route, index), origin)


def _in_words(message: str, raw: Any, origin: Origin) -> StudyError:
    place = _PLACE.search(message)
    steps = _STEP.finditer(place["steps"]) if place else ()
    route: Route = tuple(step[1] or int(step[2]) for step in steps)
    if absent := _ABSENT.match(message):
        return origin.error(route, f"`{absent['field']}` is missing")
    if place and place["key"]:
        return origin.error(route, "the keys must be text")
    misfit = _MISFIT.match(message)
    if not misfit:
        return origin.error(route, message)
    wanted = [_KINDS[kind] for kind in misfit["wanted"].split(" | ") if kind in _KINDS]
    found = _at(raw, route)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    hint = "; put it in quotes" if "text" in wanted and is_number else ""
    return origin.error(route, f"wanted {_either(wanted)}, found {found_text(found)}{hint}")


def _either(wanted: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(wanted[:-1]), wanted[-1])))


def _at(raw: Any, route: Route) -> Any:
    for step in route:
        raw = raw[step]
    return raw
