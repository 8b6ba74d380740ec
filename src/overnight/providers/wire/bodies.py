"""Bodies: those that come, up to a size and a time, and unpacked by ourselves; and a large one that is sent.

We ask for plain bytes. A server that compresses all the same is unpacked a little at a time, so that a small reply
cannot grow into gigabytes before anybody has looked at it.
"""

import asyncio
import time
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from secrets import token_hex
from typing import BinaryIO

import aiohttp

from overnight.store.contract import StoredFile

IDENTITY = {"Accept-Encoding": "identity"}
# The most of a reply that is held in memory: a page of a listing, an error, an answer of a model.
MOST_BYTES = 64 << 20
# Answers that lie in a batch itself come as one reply.
MOST_INLINED = 512 << 20
_STEP = 1 << 20
# What is read of a file at once: handing smaller pieces over to a thread and back costs more than reading them.
_CHUNK = 1 << 20
# Both of zlib's forms, told apart by their first bytes.
_PACKINGS = {"gzip": 31, "x-gzip": 31, "deflate": 47}


class TooMuch(aiohttp.ClientError):
    """More than any honest reply has, or in a form that nobody asked for."""


class TooLittle(aiohttp.ClientError):
    """A file that got shorter while it was sent. The connection breaks, so that nobody takes what came for a whole."""


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


class SentFile:
    """A file as a request's body, with `head` and `tail` around it: read in a thread while it is sent.

    What is announced is its whole length: a server can tell a body that broke off from a whole one.
    """

    def __init__(self, file: StoredFile, head: bytes = b"", tail: bytes = b"") -> None:
        self._file = file
        self._head = head
        self._tail = tail
        self._content = file.size

    @property
    def length(self) -> int:
        return len(self._head) + self._content + len(self._tail)

    @property
    def bare(self) -> StoredFile | None:
        """The file, where it is all that is sent."""
        return None if self._head or self._tail else self._file

    @contextmanager
    def opened(self) -> Iterator[AsyncIterable[bytes]]:
        """Its pieces, from the first on whenever they are asked for; the file is held open meanwhile."""
        with ExitStack() as held:
            yield _Anew(lambda: self._pieces(held.enter_context(self._file.open())))

    async def _pieces(self, content: BinaryIO) -> AsyncIterator[bytes]:
        if self._head:
            yield self._head
        left = self._content
        while left and (piece := await asyncio.to_thread(content.read, min(_CHUNK, left))):
            left -= len(piece)
            yield self._as_sent(piece)
        if left:
            raise TooLittle(f"{self._file.where} got shorter while it was sent")
        if self._tail:
            yield self._tail

    def _as_sent(self, piece: bytes) -> bytes:
        return piece


class _Anew:
    """aiohttp sends a PUT once more where a kept connection proves dead, and some versions go on in the middle."""

    def __init__(self, begin: Callable[[], AsyncIterator[bytes]]) -> None:
        self._begin = begin

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._begin()


class Form(SentFile):
    """A multipart form whose last part is a file."""

    def __init__(self, fields: Mapping[str, str], file: StoredFile, filename: str) -> None:
        mark = token_hex(16)
        begin = f'--{mark}\r\nContent-Disposition: form-data; name="'
        parts = [f'{begin}{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
        parts.append(f'{begin}file"; filename="{filename}"\r\nContent-Type: application/octet-stream\r\n\r\n')
        super().__init__(file, "".join(parts).encode(), f"\r\n--{mark}--\r\n".encode())
        self.headers = {"Content-Type": f"multipart/form-data; boundary={mark}"}


class Envelope(SentFile):
    """A JSON body around the lines of a file, which become a list.

    `head`, the lines with commas between them, `tail`. Lines of JSON hold no line break of their own.
    """

    def __init__(self, head: bytes, file: StoredFile, tail: bytes) -> None:
        super().__init__(file, head, tail)
        with file.open(max(0, self._content - 1)) as last:
            # The last line's own end is no comma.
            self._content -= int(last.read(1) == b"\n")

    def _as_sent(self, piece: bytes) -> bytes:
        return piece.replace(b"\n", b",")


Body = bytes | aiohttp.MultipartWriter | SentFile | None


@contextmanager
def on_its_way(
    body: Body,
) -> Iterator[tuple[bytes | aiohttp.MultipartWriter | AsyncIterable[bytes] | None, Mapping[str, str]]]:
    """What is handed to aiohttp, and the headers that tell of it."""
    if isinstance(body, SentFile):
        with body.opened() as pieces:
            yield pieces, {"Content-Length": str(body.length)}
    else:
        yield body, {}
