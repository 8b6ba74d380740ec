"""Doing wrong at the level of one call: refusing, dawdling, dropping the connection, spoiling a download."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from overnight_emulator.clock import Clock
from overnight_emulator.faults.bodies import SPOILING, spoil
from overnight_emulator.faults.kinds import Fault

_CHUNK = 1 << 16
# What a hotel's network answers to everything until somebody has signed in.
_WEB_PAGE = b"""<!DOCTYPE html>
<html><head><title>Welcome</title></head>
<body><h1>Welcome</h1><form action="/sign-in"><input name="room"></form></body></html>
"""
_GARBAGE = b'\x00\xff<html>Bad Gateway</html>{"custom_id": "'


_KEY_HEADERS = ("Authorization", "x-api-key", "x-goog-api-key", "api-key")
_KEY_PLACE = b"{key}"
# What a cache on the way has kept for a fault, by event.
_CACHED: dict[str, tuple[Fault, web.Response]] = {}


def key_of(request: web.Request) -> str:
    """The key that a request came with, and nothing around it."""
    given = next((request.headers[name] for name in _KEY_HEADERS if name in request.headers), "")
    return given.removeprefix("Bearer ")


def echoing(body: bytes, request: web.Request) -> bytes:
    """An object of JSON that repeats the caller's key, as a gateway that logs too much does."""
    key = key_of(request).encode("utf-8", "backslashreplace")
    return b'{"echo":"%b",%b' % (key, body[1:]) if body.startswith(b"{") else body


def with_key(body: object, request: web.Request) -> bytes | None:
    """A refusal whose message has `{key}` in it tells the key; None where there is nothing to tell."""
    if not isinstance(body, bytes) or _KEY_PLACE not in body:
        return None
    return body.replace(_KEY_PLACE, key_of(request).encode("utf-8", "backslashreplace"))


def _echoed(path: Path, request: web.Request) -> bytes:
    return b"".join(echoing(line, request) + b"\n" for line in path.read_bytes().splitlines())


class ConnectionDropped(Exception):
    """The reply is never sent; the connection is closed instead."""


async def suffer(
    fault: Fault | None,
    clock: Clock,
    deed: Callable[[], Awaitable[web.StreamResponse]],
    refusal: Callable[[Fault], Exception],
) -> web.StreamResponse:
    """Do what a call asks for, or fail to, or do it and not say so."""
    if fault is None:
        return await deed()
    refuses = fault.do in {"status", "incomplete"}
    if refuses and not fault.applied:
        raise refusal(fault)
    portal = fault.do == "web_page" and fault.on != "content"
    if portal and not fault.applied:
        return _web_page(fault)
    if fault.do == "redirect" and fault.on != "content":
        raise web.HTTPFound(fault.to)
    if fault.do == "lose_request":
        raise ConnectionDropped
    if fault.do == "slow":
        await asyncio.sleep(fault.wait(clock))
    behind = fault.seconds or 0 if fault.do == "stale" else 0
    with clock.earlier(behind):
        response = await deed()
    if portal:
        return _web_page(fault)
    if fault.drops_connection:
        raise ConnectionDropped
    if refuses:
        raise refusal(fault)
    if fault.do == "cached":
        return _cached(response, fault)
    return spoil(response, fault) if fault.do in SPOILING else response


def _cached(response: web.StreamResponse, fault: Fault) -> web.StreamResponse:
    """The first reply that the fault strikes is kept, and answers all that it strikes afterwards."""
    if not isinstance(response, web.Response):
        return response
    whose, kept = _CACHED.get(fault.on, (None, response))
    if whose is not fault:
        kept = response
        _CACHED[fault.on] = (fault, kept)
    return web.Response(status=kept.status, body=kept.body, content_type="application/json")


def _web_page(fault: Fault) -> web.Response:
    """What a portal on the way shows, in place of the provider's answer."""
    status = fault.status if isinstance(fault.status, int) else 200
    return web.Response(status=status, body=_WEB_PAGE, content_type="text/html")


async def send_part(request: web.Request, response: web.Response, fault: Fault) -> web.StreamResponse:
    """A reply that breaks off: audibly (a length is promised and not kept) or quietly (a clean end)."""
    body = response.body if isinstance(response.body, bytes) else b""
    part = web.StreamResponse(status=response.status, headers={"Content-Type": "application/json"})
    if fault.quiet:
        part.enable_chunked_encoding()
    else:
        part.content_length = len(body)
    await part.prepare(request)
    await part.write(body[: int(len(body) * fault.at)])
    if not fault.quiet:
        raise ConnectionDropped
    await part.write_eof()
    return part


async def send_file(
    request: web.Request, path: Path, fault: Fault | None, content_type: str = "application/octet-stream"
) -> web.StreamResponse:
    """A download, whole or spoiled."""
    match fault.do if fault is not None else None:
        case "redirect":
            assert fault is not None
            raise web.HTTPFound(_target(fault.to, request))
        case "cut":
            assert fault is not None
            return await _send_cut(request, path, fault)
        case "garbage_tail":
            return await _send_with_tail(request, path)
        case "echo_key":
            return web.Response(body=_echoed(path, request))
        case misdeed if misdeed in SPOILING:
            return web.Response(body=await asyncio.to_thread(path.read_bytes), headers={"Content-Type": content_type})
        case "web_page":
            return web.Response(body=_WEB_PAGE, content_type="text/html")
        case "empty":
            return web.Response(body=b"", content_type=content_type)
    return web.FileResponse(path, headers={"Content-Type": content_type})


def _target(to: str, request: web.Request) -> str:
    """A bare origin is asked for the same path."""
    bare = urlsplit(to).path in {"", "/"}
    return to.rstrip("/") + request.path if bare else to


async def _send_cut(request: web.Request, path: Path, fault: Fault) -> web.StreamResponse:
    """Quietly (no length, a clean end), with the length of what is sent, or audibly (a promised length is not kept)."""
    size = _size(path)
    sent = int(size * fault.at)
    response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
    if fault.quiet:
        response.enable_chunked_encoding()
    else:
        response.content_length = sent if fault.fitting else size
    await response.prepare(request)
    await _pour(response, path, sent)
    if not fault.quiet and not fault.fitting:
        raise ConnectionDropped
    await response.write_eof()
    return response


async def _send_with_tail(request: web.Request, path: Path) -> web.StreamResponse:
    size = _size(path)
    response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
    response.content_length = size + len(_GARBAGE)
    await response.prepare(request)
    await _pour(response, path, size)
    await response.write_eof(_GARBAGE)
    return response


def _size(path: Path) -> int:
    return path.stat().st_size


async def _pour(response: web.StreamResponse, path: Path, length: int) -> None:
    with path.open("rb") as source:
        while length > 0 and (chunk := source.read(min(_CHUNK, length))):
            await response.write(chunk)
            length -= len(chunk)
