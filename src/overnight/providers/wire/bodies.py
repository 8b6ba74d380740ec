"""Bodies: those that come, up to a size and a time, and unpacked by ourselves; and a large one that is sent.

We ask for plain bytes. A server that compresses all the same is unpacked a little at a time, so that a small reply
cannot grow into gigabytes before anybody has looked at it.
"""

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator

import aiohttp

from overnight.store.contract import StoredFile

IDENTITY = {"Accept-Encoding": "identity"}
# The most of a reply that is held in memory: a page of a listing, an error, an answer of a model.
MOST_BYTES = 64 << 20
# Answers that lie in a batch itself come as one reply.
MOST_INLINED = 512 << 20
_STEP = 1 << 20
_CHUNK = 1 << 18
# Both of zlib's forms, told apart by their first bytes.
_PACKINGS = {"gzip": 31, "x-gzip": 31, "deflate": 47}


class TooMuch(aiohttp.ClientError):
    """More than any honest reply has, or in a form that nobody asked for."""


class Pace:
    """How slowly a body may come: `grace` seconds, and one more for each `per_second` bytes that are here."""

    def __init__(self, grace: float, per_second: float) -> None:
        self._until = time.monotonic() + grace
        self._per_second = per_second

    def came(self, size: int) -> None:
        self._until += size / self._per_second

    @property
    def left(self) -> float:
        return self._until - time.monotonic()


async def pieces(response: aiohttp.ClientResponse, pace: Pace | None = None) -> AsyncIterator[bytes]:
    """The body, unpacked, piece by piece. Raises what a broken wire raises."""
    unpack = _unpacking(response.headers.get("Content-Encoding", "identity").strip().lower())
    while True:
        async with asyncio.timeout(None if pace is None else max(0.0, pace.left)):
            chunk = await response.content.readany()
        if not chunk:
            break
        if pace is not None:
            pace.came(len(chunk))
        for piece in unpack(chunk):
            yield piece


async def whole(response: aiohttp.ClientResponse, most: int = MOST_BYTES) -> bytes:
    """A small body, or TooMuch."""
    held = bytearray()
    async for piece in pieces(response):
        held += piece
        if len(held) > most:
            raise TooMuch(f"an answer of more than {most >> 20} MB")
    return bytes(held)


def unpacked(body: bytes, encoding: str, most: int = MOST_BYTES) -> bytes:
    """A body that has come whole, or TooMuch."""
    unpack = _unpacking(encoding.strip().lower())
    if unpack is _plain:
        return body
    held = bytearray()
    for piece in unpack(body):
        held += piece
        if len(held) > most:
            raise TooMuch(f"an answer of more than {most >> 20} MB")
    return bytes(held)


class _Unpacking:
    def __init__(self, wbits: int) -> None:
        self._zlib = zlib.decompressobj(wbits)

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            try:
                piece = self._zlib.decompress(chunk, _STEP)
            except zlib.error as error:
                raise TooMuch(f"a packed answer that cannot be unpacked ({error})") from None
            if piece:
                yield piece
            chunk = self._zlib.unconsumed_tail


def _plain(chunk: bytes) -> Iterator[bytes]:
    yield chunk


def _unpacking(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    if encoding in ("", "identity"):
        return _plain
    if encoding not in _PACKINGS:
        raise TooMuch(f"an answer packed as '{encoding[:20]}', which nobody asked for")
    return _Unpacking(_PACKINGS[encoding])


class Envelope:
    """A JSON body around the lines of a file, which become a list and are read while they are sent.

    `head`, the lines with commas between them, `tail`. Lines of JSON hold no line break of their own.
    """

    def __init__(self, head: bytes, file: StoredFile, tail: bytes) -> None:
        self._head = head
        self._file = file
        self._tail = tail
        size = file.size
        with file.open(max(0, size - 1)) as last:
            # The last line's own end is no comma.
            self._content = size - int(last.read(1) == b"\n")

    @property
    def length(self) -> int:
        return len(self._head) + self._content + len(self._tail)

    async def stream(self) -> AsyncIterator[bytes]:
        yield self._head
        left = self._content
        with self._file.open() as lines:
            while left and (chunk := lines.read(min(_CHUNK, left))):
                left -= len(chunk)
                yield chunk.replace(b"\n", b",")
        yield self._tail
