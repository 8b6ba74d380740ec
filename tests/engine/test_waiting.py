"""What happens to calls under way when the user has had enough."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from overnight.core.clock import WallClock
from overnight.engine.waiting import Stopped, Waiting


def stopping(make: Any, after: float = 0.05) -> Any:
    async def work() -> Any:
        waiting = Waiting(WallClock(1), once=False)
        asyncio.get_running_loop().call_later(after, waiting.stop)
        return await make(waiting)

    return asyncio.run(work())


async def for_ever(ended: list[str]) -> None:
    try:
        await asyncio.sleep(60)
    finally:
        ended.append("ended")


async def soon(seconds: float = 0.1) -> str:
    await asyncio.sleep(seconds)
    return "answer"


async def failing() -> None:
    raise ValueError("own")


def test_a_harmless_call_ends_at_once() -> None:
    ended: list[str] = []
    began = time.monotonic()
    with pytest.raises(Stopped):
        stopping(lambda waiting: waiting.while_going(for_ever(ended)))
    assert time.monotonic() - began < 5
    assert ended == ["ended"]


def test_a_call_that_matters_has_a_grace() -> None:
    assert stopping(lambda waiting: waiting.to_its_end(soon(), 5.0)) == "answer"
    ended: list[str] = []
    assert stopping(lambda waiting: waiting.to_its_end(for_ever(ended), 0.05)) is None
    assert ended == ["ended"]


@pytest.mark.parametrize("way", ["while_going", "to_its_end"])
def test_answers_and_errors_pass_through(way: str) -> None:
    def ask(waiting: Waiting, call: Coroutine[Any, Any, Any]) -> Any:
        return waiting.while_going(call) if way == "while_going" else waiting.to_its_end(call, 1.0)

    assert stopping(lambda waiting: ask(waiting, soon(0)), after=5) == "answer"
    with pytest.raises(ValueError, match="own"):
        stopping(lambda waiting: ask(waiting, failing()), after=5)


def test_a_call_ends_with_who_asked_however_often_that_is_cancelled() -> None:
    async def work() -> list[str]:
        ended: list[str] = []
        asked = asyncio.ensure_future(Waiting(WallClock(1), once=False).while_going(for_ever(ended)))
        await asyncio.sleep(0.01)
        while not asked.done():
            asked.cancel()
            await asyncio.sleep(0)
        return list(ended)

    assert asyncio.run(work()) == ["ended"]
