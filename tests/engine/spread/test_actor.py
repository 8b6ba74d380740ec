"""An actor by itself: what it calls, and when it calls no more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from emulator_process import EmulatorProcess
from overnight.core.ask import Model
from overnight.core.clock import WallClock
from overnight.engine.live.pace import Pacing
from overnight.engine.spread import actor as acting
from overnight.engine.spread.actor import Actor
from overnight.engine.spread.messages import News, OpenQueue, Row, Rows, StopQueue, Told, encode, read_news
from overnight.providers.contract import Endpoint

KEY = "sk-test-0123456789abcdefghijklmnop"
MODEL = Model(provider="openai", name="gpt-4.1-mini")


@pytest.fixture(scope="module")
def emulator() -> Iterator[EmulatorProcess]:
    with EmulatorProcess({"latency": {"live": [0, 0]}}) as one:
        yield one


def opening(emulator: EmulatorProcess, **pacing: float) -> OpenQueue:
    endpoint = Endpoint(base_url=emulator.openai_url, key=KEY)
    pace = Pacing(**pacing)  # type: ignore[arg-type]
    return OpenQueue(queue=1, account=1, provider="openai", endpoint=endpoint, density=0.3, pacing=pace, places=1)


def rows(first: int, last: int) -> Rows:
    texts = ((number, f'{{"model":"gpt-4.1-mini","messages":[{{"role":"user","content":"thing {number}"}}]}}')
             for number in range(first, last + 1))  # fmt: skip
    return Rows(queue=1, model=MODEL, rows=tuple(Row(number, f"o-{number}", text.encode()) for number, text in texts))


async def tell(actor: Actor, *messages: Told) -> None:
    await actor.tell(encode(messages))


async def collected(actor: Actor, until: int) -> list[News]:
    """News until so many rows have landed or come back, or nothing comes any more."""
    found: list[News] = []
    quiet = 0
    while quiet < 2 and sum(len(q.landed) + len(q.given_back) for news in found for q in news.queues) < until:
        found.append(read_news(await actor.collect()))
        quiet = 0 if any(q.landed or q.given_back for q in found[-1].queues) else quiet + 1
    return found


def landed(news: list[News]) -> list[int]:
    return sorted(one.number for each in news for queue in each.queues for one in queue.landed)


def test_each_row_is_called_once_however_often_it_is_told(emulator: EmulatorProcess) -> None:
    async def check() -> list[int]:
        actor = Actor(WallClock())
        await tell(actor, opening(emulator), rows(1, 20))
        await tell(actor, rows(1, 20))
        await tell(actor, rows(15, 25))
        try:
            return landed([*(await collected(actor, 25)), *(await collected(actor, 1))])
        finally:
            await actor.end()

    before = emulator.log()["rows_run"]
    assert asyncio.run(check()) == list(range(1, 26))
    assert emulator.log()["rows_run"] - before == 25


def test_what_was_not_called_when_it_is_stopped_comes_back(emulator: EmulatorProcess) -> None:
    async def check() -> list[News]:
        actor = Actor(WallClock())
        await tell(actor, opening(emulator, requests_per_minute=60), rows(1, 10))
        first = await collected(actor, 1)
        await tell(actor, StopQueue(queue=1))
        try:
            return [*first, *(await collected(actor, 10 - len(landed(first))))]
        finally:
            await actor.end()

    before = emulator.log()["rows_run"]
    news = asyncio.run(check())
    came, back = landed(news), sorted(n for each in news for queue in each.queues for n in queue.given_back)
    assert came
    assert back
    assert sorted(came + back) == list(range(1, 11))
    assert emulator.log()["rows_run"] - before == len(came)


def test_a_leader_that_was_silent_is_not_worked_for_any_more(
    emulator: EmulatorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it is heard of again: somebody else may have its run by then."""
    time = [1000.0]
    monkeypatch.setattr(acting, "steady", lambda: time[0])

    async def check() -> list[int]:
        actor = Actor(WallClock())
        await tell(actor, opening(emulator), rows(1, 5))
        before = landed(await collected(actor, 5))
        time[0] += acting.SILENCE + 1
        await tell(actor, rows(6, 9))
        time[0] += 1
        await tell(actor, rows(10, 12))
        try:
            return before + landed(await collected(actor, 7))
        finally:
            await actor.end()

    before = emulator.log()["rows_run"]
    assert asyncio.run(check()) == [1, 2, 3, 4, 5]
    assert emulator.log()["rows_run"] - before == 5
