"""The way to one place: its addresses, a proxy on the way, and who must prove itself at the other end."""

import asyncio
import base64
import os
import socket
import ssl
from collections import deque
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import aiohappyeyeballs
from yarl import URL

from overnight.providers.wire.bodies import TooMuch
from overnight.providers.wire.exchange import BrokeOff, Disconnected, Exchange
from overnight.providers.wire.tls import Proving, SharedBuffers, Tls

CONNECT_SECONDS = 15.0
# The addresses of providers change rarely, and a lookup costs more than a call's own work.
_DNS_SECONDS = 300.0
# An address that does not answer holds up nobody for longer than this.
_NEXT_ADDRESS_SECONDS = 0.25
_PORTS = {"http": 80, "https": 443}


class NoWay(OSError):
    """The proxy that the environment names is of no use, or will not let us through."""


def certificates() -> ssl.SSLContext:
    """Whom we believe: the system's authorities, or those that SSL_CERT_FILE and SSL_CERT_DIR name."""
    return _context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=4)
def _context(*_: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class Route:
    """How connections to an origin are opened."""

    def __init__(self, origin: URL, proxy: str | None) -> None:
        self._origin = origin
        self._proxy = None if proxy is None else _proxy_url(proxy)
        self._stop = self._proxy or origin
        self._addresses: deque[Any] = deque()
        self._looked_up = -_DNS_SECONDS
        self._proof: Proving | None = None

    def _proving(self) -> Proving:
        context = certificates()
        if self._proof is None or self._proof.context is not context:
            self._proof = Proving(context, self._origin.raw_host or "")
        return self._proof

    @property
    def names_whole_address(self) -> bool:
        """A proxy without a tunnel is told where a question goes."""
        return self._proxy is not None and self._origin.scheme == "http"

    @property
    def proxy_proof(self) -> str | None:
        """What proves us to the proxy, where it travels with each question."""
        return self._credentials() if self.names_whole_address else None

    async def open(self, loop: asyncio.AbstractEventLoop, buffers: SharedBuffers) -> Exchange:
        """A connection on which a question may be sent. OSError, or TimeoutError, where there is no way."""
        async with asyncio.timeout(CONNECT_SECONDS):
            wire = await self._connected(loop)
            if self._proxy is None and self._origin.scheme == "https":
                return await self._secured(loop, wire, buffers)
            return await self._plain_or_tunnelled(loop, wire, buffers)

    async def _secured(self, loop: asyncio.AbstractEventLoop, wire: socket.socket, buffers: SharedBuffers) -> Exchange:
        exchange = Exchange(loop, buffers.wire)
        tls = Tls(exchange, self._proving(), buffers)
        await loop.create_connection(lambda: tls, sock=wire)
        await tls.proved()
        return exchange

    async def _plain_or_tunnelled(
        self, loop: asyncio.AbstractEventLoop, wire: socket.socket, buffers: SharedBuffers
    ) -> Exchange:
        tls = certificates() if self._stop.scheme == "https" else None
        name = self._stop.raw_host if tls else None
        exchange = Exchange(loop, buffers.wire)
        await loop.create_connection(lambda: exchange, sock=wire, ssl=tls, server_hostname=name)
        if self._origin.scheme == "http":
            return exchange
        try:
            return await self._tunnelled(loop, exchange, buffers)
        except BaseException:
            exchange.abort()
            raise

    async def _connected(self, loop: asyncio.AbstractEventLoop) -> socket.socket:
        host, port = self._stop.raw_host or "", self._stop.port or _PORTS[self._stop.scheme]
        if loop.time() - self._looked_up > _DNS_SECONDS:
            self._addresses = deque(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            self._looked_up = loop.time()
        # Where a name has several addresses, they share the load.
        self._addresses.rotate(-1)
        try:
            return await aiohappyeyeballs.start_connection(
                list(self._addresses), happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS, interleave=1, loop=loop
            )
        except OSError:
            self._looked_up = -_DNS_SECONDS
            raise

    async def _tunnelled(self, loop: asyncio.AbstractEventLoop, outer: Exchange, buffers: SharedBuffers) -> Exchange:
        """Through the proxy, which sees nothing but the name of the place."""
        place, proof = authority(self._origin, with_port=True), self._credentials()
        asked = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n"
        asked += f"Proxy-Authorization: {proof}\r\n" if proof else ""
        try:
            status = (await outer.ask_for_tunnel(f"{asked}\r\n".encode())).status
        except (BrokeOff, Disconnected, TooMuch) as error:
            raise NoWay(f"the proxy {authority(self._stop)} gave no answer that can be read") from error
        if not 200 <= status < 300:
            raise NoWay(f"the proxy {authority(self._stop)} answered HTTP {status}")
        exchange = Exchange(loop, buffers.wire)
        tls = Tls(exchange, self._proving(), buffers)
        outer.transport.set_protocol(tls)
        tls.connection_made(outer.transport)
        await tls.proved()
        return exchange

    def _credentials(self) -> str | None:
        proxy = self._proxy
        if proxy is None or proxy.raw_user is None:
            return None
        pair = f"{unquote(proxy.raw_user)}:{unquote(proxy.raw_password or '')}"
        return "Basic " + base64.b64encode(pair.encode()).decode()


def _proxy_url(address: str) -> URL:
    try:
        url = URL(address if "://" in address else f"http://{address}")
    except ValueError:
        url = URL()
    if url.scheme not in _PORTS or not url.raw_host:
        raise NoWay("the proxy that the environment names is of no use: wanted http://HOST:PORT")
    return url


def authority(url: URL, *, with_port: bool = False) -> str:
    """Host and port as requests name them; never a user or a password."""
    host = url.raw_host or ""
    named = f"[{host}]" if ":" in host else host
    usual = url.port == _PORTS.get(url.scheme)
    return named if usual and not with_port else f"{named}:{url.port}"
