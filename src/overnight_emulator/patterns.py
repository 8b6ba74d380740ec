"""Settings by model: a mapping from shell-style patterns to values, with an entry for all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

Value = TypeVar("Value")

DEFAULT = "default"
_MOST_KEPT = 1_000


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


class ByModel(dict[str, Value]):
    """Such settings, looked up once for each model."""

    def __init__(self, settings: Mapping[str, Value], otherwise: Value) -> None:
        super().__init__()
        self._settings = settings
        self._otherwise = otherwise

    def __missing__(self, model: str) -> Value:
        if len(self) > _MOST_KEPT:  # names come from requests, and anybody can make them up
            self.clear()
        found = self[model] = value_for(model, self._settings, self._otherwise)
        return found
