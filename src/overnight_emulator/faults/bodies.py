"""Replies whose bodies are a trap: they never end, come a byte at a time, unpack to gigabytes, or nest without end."""

from __future__ import annotations

import asyncio
import zlib

from aiohttp import web

from overnight_emulator.faults.kinds import Fault

SPOILING = frozenset({"trickle", "endless", "bomb", "deep", "odd_headers"})
DEPTH = 100_000
_PIECE = 1 << 20
_BOMB_MEGABYTES = 1_000
_ENDLESS_PAUSE = 0.002
# What providers tell in headers, each as a number that nobody can use.
_HEADERS = (
    *("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    *("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-limit", "x-tokenlimit-limit"),
    *("anthropic-ratelimit-requests-limit", "anthropic-ratelimit-tokens-remaining"),
)
_DIGITS = "9" * 600


class _Trickling(web.StreamResponse):
    """One byte, a pause, the next byte."""

    def __init__(self, body: bytes, kind: str, seconds: float) -> None:
        super().__init__(headers={"Content-Type": kind})
        self._left = body
        self._pause = seconds

    async def write_eof(self, data: bytes = b"") -> None:
        for place in range(len(self._left)):
            await self.write(self._left[place : place + 1])
            await asyncio.sleep(self._pause)
        await super().write_eof(data)


class _Endless(web.StreamResponse):
    """All that was to be said, then spaces for ever."""

    def __init__(self, body: bytes, kind: str) -> None:
        super().__init__(headers={"Content-Type": kind})
        self._said = body

    async def write_eof(self, data: bytes = b"") -> None:
        await self.write(self._said + data)
        while True:  # until the client hangs up
            await self.write(b" " * _PIECE)
            await asyncio.sleep(_ENDLESS_PAUSE)


class _Bomb(web.StreamResponse):
    """A small gzip file of a great many spaces."""

    def __init__(self, body: bytes, kind: str, megabytes: int) -> None:
        super().__init__(headers={"Content-Type": kind, "Content-Encoding": "gzip"})
        self._said = body
        self._megabytes = megabytes

    async def write_eof(self, data: bytes = b"") -> None:
        packing = zlib.compressobj(9, zlib.DEFLATED, 31)
        await self.write(packing.compress(self._said + data) or b"")
        for _ in range(self._megabytes):
            if piece := packing.compress(b" " * _PIECE):
                await self.write(piece)
            await asyncio.sleep(0)
        await self.write(packing.flush())
        await super().write_eof(b"")


def spoil(response: web.StreamResponse, fault: Fault) -> web.StreamResponse:
    """The reply as the fault has it; a reply without a body of its own stays as it is."""
    if fault.do == "odd_headers":
        response.headers.update(dict.fromkeys(_HEADERS, _DIGITS))
        return response
    if not isinstance(response, web.Response) or not isinstance(response.body, bytes):
        return response
    kind = response.headers.get("Content-Type", "application/json")
    match fault.do:
        case "trickle":
            return _Trickling(response.body, kind, 1.0 if fault.seconds is None else fault.seconds)
        case "endless":
            return _Endless(response.body, kind)
        case "bomb":
            return _Bomb(response.body, kind, fault.megabytes or _BOMB_MEGABYTES)
    return web.Response(
        body=_nested(response.body), status=response.status, headers={"Content-Type": "application/json"}
    )


def _nested(body: bytes) -> bytes:
    """With a field that no reader follows to its end."""
    inside = body.rstrip().removeprefix(b"{").removesuffix(b"}")
    return b'{"metadata":%b%b%b}' % (b"[" * DEPTH + b"]" * DEPTH, b"," if inside else b"", inside)
