"""Models of one small server take turns, and the one in memory goes first."""

from __future__ import annotations

import asyncio
from typing import Any

from overnight.core.clock import WallClock
from overnight.engine.live.model_swapping import ModelSwapping
from overnight.engine.waiting import Waiting


class Server:
    """A server with room for one model; it remembers what was done with it."""

    name = "small"

    def __init__(self, loaded: list[str]) -> None:
        self.memory = loaded
        self.story: list[str] = []

    async def loaded(self) -> list[str]:
        return list(self.memory)

    async def unload(self, model_name: str) -> None:
        self.memory.remove(model_name)
        self.story.append(f"unload {model_name}")


def play(server: Any, models: list[str], *, stopped: bool = False) -> list[str]:
    async def slices() -> None:
        waiting = Waiting(WallClock(), once=False)
        turns = ModelSwapping(server, waiting)

        async def one(model: str) -> None:
            async with turns.of(model):
                server.story.append(f"begin {model}")
                await asyncio.sleep(0.01)
                server.story.append(f"end {model}")

        if stopped:
            waiting.stop()
        await asyncio.gather(*(one(model) for model in models))

    asyncio.run(slices())
    return list(server.story)


def test_the_model_in_memory_goes_first_and_nobody_else_stays() -> None:
    story = play(Server(["b:latest", "stranger"]), ["a", "b", "a", "b"])
    assert story[0] == "unload stranger"
    assert [word.split()[1] for word in story if word.startswith("begin")] == ["b", "b", "a", "a"]
    assert story.index("unload b:latest") > max(place for place, word in enumerate(story) if word == "end b")


def test_slices_of_one_model_run_side_by_side() -> None:
    assert play(Server([]), ["a", "a"])[:2] == ["begin a", "begin a"]


def test_other_servers_have_no_turns() -> None:
    class Large:
        name = "large"

        def __init__(self) -> None:
            self.story: list[str] = []

    assert play(Large(), ["a", "b"])[:2] == ["begin a", "begin b"]


def test_nobody_waits_once_the_user_has_had_enough() -> None:
    assert len(play(Server([]), ["a", "b"], stopped=True)) == 4
