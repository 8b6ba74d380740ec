"""Names in both spellings: Google reads `maxOutputTokens` and `max_output_tokens` as one, and writes the first."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

_SNAKE = re.compile(r"_([a-z0-9])")
# What stands under these is the user's own and stays as it is.
_VERBATIM = frozenset({"responseJsonSchema", "parametersJsonSchema", "args", "response", "labels"})
_NAMED_BY_USER = frozenset({"properties", "$defs", "defs"})


def camel(value: Any) -> Any:
    """The same JSON with every name of the API in its written form."""
    if isinstance(value, list):
        return [camel(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {name: _inner(name, part) for name, part in ((_camel_name(key), part) for key, part in value.items())}


def _camel_name(name: str) -> str:
    return _SNAKE.sub(lambda found: found[1].upper(), name)


def _inner(name: str, value: Any) -> Any:
    if name in _VERBATIM:
        return value
    if name in _NAMED_BY_USER and isinstance(value, dict):
        return {own: camel(part) for own, part in value.items()}
    return camel(value)


def moment_text(moment: float) -> str:
    """A moment as RFC 3339 writes it, to the microsecond."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
