"""What is told while somebody looks: that something has changed, and nothing else. The page fetches itself anew."""

import asyncio
from collections.abc import Callable, Hashable

from aiohttp import web

# Seconds between two looks, between two signs of life, and until a reader that does not read is left.
_BETWEEN = 1.0
_SIGN_OF_LIFE = 15.0
_PATIENCE = 30.0
# Pages that are followed at once; more are shown, and are not live.
_MOST = 64


class Followers:
    """Pages that are open somewhere. Each is told when what it shows has changed."""

    def __init__(self) -> None:
        self._open = 0
        self.ending = asyncio.Event()

    async def follow(self, request: web.Request, look: Callable[[], Hashable]) -> web.StreamResponse:
        if self._open >= _MOST:
            return web.Response(status=503, text="too many pages are followed at once\n")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        self._open += 1
        try:
            await response.prepare(request)
            await self._tell(request, response, look)
        except (ConnectionError, TimeoutError):
            pass  # the page is gone, or nobody reads it any more
        finally:
            self._open -= 1
        return response

    async def _tell(self, request: web.Request, response: web.StreamResponse, look: Callable[[], Hashable]) -> None:
        last: Hashable = None
        told, silent = 0, 0.0
        # A page that was left is noticed here: whoever turns pages quickly would else run out of places.
        while not self.ending.is_set() and request.transport is not None and not request.transport.is_closing():
            now = await asyncio.to_thread(look)
            if now != last or told == 0:
                last, told, silent = now, told + 1, 0.0
                await asyncio.wait_for(response.write(f"id: {told}\ndata: {told}\n\n".encode()), _PATIENCE)
            elif silent >= _SIGN_OF_LIFE:
                silent = 0.0
                await asyncio.wait_for(response.write(b": still here\n\n"), _PATIENCE)
            silent += _BETWEEN
            try:
                await asyncio.wait_for(self.ending.wait(), _BETWEEN)
            except TimeoutError:
                continue
