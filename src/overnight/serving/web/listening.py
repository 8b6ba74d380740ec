"""A socket on 127.0.0.1, and the server behind it."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from overnight.core.errors import StudyError
from overnight.serving.records import Records
from overnight.serving.web.changes import Followers
from overnight.serving.web.gate import Gate
from overnight.serving.web.routes import Routes

_HERE = "127.0.0.1"
# Seconds that pages under way have to be finished, when it ends.
_PATIENCE = 2.0


class Listening:
    """One server, for one dashboard."""

    def __init__(self, records: Records, port: int) -> None:
        self._records = records
        self._port = port
        self._gate = Gate()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._followers: Followers | None = None

    @property
    def address(self) -> str:
        return self._gate.address

    async def serve(self, ready: Callable[[], None]) -> None:
        """Until `end`. StudyError when the port cannot be had."""
        self._loop, self._followers = asyncio.get_running_loop(), Followers()
        routes = Routes(self._records, self._gate, self._followers)
        runner = web.AppRunner(routes.app(), access_log=None, shutdown_timeout=_PATIENCE)
        await runner.setup()
        try:
            self._gate.port = await self._listen(runner)
            ready()
            await self._followers.ending.wait()
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> int:
        try:
            await web.TCPSite(runner, _HERE, self._port).start()
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            message = f"--port {self._port}: cannot listen there: {why or error}; --port 0 picks a free one"
            raise StudyError(message) from error
        port: int = runner.addresses[0][1]
        return port

    def end(self) -> None:
        if self._loop is not None and self._followers is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._followers.ending.set)
