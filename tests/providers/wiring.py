"""A wire to a scripted server, and servers that fall silent or break off."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import web

from overnight.providers.wire.http import Timeouts, Wire
from providers.asking import KEY

HEADERS = {"Authorization": f"Bearer {KEY}", "OpenAI-Organization": "org-1"}
IMPATIENT = Timeouts(connect=0.3, read=0.3)


def wire(url: str, timeouts: Timeouts | None = None) -> Wire:
    return Wire("openai", f"{url}/v1", HEADERS, secret=KEY, timeouts=timeouts)


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(work())


async def closing(line: Wire, awaited: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await awaited
    finally:
        await line.close()


async def silent(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(2)
    return web.Response()


async def half(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b'{"id":')
    assert request.transport is not None
    request.transport.close()
    return response


def collect(line: Wire, path: str = "/files/f/content") -> tuple[bytearray, Coroutine[Any, Any, Any]]:
    got = bytearray()
    return got, line.download(path, got.extend)
