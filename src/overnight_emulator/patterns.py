"""Settings by model: a mapping from shell-style patterns to values, with an entry for all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

Value = TypeVar("Value")

DEFAULT = "default"


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def value_for(name: str, settings: Mapping[str, Value], otherwise: Value) -> Value:
    """The exact name wins, then the longest pattern that fits, then `default`, then `otherwise`."""
    if name in settings and name != DEFAULT:
        return settings[name]
    fitting = [pattern for pattern in settings if pattern != DEFAULT and fnmatchcase(name, pattern)]
    if fitting:
        return settings[max(fitting, key=len)]
    return settings.get(DEFAULT, otherwise)
