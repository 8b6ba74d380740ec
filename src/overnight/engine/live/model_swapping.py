"""Models of a server that holds one at a time take turns: swapping them for every row would cost more than the rows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from overnight.core.errors import ProviderError
from overnight.engine.waiting import Waiting
from overnight.providers.contract import Connection
from overnight.providers.provider import swaps_models

# Slices that have just been begun are waited for, so that the model in memory can go first.
_GATHER = 0.05


class ModelSwapping:
    """Whose turn it is at one account. Where models need not take turns, it is everybody's."""

    def __init__(self, connection: Connection, waiting: Waiting) -> None:
        self._connection = connection
        self._waiting = waiting
        self._callers: dict[str, int] = {}
        self._users = 0
        self._current: str | None = None
        self._changed = asyncio.Event()
        self._choosing = asyncio.Lock()
        waiting.when_stopped(self._change)

    @asynccontextmanager
    async def of(self, model: str) -> AsyncIterator[None]:
        """Comes in when it is this model's turn, or when the user has had enough."""
        if not swaps_models(self._connection):
            yield
            return
        self._callers[model] = self._callers.get(model, 0) + 1
        try:
            await self._come_in(model)
        finally:
            self._callers[model] -= 1
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._current = None
            self._change()

    async def _come_in(self, model: str) -> None:
        await asyncio.sleep(_GATHER)
        while self._current != model and not self._waiting.stopped:
            changed = self._changed
            async with self._choosing:
                if self._current is None:
                    self._current = await self._choose()
            if self._current != model:
                await changed.wait()

    def _change(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _choose(self) -> str:
        """The model in memory if it is waited for, else the first that is; all others leave the memory."""
        assert swaps_models(self._connection)
        wanted = [model for model, count in self._callers.items() if count]
        try:
            loaded = await self._connection.loaded()
        except ProviderError:
            loaded = []  # whoever calls it will hear what is wrong
        chosen = next((model for model in wanted if _full(model) in map(_full, loaded)), wanted[0])
        for other in loaded:
            if _full(other) != _full(chosen):
                await self._connection.unload(other)
        return chosen


def _full(model: str) -> str:
    return model if ":" in model else f"{model}:latest"
