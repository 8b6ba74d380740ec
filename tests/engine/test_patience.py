"""What happens to calls under way when the user has had enough."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from overnight.core.clock import WallClock
from overnight.engine.patience import Patience, Stopped


def stopping(make: Any, after: float = 0.05) -> Any:
    async def work() -> Any:
        patience = Patience(WallClock(1), once=False)
        asyncio.get_running_loop().call_later(after, patience.stop)
        return await make(patience)

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
        stopping(lambda patience: patience.while_going(for_ever(ended)))
    assert time.monotonic() - began < 5
    assert ended == ["ended"]


def test_a_call_that_matters_has_a_grace() -> None:
    assert stopping(lambda patience: patience.to_its_end(soon(), 5.0)) == "answer"
    ended: list[str] = []
    assert stopping(lambda patience: patience.to_its_end(for_ever(ended), 0.05)) is None
    assert ended == ["ended"]


@pytest.mark.parametrize("way", ["while_going", "to_its_end"])
def test_answers_and_errors_pass_through(way: str) -> None:
    def ask(patience: Patience, call: Coroutine[Any, Any, Any]) -> Any:
        return patience.while_going(call) if way == "while_going" else patience.to_its_end(call, 1.0)

    assert stopping(lambda patience: ask(patience, soon(0)), after=5) == "answer"
    with pytest.raises(ValueError, match="own"):
        stopping(lambda patience: ask(patience, failing()), after=5)
