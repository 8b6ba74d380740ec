"""Actors without Ray: in the process that runs the study, by the same messages, and lost when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import overnight.api
import overnight.api.work
from overnight.api.work import Run
from overnight.core.clock import WallClock
from overnight.core.errors import Unavailable
from overnight.engine.spread.actor import Actor
from overnight.engine.spread.leader import ActorLost
from overnight.settings import Settings


class HereLink:
    """Lost at the n-th time that news are asked for; those news are lost with it. What was told to it goes on."""

    def __init__(self, actor: Actor, lost_at: int | None) -> None:
        self._actor = actor
        self._left = lost_at

    async def tell(self, message: bytes) -> None:
        await self._actor.tell(message)

    async def collect(self) -> bytes:
        news = await self._actor.collect()
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise ActorLost("as the test wants it")
        return news

    async def end(self) -> None:
        await self._actor.end()


class HerePlace:
    name = "here"

    def __init__(self, number: int, time_scale: float, losses: list[int], *, full: bool) -> None:
        self._number = number
        self._time_scale = time_scale
        self._losses = losses
        self._full = full

    async def join(self) -> int:
        return self._number

    async def start(self) -> HereLink:
        if self._full:
            raise Unavailable("here: there is no room")
        lost_at = self._losses.pop(0) if self._losses else None
        return HereLink(Actor(WallClock(self._time_scale)), lost_at)

    async def leave(self) -> None: ...


def run(
    study: str,
    *,
    actors: int,
    losses: list[int],
    say: Callable[[str], None],
    full: bool = False,
    **options: Any,
) -> Run:
    """`overnight run` with so many actors, each lost after so many news as `losses` says, in their order."""

    def place(settings: Settings) -> HerePlace:
        return HerePlace(actors, settings.time_scale, losses, full=full)

    overnight.api.work._place = place  # type: ignore[assignment]
    return overnight.api.run(study, **options, say=say)
