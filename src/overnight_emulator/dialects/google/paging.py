"""Pages of a listing, by `pageSize` and `pageToken`. A token is given only when something follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from aiohttp import web

from overnight_emulator.dialects.google.errors import GoogleError

T = TypeVar("T")


def page_size(request: web.Request, default: int, most: int, name: str = "pageSize") -> int:
    """More than the most is taken as the most."""
    given = request.query.get(name, "0")
    if not given.isdecimal():
        raise GoogleError(400, f"Invalid value at '{name}': expected a whole number, got '{given}'.")
    return min(int(given) or default, most)


def page(
    name: str, found: Sequence[T], limit: int, show: Callable[[T], Any], token: Callable[[T], str]
) -> dict[str, Any]:
    """One object more than the limit says that there are more; an empty page has no list at all."""
    shown = found[:limit]
    listed = {name: [show(one) for one in shown]} if shown else {}
    return listed | ({"nextPageToken": token(shown[-1])} if len(found) > limit else {})
