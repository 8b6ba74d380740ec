"""JSON over HTTP, in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web


def json_reply(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), status=status, headers=headers, content_type="application/json")


async def json_body(request: web.Request, refusal: Callable[[], Exception]) -> dict[str, Any]:
    """The request's JSON object; anything else is refused in the dialect's words."""
    try:
        body = msgspec.json.decode(await request.read())
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise refusal() from error
    if not isinstance(body, dict):
        raise refusal()
    return body
