"""JSON over HTTP, in and out."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError


def note_key(name: str) -> Any:
    """A name under which something is noted of a request. aiohttp wants keys of its own kind, since it has them."""
    kind: Any = getattr(web, "RequestKey", None)
    return name if kind is None else kind(name, object)


def json_reply(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), status=status, headers=headers, content_type="application/json")


# What code meets that takes a part of a body for what it should be. The providers check every part of a body against a
# schema before they look at it; here, what a dialect cares about is checked in their words, and the rest is refused
# as a whole.
MISSHAPEN = (
    *(AttributeError, LookupError, TypeError, ValueError, OverflowError, RecursionError),
    *(web.RequestPayloadError, HttpProcessingError),  # a body that is not packed as its headers say
)
MISSHAPEN_WORDS = "The request has a value of a kind that is not expected there."


@contextmanager
def damaged_forms(refusal: Callable[[], Exception]) -> Iterator[None]:
    """What a form that is cut off or wrongly encoded raises while it is read, in the dialect's words."""
    try:
        yield
    except (*MISSHAPEN, RuntimeError, AssertionError, zlib.error, web.HTTPException) as error:
        raise refusal() from error


async def json_body(request: web.Request, refusal: Callable[[], Exception]) -> dict[str, Any]:
    """The request's JSON object; anything else is refused in the dialect's words."""
    try:
        body = msgspec.json.decode(await request.read())
    except (msgspec.DecodeError, *MISSHAPEN) as error:
        raise refusal() from error
    if not isinstance(body, dict):
        raise refusal()
    return body
