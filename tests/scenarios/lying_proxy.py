"""Somebody between a run and its provider, who passes everything on but the answers that a test puts in their place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import NamedTuple, Self

from aiohttp import ClientSession, web

# What belongs to one connection, or no longer fits a body that was changed.
_NOT_PASSED_ON = {
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "transfer-encoding",
    "accept-encoding",
}


class Exchange(NamedTuple):
    """One request, and what the provider answered."""

    method: str
    path: str
    sent: bytes
    status: int
    body: bytes


# The body that is given in place of the provider's; None where it is passed on as it is.
Lie = Callable[[Exchange], bytes | None]


class LyingProxy:
    """A server of this machine, in a thread of its own."""

    def __init__(self, upstream: str, lie: Lie) -> None:
        self._upstream = upstream
        self._lie = lie
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.lies = 0
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _start(self) -> None:
        self._session = ClientSession(auto_decompress=True)
        self._runner = web.ServerRunner(web.Server(self._pass_on), handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _pass_on(self, request: web.BaseRequest) -> web.StreamResponse:
        sent = await request.read()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _NOT_PASSED_ON}
        address = self._upstream + request.path_qs
        async with self._session.request(
            request.method, address, data=sent, headers=headers, allow_redirects=False
        ) as reply:
            body = await reply.read()
            told = self._lie(Exchange(request.method, request.path, sent, reply.status, body))
            self.lies += told is not None
            passed = [(name, value) for name, value in reply.headers.items() if name.lower() not in _NOT_PASSED_ON]
            return web.Response(status=reply.status, body=body if told is None else told, headers=dict(passed))
