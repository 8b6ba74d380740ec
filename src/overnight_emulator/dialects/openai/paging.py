"""Pages of a listing, by `limit` and `after`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from overnight_emulator.dialects.openai.errors import ApiError


def page_size(request: web.Request, default: int, most: int) -> int:
    given = request.query.get("limit")
    if given is None:
        return default
    if not given.isdecimal() or not 1 <= int(given) <= most:
        message = f"Invalid 'limit': expected a whole number from 1 to {most}, got '{given}'."
        raise ApiError(400, message, param="limit", code="invalid_value")
    return int(given)


def page(objects: Sequence[dict[str, Any]], limit: int) -> dict[str, Any]:
    """One object more than the limit says that there are more."""
    data = list(objects[:limit])
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": len(objects) > limit,
    }
