"""Connections of live calls to one place: opened as they are needed, kept for the next call, watched for silence."""

import asyncio
from collections import deque

from overnight.providers.wire.exchange import Exchange
from overnight.providers.wire.route import Route
from overnight.providers.wire.tls import SharedBuffers

# A connection that nobody has used for this long may be closed at the other end without our knowing.
_KEPT_SECONDS = 15.0
# Connections that are being opened at once: servers turn away a thousand that knock in one moment.
_OPENING = 128
# What is read from a connection at once; all of them share it.
_BUFFER = 256 << 10
_TICK_SECONDS = 1.0


class Connections:
    """Of one loop. `silence` is the longest that nothing may come, `longest` the longest that an answer may take."""

    def __init__(self, route: Route, silence: float, longest: float) -> None:
        self._route = route
        self._silence = silence
        self._longest = longest
        self._loop = asyncio.get_running_loop()
        self._buffers = SharedBuffers(_BUFFER)
        self._opening = asyncio.Semaphore(_OPENING)
        self._idle: deque[tuple[Exchange, float]] = deque()
        self._busy: set[Exchange] = set()
        self._tick = max(0.02, min(_TICK_SECONDS, silence / 10, longest / 10))
        self._watch: asyncio.TimerHandle | None = None

    @property
    def count(self) -> int:
        return len(self._idle) + len(self._busy)

    def kept(self) -> Exchange | None:
        """The connection that was used last, if there is one that can be used again."""
        while self._idle:
            exchange, since = self._idle.pop()
            if exchange.usable and self._loop.time() - since < _KEPT_SECONDS:
                self._busy.add(exchange)
                return exchange
            exchange.abort()
        return None

    async def opened(self) -> Exchange:
        """A new one, or one that has become free meanwhile. Raises what `Route.open` raises."""
        async with self._opening:
            exchange = self.kept()
            if exchange is None:
                exchange = await self._route.open(self._loop, self._buffers)
                self._busy.add(exchange)
        if self._watch is None:
            self._watch = self._loop.call_later(self._tick, self._look)
        return exchange

    def give_back(self, exchange: Exchange) -> None:
        """After an answer, or when none is waited for any more."""
        self._busy.discard(exchange)
        if exchange.usable:
            self._idle.append((exchange, self._loop.time()))
        else:
            exchange.abort()

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        for exchange in (*self._busy, *(one for one, _ in self._idle)):
            exchange.fail(ConnectionAbortedError("closed"))
        self._busy.clear()
        self._idle.clear()
        # Sockets are closed by what asyncio does next; two steps of it where a proxy has TLS of its own.
        for _ in range(3):
            await asyncio.sleep(0)

    def _look(self) -> None:
        """One look at all of them, in the place of a timer for each call."""
        now = self._loop.time()
        for exchange in tuple(self._busy):
            if now - exchange.heard > self._silence or now - exchange.began > self._longest:
                exchange.fail(TimeoutError())
        while self._idle and now - self._idle[0][1] > _KEPT_SECONDS:
            self._idle.popleft()[0].abort()
        self._watch = self._loop.call_later(self._tick, self._look) if self.count else None
