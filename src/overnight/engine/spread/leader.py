"""The leader's side of its actors: who has which account, what is sent there, and what becomes of one that is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from overnight.core.errors import Unavailable
from overnight.engine.live.pace import Pacing
from overnight.engine.provider_account import ProviderAccount
from overnight.engine.spread.messages import OpenQueue, Told, encode, read_news
from overnight.engine.spread.remote_queue import RemoteQueue
from overnight.engine.waiting import Waiting
from overnight.providers.reading.secrets import add_echoes

# An actor answers within a second or so, unless it is gone or stopped. It begins no call any more by then (actor.py).
_PATIENCE = 30.0
# Actors that go one after the other, without a single answer in between: then somebody has to look at it.
_MOST_LOSSES = 3


class ActorLost(Exception):
    """It does not answer any more. What it had may have been called."""


class Link(Protocol):
    """The way to one actor. Messages arrive in order, each once; ActorLost when that can no longer be."""

    async def tell(self, message: bytes) -> None: ...
    async def collect(self) -> bytes: ...
    async def end(self) -> None: ...


class Place(Protocol):
    """Where actors are started: a Ray cluster."""

    name: str

    async def join(self) -> int:
        """How many actors there is room for; Unavailable, in words, where the place cannot be reached."""
        ...

    async def start(self) -> Link:
        """Unavailable, in words, where none can be."""
        ...

    async def leave(self) -> None: ...


class _Actor:
    """One actor after another, with the same queues."""

    def __init__(self, place: Place, say: Callable[[str], None]) -> None:
        self._place = place
        self._say = say
        self._queues: dict[int, tuple[RemoteQueue, OpenQueue]] = {}
        self._outbox: list[Told] = []
        self._posted = asyncio.Event()
        self._link: Link | None = None
        self._losses = 0
        # Why there is none any more.
        self._over: Exception | None = None
        self._task: asyncio.Task[None] | None = None

    def add(self, queue: RemoteQueue, opening: OpenQueue) -> None:
        self._queues[queue.number] = (queue, opening)
        if self._over is not None:
            queue.fail(self._over)
        elif self._link is not None:
            self._open(queue, opening)
        if self._task is None:
            self._task = asyncio.create_task(self._keep())

    def send(self, message: Told) -> None:
        self._outbox.append(message)
        self._posted.set()

    def _open(self, queue: RemoteQueue, opening: OpenQueue) -> None:
        self.send(opening)
        queue.open = True
        queue.pump()

    async def _keep(self) -> None:
        """Until the run is over, or no actor can be had any more."""
        try:
            while True:
                self._link = await self._place.start()
                for queue, opening in self._queues.values():
                    self._open(queue, opening)
                try:
                    await self._use(self._link)
                except ActorLost as loss:
                    await self._lose(loss)
        except Exception as error:  # noqa: BLE001 - the task's edge
            self._over = error
            for queue, _ in self._queues.values():
                queue.fail(error)

    async def _use(self, link: Link) -> None:
        tasks = [asyncio.create_task(self._speak(link)), asyncio.create_task(self._listen(link))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _speak(self, link: Link) -> None:
        while True:
            await self._posted.wait()
            self._posted.clear()
            messages, self._outbox = self._outbox, []
            if messages:
                await _soon(link.tell(encode(messages)))

    async def _listen(self, link: Link) -> None:
        while True:
            news = read_news(await _soon(link.collect()))
            add_echoes(news.echoes)
            for one in news.queues:
                if one.landed:
                    self._losses = 0
                self._queues[one.queue][0].take(one)

    async def _lose(self, loss: ActorLost) -> None:
        link, self._link, self._outbox = self._link, None, []
        self._losses += 1
        for queue, _ in self._queues.values():
            queue.lost()
        if link is not None:
            await link.end()
        if self._losses >= _MOST_LOSSES:
            raise Unavailable(f"{self._place.name}: {self._losses} actors were lost one after the other: {loss}")
        self._say(f"{self._place.name}: an actor was lost ({loss}); what it was asking is asked again by another")

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._link is not None:
            await self._link.end()


async def _soon(answer: Awaitable[bytes | None]) -> bytes:
    try:
        async with asyncio.timeout(_PATIENCE):
            return await answer or b""
    except TimeoutError:
        raise ActorLost(f"no answer for {_PATIENCE:.0f} s") from None


class Actors:
    """All of a pass. An account stays with one actor, so that its pace is known in one place."""

    def __init__(self, place: Place, most: int, say: Callable[[str], None]) -> None:
        self._place = place
        self._most = most
        self._say = say
        self._actors: list[_Actor] = []
        self._seats: dict[int, _Actor] = {}
        self._queues = 0

    def queue(
        self,
        account: ProviderAccount,
        model: str,
        waiting: Waiting,
        pacing: Pacing,
        stir: Callable[[], None],
        places: int,
    ) -> RemoteQueue:
        actor = self._seat(account.number)
        self._queues += 1
        queue = RemoteQueue(self._queues, account, waiting, stir, actor.send)
        opening = OpenQueue(
            queue=self._queues,
            account=account.number,
            provider=account.provider.name,
            endpoint=account.provider.endpoint,
            density=account.tokens_per_byte(model),
            pacing=pacing,
            places=places,
        )
        actor.add(queue, opening)
        return queue

    def _seat(self, account: int) -> _Actor:
        """The first accounts have an actor each; then they share."""
        if account not in self._seats:
            if len(self._actors) < self._most:
                self._actors.append(_Actor(self._place, self._say))
            self._seats[account] = self._actors[len(self._seats) % self._most]
        return self._seats[account]

    async def end(self) -> None:
        for actor in self._actors:
            await actor.end()
        await self._place.leave()
