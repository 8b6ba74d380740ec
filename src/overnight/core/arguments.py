"""Functions that others call check what they are called with: one line that names the argument, not a traceback.

`checked` reads a function's own annotations, so that a parameter is described once.
"""

import functools
import inspect
import math
import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Rational, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from overnight.core.errors import WrongArgument, nearest
from overnight.core.wording import found_text

P = ParamSpec("P")
R = TypeVar("R")

_WORDS: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Path: "a path",
    NoneType: "None",
    Callable: "a function",
    Sequence: "a list",
    Iterable: "a list",
    Mapping: "a mapping",
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
}
# Where whole numbers end that a database, a table and a provider can all hold.
_LARGEST = 2**63
# What file systems take, in bytes.
_LONGEST_PATH, _LONGEST_NAME = 4_000, 255


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, refusing arguments that its annotations do not allow with a WrongArgument."""
    signature = inspect.signature(function)
    name = function.__qualname__.removesuffix(".__init__")

    @functools.cache
    def kinds() -> dict[str, Any]:
        # At the first call: annotations may name what is imported later.
        return typing.get_type_hints(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise WrongArgument(f"{name}: {_unbound(str(error), signature, kwargs)}") from None
        for parameter, value in bound.arguments.items():
            _check(f"{name}: {parameter}", value, signature.parameters[parameter], kinds())
        return function(*args, **kwargs)

    return call


def _unbound(problem: str, signature: inspect.Signature, given: Mapping[str, Any]) -> str:
    for word in given:
        if word not in signature.parameters:
            return f"there is no argument '{word}'{nearest(word, signature.parameters)}"
    return problem


def _check(where: str, value: Any, parameter: inspect.Parameter, kinds: Mapping[str, Any]) -> None:
    kind = kinds.get(parameter.name, Any)
    if parameter.kind is parameter.VAR_KEYWORD:
        return  # each is looked at by whoever takes it
    for one in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
        if problem := misfit(one, kind):
            raise WrongArgument(f"{where}: {problem}")


def misfit(value: Any, kind: Any) -> str | None:
    """What is wrong with a value that is annotated so; None when nothing is."""
    choices = _alternatives(kind)
    if not any(_fits(value, one) for one in choices):
        return f"wanted {_either(choices)}, found {found_text(value)}{_out_of_range(value)}"
    if Path in choices and isinstance(value, str | os.PathLike):
        return _no_path(value)
    if isinstance(value, str) and not value.isascii():
        return _no_text(value)
    return None


def _out_of_range(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return ", which is no finite one"
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return ", which does not fit into 64 bits"
    return ""


def _alternatives(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) in (Union, UnionType):
        return tuple(choice for part in get_args(kind) for choice in _alternatives(part))
    return (kind,)


def _fits(value: Any, kind: Any) -> bool:
    origin = get_origin(kind) or kind
    if origin is Any or isinstance(origin, TypeVar):
        return True
    if origin is Literal:
        return any(value is choice or (type(value) is type(choice) and value == choice) for choice in get_args(kind))
    if origin is typing.Annotated:
        return _fits(value, get_args(kind)[0])
    if origin in (bool, int, float):
        return _is_number(value, origin)
    if origin is Callable:
        return callable(value)
    if not isinstance(origin, type):
        return True
    if origin in (Sequence, Iterable, list, tuple) and isinstance(value, str | bytes | bytearray | Mapping):
        return False
    return isinstance(value, origin) and _parts_fit(value, origin, get_args(kind))


def _is_number(value: Any, kind: type) -> bool:
    """Numpy's numbers are numbers; true is none, nor is what has no end or no value (inf, nan)."""
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return kind is bool
    if kind is bool:
        return False
    if isinstance(value, Integral):
        return -_LARGEST <= int(value) < _LARGEST
    return kind is float and isinstance(value, Real) and not isinstance(value, Rational) and math.isfinite(value)


def _parts_fit(value: Any, origin: type, parts: tuple[Any, ...]) -> bool:
    """What is inside a list or mapping. Anything that can be gone through once only is left as it is."""
    if isinstance(value, Mapping) and len(parts) == 2:
        return all(misfit(key, parts[0]) is None and misfit(one, parts[1]) is None for key, one in value.items())
    if issubclass(origin, Sequence) and isinstance(value, Sequence) and parts:
        return all(misfit(one, parts[0]) is None for one in value)
    return True


def _no_path(value: "str | os.PathLike[str]") -> str | None:
    try:
        encoded = os.fsencode(value)
    except UnicodeEncodeError:
        return f"{found_text(str(value))} cannot be the name of a file"
    if b"\0" in encoded or len(encoded) > _LONGEST_PATH or max(map(len, encoded.split(b"/"))) > _LONGEST_NAME:
        return f"{found_text(str(value))} cannot be the name of a file"
    return None


def _no_text(value: str) -> str | None:
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"{found_text(value)} has half a character (a lone surrogate) in it"
    return None


def _either(choices: tuple[Any, ...]) -> str:
    words = list(dict.fromkeys(_word(choice) for choice in choices))
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _word(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is Literal:
        return ", ".join(repr(choice) for choice in get_args(kind))
    parts = [part for part in get_args(kind) if part is not ...] if origin is not Callable else []
    inside = f" of {_either(tuple(parts[-1:]))}" if parts and parts[-1] is not Any else ""
    plain = _WORDS.get(origin) or f"a {getattr(origin, '__name__', str(origin))}"
    return plain + inside
