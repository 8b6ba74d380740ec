"""A server that writes down what it is sent and answers what the test says, in the test's own loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ScriptedServer:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.seen: list[web.BaseRequest] = []
        self.bodies: list[bytes] = []
        self.url = ""

    async def receive(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(request)
        self.bodies.append(await request.read())
        return await self._answer(request)  # type: ignore[arg-type]


def _request(*parts: Any) -> web.BaseRequest:
    """Larger than aiohttp takes by itself."""
    return web.BaseRequest(*parts, asyncio.get_running_loop(), client_max_size=64 << 20)


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[ScriptedServer]:
    script = ScriptedServer(answer)
    runner = web.ServerRunner(
        web.Server(script.receive, request_factory=_request), handle_signals=False, shutdown_timeout=1.0
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    script.url = f"http://{host}:{port}"
    try:
        yield script
    finally:
        await runner.cleanup()


def replying(status: int = 200, body: object = None, **headers: str) -> Answer:
    """Always the same JSON; header names are written with `_` for `-`."""

    async def answer(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({} if body is None else body, status=status, headers=named)

    return answer


def redirecting(to: str, status: int = 302) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": to})

    return answer


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Read everything, say nothing, close."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@asynccontextmanager
async def closed_port() -> AsyncIterator[int]:
    """A port at which nobody listens while the test runs."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    yield port
