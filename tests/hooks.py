"""A webhook's server on this machine: it keeps what it is told, and answers as a test wants."""

from __future__ import annotations

import asyncio
import json
import threading
from types import TracebackType
from typing import Any, Self

from aiohttp import web


class Hook:
    """`with Hook() as hook: ... hook.url ... hook.told`. A silent one takes the request and never answers."""

    def __init__(self, status: int = 200, *, silent: bool = False, location: str = "") -> None:
        self.told: list[dict[str, Any]] = []
        self.url = ""
        self._status, self._silent = status, silent
        self._headers = {"Location": location} if location else {}
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(30)
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._take)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/done"
        self._ready.set()
        await self._over.wait()
        await runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        self.told.append(json.loads(await request.read()))
        if self._silent:
            await self._over.wait()
        return web.Response(status=self._status, headers=self._headers)
