"""Answers in pieces: how a stream is sent, and how it goes wrong in the middle."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from aiohttp import web

from overnight_emulator.clock import Clock
from overnight_emulator.faults.calls import ConnectionDropped
from overnight_emulator.faults.kinds import Fault

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
# Of the time that an answer takes, the part before its first piece.
BEFORE_FIRST = 0.3
_PORTION = re.compile(r"\s*(?:\S+\s*){1,3}|\s+")


class Stream(msgspec.Struct, frozen=True):
    """How a dialect tells a whole answer in pieces, and what it says when it breaks off."""

    kind: str
    pieces: Callable[[dict[str, Any]], Iterable[bytes]]
    error: Callable[[Fault], bytes]
    # What follows the last piece, and also an error, so that the whole can be read.
    end: bytes = b""


class Streamed(web.Response):
    """A reply that is to be sent in pieces."""

    def __init__(self, stream: Stream, pieces: Sequence[bytes], headers: dict[str, str]) -> None:
        whole = b"".join(pieces) + stream.end
        super().__init__(body=whole, headers={"Content-Type": stream.kind, "Cache-Control": "no-cache", **headers})
        self.stream = stream
        self.pieces = pieces


def portions(text: str) -> Iterator[str]:
    """A text in portions of a few words each."""
    return (found.group() for found in _PORTION.finditer(text))


def event(data: Any, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = b"" if name is None else b"event: %b\n" % name.encode()
    return b"%bdata: %b\n\n" % (head, msgspec.json.encode(data))


async def send_pieces(
    request: web.Request, reply: Streamed, seconds: float, fault: Fault | None, clock: Clock
) -> web.StreamResponse:
    """Send a reply in pieces, over so many real seconds; a fault may strike between two of them."""
    sent = web.StreamResponse(headers=reply.headers)
    sent.headers.pop("Content-Length", None)
    await sent.prepare(request)
    first, rest = _split(reply.pieces, fault)
    pause = seconds / max(1, len(reply.pieces))
    await _write(sent, first, pause)
    match fault.do if fault is not None else None:
        case "cut":
            assert fault is not None
            if not fault.quiet:
                raise ConnectionDropped
            rest = ()
        case "stream_error":
            assert fault is not None
            await sent.write(reply.stream.error(fault) + reply.stream.end)
            rest = ()
        case "stall":
            assert fault is not None
            await asyncio.sleep(fault.wait(clock))
    await _write(sent, rest, pause)
    if fault is None or fault.do not in _BREAKING:
        await sent.write(reply.stream.end)
    await sent.write_eof()
    return sent


_BREAKING = frozenset({"cut", "stream_error"})
_MIDWAY = _BREAKING | {"stall"}


def _split(pieces: Sequence[bytes], fault: Fault | None) -> tuple[Sequence[bytes], Sequence[bytes]]:
    if fault is None or fault.do not in _MIDWAY:
        return pieces, ()
    place = int(len(pieces) * fault.at)
    return pieces[:place], pieces[place:]


async def _write(sent: web.StreamResponse, pieces: Sequence[bytes], pause: float) -> None:
    if pause <= 0:
        await sent.write(b"".join(pieces))
        return
    for piece in pieces:
        await sent.write(piece)
        await asyncio.sleep(pause)
