"""Waiting: as long as needed, not at all (`--once`), and never past the user's Ctrl-C."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from overnight.core.clock import Clock

T = TypeVar("T")


class NotNow(Exception):
    """There is something to wait for, and this pass does not wait."""


class Stopped(Exception):
    """The user asked to stop."""


class Waiting:
    def __init__(self, clock: Clock, *, once: bool) -> None:
        self.clock = clock
        self.once = once
        self._stop = asyncio.Event()
        self._told: list[Callable[[], None]] = []

    def when_stopped(self, tell: Callable[[], None]) -> None:
        """For those who wait for something else and must not begin anything more."""
        self._told.append(tell)

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        self._stop.set()
        for tell in self._told:
            tell()

    async def until(self, at: float) -> None:
        """Come back at `at`; NotNow when this pass does not wait, Stopped when the user has had enough."""
        if self.stopped:
            raise Stopped
        wait = at - self.clock.now()
        if wait <= 0:
            return
        if self.once:
            raise NotNow
        sleep = asyncio.ensure_future(self.clock.sleep(wait))
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({sleep, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiter in (sleep, stop):
                waiter.cancel()
                with suppress(asyncio.CancelledError):
                    await waiter
        if self.stopped:
            raise Stopped

    async def while_going(self, call: Awaitable[T]) -> T:
        """A call that does no harm when it is given up half-way: it ends when the user has had enough."""
        done = await self._ended_or_stopped(call, 0.0)
        if done is None:
            raise Stopped
        return done.result()

    async def before(self, at: float, call: Awaitable[T]) -> "asyncio.Future[T] | None":
        """A call that does no harm when it is given up half-way, once it has ended; None when `at` came first."""
        task = asyncio.ensure_future(call)
        timer = asyncio.ensure_future(self.clock.sleep(max(0.0, at - self.clock.now())))
        try:
            await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
            return task if task.done() else None
        finally:
            for one in (task, timer):
                one.cancel()
            await asyncio.gather(task, timer, return_exceptions=True)

    async def to_its_end(self, call: Awaitable[T], grace: float) -> T | None:
        """A call that should not be given up: once the user has had enough it has `grace` real seconds; None after."""
        done = await self._ended_or_stopped(call, grace)
        return None if done is None else done.result()

    async def _ended_or_stopped(self, call: Awaitable[T], grace: float) -> "asyncio.Future[T] | None":
        task = asyncio.ensure_future(call)
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and grace:
                await asyncio.wait({task}, timeout=grace)
            return task if task.done() else None
        finally:
            # Also when it is done: an error that came just as this was cancelled is nobody's any more. Both are told to
            # end before either is waited for: a second cancellation may come meanwhile, and leave nothing going on.
            stop.cancel()
            task.cancel()
            await asyncio.gather(stop, task, return_exceptions=True)

    async def pause(self, seconds: float) -> None:
        await self.until(self.clock.now() + seconds)
