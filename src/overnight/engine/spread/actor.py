"""A process that makes live calls for a leader: it has the queues of some accounts, and no ledger.

It calls what it was told, each row once, and tells what came. When its leader is not heard of, it begins no further
call: the leader may have been replaced, and whoever replaced it asks anew what was announced and not answered.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from overnight.core.ask import Model
from overnight.core.clock import Clock, steady
from overnight.core.errors import ProviderError, Unavailable
from overnight.core.result import Result
from overnight.engine.live.model_queue import ModelQueue
from overnight.engine.live.open_files import room_for
from overnight.engine.live.window import MOST
from overnight.engine.provider_account import LiveAccount
from overnight.engine.spread.messages import (
    Landed,
    News,
    OpenQueue,
    QueueNews,
    Row,
    Rows,
    Told,
    encode,
    read_told,
)
from overnight.engine.waiting import Waiting
from overnight.providers import Provider, connected, taken_echoes, vendor

# A leader asks for news all the time. One that has not for so long may have lost its run, which takes longer.
SILENCE = 20.0
# The longest that news are waited for, and how long answers of a moment wait for each other.
_LONGEST = 1.0
_LINGER = 0.005


class _Leader:
    """When the leader was last heard of. Once it was silent for too long, it stays unheard."""

    def __init__(self) -> None:
        self._heard = steady()
        self._lost = False

    def hear(self) -> None:
        if not self.lost:
            self._heard = steady()

    @property
    def lost(self) -> bool:
        self._lost = self._lost or steady() - self._heard > SILENCE
        return self._lost


class _Account(LiveAccount):
    """One whose leader may fall silent."""

    def __init__(self, provider: Provider, density: float, leader: _Leader) -> None:
        super().__init__(provider)
        self._density = density
        self._leader = leader

    @property
    def halted(self) -> ProviderError | None:
        """Asked before each call."""
        return Unavailable("the leader is not heard of") if self._leader.lost else None

    def tokens_per_byte(self, _: str) -> float:
        return self._density


class _Told:
    """The rows of one model that a queue was told of, as its `Feeder`."""

    def __init__(self, model: Model, landed: Callable[[Landed], None]) -> None:
        self.model = model
        self._landed = landed
        self._rows: dict[int, Row] = {}
        self._waiting: deque[int] = deque()

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._rows[row.number] = row
            self._waiting.append(row.number)

    def next_line(self) -> int | None:
        return self._waiting.popleft() if self._waiting else None

    def body(self, line: int) -> bytes:
        return self._rows[line].body

    def size(self, line: int) -> int:
        return len(self._rows[line].body)

    def custom_id(self, line: int) -> str:
        return self._rows[line].custom_id

    def landed(self, line: int, raw: bytes | None, result: Result, *, again: bool = False) -> None:
        del self._rows[line]
        assert not again  # that is for the leader to say
        self._landed(Landed(line, raw, result))

    def wake(self) -> None: ...

    def give_back(self) -> list[int]:
        numbers, self._rows, self._waiting = list(self._rows), {}, deque()
        return numbers


class _Queue:
    def __init__(self, number: int, calls: ModelQueue, stirred: asyncio.Event) -> None:
        self._number = number
        self._calls = calls
        self._stirred = stirred
        self._told: dict[bytes, _Told] = {}
        self._landed: list[Landed] = []
        self._last = 0

    def add(self, message: Rows) -> None:
        kind = encode(message.model)
        if kind not in self._told:
            self._told[kind] = _Told(message.model, self._lands)
            self._calls.join(self._told[kind])
        new = [row for row in message.rows if row.number > self._last]
        self._last = max((row.number for row in new), default=self._last)
        self._told[kind].add(new)
        self._calls.pump()

    def _lands(self, landed: Landed) -> None:
        self._landed.append(landed)
        self._stirred.set()

    def stop(self) -> None:
        self._calls.stop()
        self._stirred.set()

    def news(self) -> QueueNews:
        calls, (landed, self._landed) = self._calls, (self._landed, [])
        over = calls.stopped and calls.idle
        failure = calls.failure
        return QueueNews(
            queue=self._number,
            size=calls.size,
            pauses=calls.pace.cooldown.times,
            landed=tuple(landed),
            given_back=tuple(number for told in self._told.values() for number in told.give_back()) if over else (),
            failure=None if failure is None else (type(failure).__name__, str(failure)),
            fault=calls.fault,
        )


class Actor:
    """`tell` and `collect` are all that a leader does with it."""

    def __init__(self, clock: Clock) -> None:
        self._waiting = Waiting(clock, once=False)
        self._leader = _Leader()
        self._accounts: dict[int, _Account] = {}
        self._queues: dict[int, _Queue] = {}
        self._stirred = asyncio.Event()

    async def tell(self, message: bytes) -> None:
        self._leader.hear()
        for told in read_told(message):
            self._do(told)

    def _do(self, told: Told) -> None:
        if isinstance(told, OpenQueue):
            self._queues[told.queue] = self._opened(told)
        elif isinstance(told, Rows):
            self._queues[told.queue].add(told)
        else:
            self._queues[told.queue].stop()

    def _opened(self, told: OpenQueue) -> _Queue:
        if told.account not in self._accounts:
            provider = connected(vendor(told.provider), told.endpoint)
            self._accounts[told.account] = _Account(provider, told.density, self._leader)
        room = room_for(told.pacing.concurrency or MOST, told.places)
        account = self._accounts[told.account]
        calls = ModelQueue(account, self._waiting, told.pacing, lambda: None, room.calls)
        return _Queue(told.queue, calls, self._stirred)

    async def collect(self) -> bytes:
        """What came since the last time; waited for, but not for long."""
        self._leader.hear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST):
                await self._stirred.wait()
            await asyncio.sleep(_LINGER)
        self._stirred.clear()
        return encode(News(queues=tuple(one.news() for one in self._queues.values()), echoes=taken_echoes()))

    async def end(self) -> None:
        self._waiting.stop()
        for account in self._accounts.values():
            await account.provider.connection.close()
