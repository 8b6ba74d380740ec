"""TLS between a socket and an exchange, by the ssl module's own bytes-in, bytes-out objects.

asyncio's TLS holds 256 kB for each connection, which is more than a gigabyte for 5,000 calls at once, and costs more
than the call. Here connections of a loop share the memory in which bytes arrive; certificates and names are checked by
the context, as everywhere.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, cast

from overnight.providers.wire.exchange import Exchange


class SharedBuffers:
    """Where bytes of all connections of a loop arrive: each takes its own out before the next one reads."""

    def __init__(self, size: int) -> None:
        self.wire = memoryview(bytearray(size))
        self.plain = memoryview(bytearray(size))


class Proving:
    """How one place proves who it is: whole the first time, then by the ticket that it gave us when it had.

    A thousand connections to a place are opened with a third of the work.
    """

    def __init__(self, context: ssl.SSLContext, name: str) -> None:
        self.context = context
        self._name = name
        self._ticket: ssl.SSLSession | None = None

    def begin(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> ssl.SSLObject:
        return self.context.wrap_bio(incoming, outgoing, server_hostname=self._name, session=self._ticket)

    def keep_ticket(self, proved: ssl.SSLObject) -> None:
        # To look at a session is to copy it: only one that was made anew is worth that.
        if not proved.session_reused:
            session = proved.session
            self._ticket = session if session is not None and session.has_ticket else None


class Tls(asyncio.BufferedProtocol):
    """A protocol to the transport below, and a transport to the exchange above."""

    def __init__(self, exchange: Exchange, proving: "Proving", buffers: SharedBuffers) -> None:
        self._exchange = exchange
        self._keep_ticket: Callable[[ssl.SSLObject], None] | None = proving.keep_ticket
        self._buffers = buffers
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = proving.begin(self._incoming, self._outgoing)
        self._proved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._secure = False
        self._transport: asyncio.Transport

    async def proved(self) -> None:
        """When the other end has shown who it is. Raises ssl.SSLError, or ConnectionError, where it has not."""
        try:
            await self._proved
        except BaseException:
            self._transport.abort()
            raise

    # --- what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._shake_hands()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return self._buffers.wire

    def buffer_updated(self, nbytes: int) -> None:
        self._incoming.write(self._buffers.wire[:nbytes])
        if not self._secure:
            self._shake_hands()
        if self._secure:
            self._read()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._secure:
            self._exchange.connection_lost(exc)
        else:
            self._refuse(exc or ConnectionResetError("the connection ended before it was secured"))

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as error:
            self._flush()
            self._refuse(error)
            return
        self._flush()
        self._secure = True
        self._exchange.connection_made(self)  # type: ignore[arg-type]
        if not self._proved.done():
            self._proved.set_result(None)

    def _refuse(self, error: Exception) -> None:
        if not self._proved.done():
            self._proved.set_exception(error)
        self._transport.abort()

    def _read(self) -> None:
        plain = self._buffers.plain
        try:
            while not self._transport.is_closing():
                size = cast(int, self._tls.read(len(plain), plain))
                if not size:
                    # The other end has said that this is all.
                    self._transport.close()
                    return
                if self._keep_ticket is not None:
                    self._keep_ticket(self._tls)
                    self._keep_ticket = None
                self._exchange.received(plain[:size])
        except ssl.SSLWantReadError:
            # What the protocol itself has to say: new keys, say.
            self._flush()
        except ssl.SSLError as error:
            self._exchange.fail(error)

    def _flush(self) -> None:
        if self._outgoing.pending and not self._transport.is_closing():
            self._transport.write(self._outgoing.read())

    # --- what the exchange needs of a transport

    def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._tls.write(left) :]
        self._flush()

    def abort(self) -> None:
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)
