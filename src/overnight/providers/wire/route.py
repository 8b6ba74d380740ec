"""The way to one place: its addresses, a proxy on the way, and who must prove itself at the other end."""

import asyncio
import base64
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import aiohappyeyeballs
from yarl import URL

from overnight.providers.wire.bodies import TooMuch
from overnight.providers.wire.exchange import BrokeOff, Disconnected, Exchange

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

    @property
    def names_whole_address(self) -> bool:
        """A proxy without a tunnel is told where a question goes."""
        return self._proxy is not None and self._origin.scheme == "http"

    @property
    def proxy_proof(self) -> str | None:
        """What proves us to the proxy, where it travels with each question."""
        return self._credentials() if self.names_whole_address else None

    async def open(self, loop: asyncio.AbstractEventLoop, new: Callable[[], Exchange]) -> Exchange:
        """A connection on which a question may be sent. OSError, or TimeoutError, where there is no way."""
        async with asyncio.timeout(CONNECT_SECONDS):
            wire = await self._connected(loop)
            tls = certificates() if self._stop.scheme == "https" else None
            name = self._stop.raw_host if tls else None
            try:
                _, exchange = await loop.create_connection(new, sock=wire, ssl=tls, server_hostname=name)
            except BaseException:
                wire.close()
                raise
            if self._proxy is None or self._origin.scheme == "http":
                return exchange
            return await self._tunnelled(loop, exchange, new)

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

    async def _tunnelled(
        self, loop: asyncio.AbstractEventLoop, exchange: Exchange, new: Callable[[], Exchange]
    ) -> Exchange:
        """Through the proxy, which sees nothing but the name of the place."""
        place = authority(self._origin, with_port=True)
        proof = self._credentials()
        asked = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n"
        asked += f"Proxy-Authorization: {proof}\r\n" if proof else ""
        inner = new()
        try:
            answer = await exchange.ask_for_tunnel(f"{asked}\r\n".encode())
            transport = await self._secured(loop, exchange, inner, answer.status)
        except (BrokeOff, Disconnected, TooMuch) as error:
            exchange.abort()
            raise NoWay(f"the proxy {authority(self._stop)} gave no answer that can be read") from error
        except BaseException:
            exchange.abort()
            raise
        inner.connection_made(transport)
        return inner

    async def _secured(
        self, loop: asyncio.AbstractEventLoop, exchange: Exchange, inner: Exchange, status: int
    ) -> asyncio.Transport:
        if not 200 <= status < 300:
            raise NoWay(f"the proxy {authority(self._stop)} answered HTTP {status}")
        name = self._origin.raw_host
        transport = await loop.start_tls(exchange.transport, inner, certificates(), server_hostname=name)
        if transport is None:
            raise NoWay(f"the proxy {authority(self._stop)} hung up")
        return transport

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
