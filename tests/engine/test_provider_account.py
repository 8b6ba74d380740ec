"""Polling: few calls, no news taken for bad news, trouble waited out, dead keys not."""

from __future__ import annotations

import asyncio

import pytest

from overnight.core.clock import WallClock
from overnight.core.errors import Throttled, Unauthorized, Unavailable
from overnight.engine.provider_account import Poller
from overnight.engine.waiting import NotNow, Stopped, Waiting
from overnight.providers import Batch, Fence, Sightings


class Listing:
    """A provider's listing as a script; it counts who asks."""

    name = "scripted"

    def __init__(self, shown: list[str], troubles: list[Exception] | None = None) -> None:
        self._shown = shown
        self._troubles = troubles or []
        self.lists = 0
        self.asked: list[str] = []

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        self.lists += 1
        if self._troubles:
            raise self._troubles.pop(0)
        return Sightings(tuple(self._batch(name) for name in self._shown), complete=True)

    async def retrieve(self, batch_id: str) -> Batch | None:
        self.asked.append(batch_id)
        if self._troubles:
            raise self._troubles.pop(0)
        return None if batch_id == "nobody" else self._batch(batch_id)

    def _batch(self, name: str) -> Batch:
        return Batch(id=name, phase="completed", status="completed")


def look(provider: Listing, names: list[str], *, once: bool = False) -> list[Batch | BaseException | None]:
    async def all_of_them() -> list[Batch | BaseException | None]:
        waiting = Waiting(WallClock(100_000), once=once)
        poller = Poller(provider, waiting, 60.0, 0.0)  # type: ignore[arg-type]
        return await asyncio.gather(*(poller.look(name, 0.0) for name in names), return_exceptions=True)

    return asyncio.run(all_of_them())


def test_many_batches_cost_one_listing() -> None:
    provider = Listing([f"b{n}" for n in range(50)])
    assert len(look(provider, [f"b{n}" for n in range(50)])) == 50
    assert (provider.lists, provider.asked) == (1, [])


def test_two_batches_are_asked_for_by_name() -> None:
    provider = Listing([])
    look(provider, ["b1", "b2"])
    assert (provider.lists, provider.asked) == (0, ["b1", "b2"])


def test_absence_from_a_listing_is_no_news() -> None:
    provider = Listing(["b0", "b1", "b2"])
    found = look(provider, ["b0", "b1", "b2", "old"])
    assert provider.asked == ["old"]
    assert all(isinstance(batch, Batch) for batch in found)


def test_what_nobody_knows_is_nobody() -> None:
    assert look(Listing([]), ["nobody"]) == [None]


def test_trouble_is_waited_out() -> None:
    provider = Listing(["a", "b", "c"], [Unavailable("down"), Throttled("slow", 100.0)])
    assert all(isinstance(batch, Batch) for batch in look(provider, ["a", "b", "c"]))
    assert provider.lists == 3


def test_a_dead_key_is_not() -> None:
    found = look(Listing([], [Unauthorized("dead")]), ["a", "b", "c"])
    assert all(isinstance(error, Unauthorized) for error in found)


def test_a_pass_that_does_not_wait_meets_trouble_with_not_now() -> None:
    found = look(Listing([], [Unavailable("down")]), ["a"], once=True)
    assert isinstance(found[0], NotNow)


def test_stopping_wakes_every_sleeper() -> None:
    async def stopped() -> None:
        waiting = Waiting(WallClock(), once=False)
        sleeper = asyncio.create_task(waiting.pause(10_000))
        await asyncio.sleep(0.01)
        waiting.stop()
        await sleeper

    with pytest.raises(Stopped):
        asyncio.run(stopped())
