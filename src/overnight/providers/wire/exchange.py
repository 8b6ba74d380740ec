"""One kept connection of live calls: a question leaves whole, its answer is read whole, then comes the next question.

The answer is taken apart by llhttp, as in aiohttp. What there is no need for is left out: no streams, no timers, and
no objects for a request; these cost seven times what a call needs. Everything that comes has an end: the
headers and the body in bytes, and both in time (`Connections` looks after that).
"""

import asyncio
import socket
from typing import NamedTuple, cast

import httptools

from overnight.providers.wire.bodies import MOST_BYTES, TooMuch

# The most that may come before the first byte of a body.
MOST_HEADERS = 64 << 10
# Bodies up to this size are sent together with their headers, in one packet where they fit.
_JOINED = 64 << 10
_INTERIM = range(100, 200)


class BrokeOff(Exception):
    """The answer had begun, and did not come whole."""


class Disconnected(Exception):
    """The connection ended before an answer began, or with something that is none."""


class Answer(NamedTuple):
    """As it came. Names of headers are in lower case; of several with one name, the first counts."""

    status: int
    headers: dict[str, str]
    body: bytes


class Exchange(asyncio.BufferedProtocol):
    """A connection. `buffer` is where bytes arrive; connections of one loop share it, as each reads at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, buffer: memoryview) -> None:
        self._loop = loop
        self._buffer = buffer
        self._parser = httptools.HttpResponseParser(self)
        # What aiohttp forgives a server too: an answer that was paid for is worth more than its form.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._answer: asyncio.Future[Answer] | None = None
        self._keep = True
        # When the last question left, and when anything came back for it.
        self.began = self.heard = 0.0
        self.transport: asyncio.Transport
        self._reset()

    def _reset(self) -> None:
        self._headers: dict[str, str] = {}
        self._body: bytes | bytearray = b""
        self._size = self._before_body = 0
        self._headed = self._whole = self._tunnel = False
        # The status of the answer that is coming, as soon as it is known.
        self.status: int | None = None

    def ask(self, head: bytes, body: bytes) -> "asyncio.Future[Answer]":
        """Send one question. `head` lacks the length of the body, which is its last header."""
        self._reset()
        answer = self._answer = self._loop.create_future()
        self.began = self.heard = self._loop.time()
        whole_head = b"%b%d\r\n\r\n" % (head, len(body))
        if len(body) <= _JOINED:
            self.transport.write(whole_head + body)
        else:
            self.transport.write(whole_head)
            self.transport.write(body)
        return answer

    def ask_for_tunnel(self, head: bytes) -> "asyncio.Future[Answer]":
        """CONNECT: the answer ends with its headers, if it is a yes."""
        self._reset()
        self._tunnel = True
        answer = self._answer = self._loop.create_future()
        self.transport.write(head)
        return answer

    @property
    def usable(self) -> bool:
        """Whether the next question may go this way."""
        return (
            self._keep
            and self._answer is None
            and not self.transport.is_closing()
            and not self.transport.get_write_buffer_size()
        )

    def abort(self) -> None:
        self._keep = False
        self.transport.abort()

    def fail(self, error: Exception) -> None:
        """No answer any more: whoever waits for it is told, and the connection is of no use."""
        waiting, self._answer = self._answer, None
        self.abort()
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)

    # --- what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        wire = transport.get_extra_info("socket")
        if wire is not None:
            # A model may think for minutes: what lies between us should not forget the connection meanwhile.
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if hasattr(socket, "TCP_KEEPIDLE"):
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received(self._buffer[:nbytes])

    def received(self, data: memoryview) -> None:
        """Bytes of an answer, as the server meant them."""
        if self._answer is None:
            # Nobody has asked: the next answer could not be told from this.
            self.abort()
            return
        self.heard = self._loop.time()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._keep = False
            if not self._whole:
                self.fail(BrokeOff() if self._headed else Disconnected(f"no HTTP: {error}"))
                return
        if self._whole:
            self._deliver()
        elif not self._headed:
            self._before_body += len(data)
            if self._before_body > MOST_HEADERS:
                self.fail(TooMuch(f"headers of more than {MOST_HEADERS >> 10} kB"))
        elif self._size > MOST_BYTES:
            self.fail(TooMuch(f"an answer of more than {MOST_BYTES >> 20} MB"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep = False
        if self._answer is None:
            return
        if not self._headed:
            self.fail(Disconnected(str(exc) if exc is not None else "Server disconnected"))
        elif exc is None and not {"content-length", "transfer-encoding"} & self._headers.keys():
            # Without a length, the end of the connection is the end of the answer.
            self._deliver()
        else:
            self.fail(BrokeOff())

    def _deliver(self) -> None:
        waiting, self._answer = self._answer, None
        if waiting is not None and not waiting.done():
            waiting.set_result(Answer(self.status or 0, self._headers, bytes(self._body)))

    # --- what the parser tells

    def on_message_begin(self) -> None:
        if self._whole:
            # A second answer to one question: it must not become the answer to the next one.
            self._keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._headed:  # what follows a body in chunks says nothing that we need
            self._headers.setdefault(name.decode("latin-1").lower(), value.decode("utf-8", "surrogateescape"))

    def on_headers_complete(self) -> None:
        if self._whole:
            return
        status = self._parser.get_status_code()
        if status not in _INTERIM:
            self.status, self._headed = status, True
            self._whole = self._tunnel and 200 <= status < 300

    def on_body(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MOST_BYTES or self._whole:
            return
        if self._size == len(piece):
            self._body = piece
        elif isinstance(self._body, bytearray):
            self._body += piece
        else:
            # One object, however small the pieces are: a server may send its answer two bytes at a time.
            self._body = bytearray(self._body) + piece

    def on_message_complete(self) -> None:
        if self._headed:
            self._whole = True
            self._keep = self._keep and self._parser.should_keep_alive()
        else:
            # An interim answer ("100 Continue"): the real one follows.
            self._headers = {}
