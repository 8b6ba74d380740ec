"""Live calls, the same for every dialect: limits are kept, time passes, faults strike, and what was run is noted."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from hashlib import sha256
from statistics import NormalDist
from typing import Any

import msgspec
from aiohttp import web

from overnight_emulator.faults import Event, Fault
from overnight_emulator.misdeeds import echoing, send_part, suffer
from overnight_emulator.rates import Verdict
from overnight_emulator.rows import Reply, canonical
from overnight_emulator.store import Run
from overnight_emulator.truth import Spread
from overnight_emulator.wire import json_reply
from overnight_emulator.world import World


class Manner(msgspec.Struct, frozen=True):
    """How a dialect words what happens to a live call: its refusals, and what its headers tell of limits."""

    fault: Callable[[Fault], Exception]
    too_fast: Callable[[Verdict], Exception]
    headers: Callable[[Verdict], Mapping[str, str]] = lambda _: {}


class LiveCall(msgspec.Struct, frozen=True):
    """One question: its body, the model, the tokens it is let in with, and how its answer is found."""

    body: Mapping[str, Any]
    model: str
    tokens: int
    answer: Callable[[bytes, float], Reply]


class LiveCalls:
    def __init__(self, world: World, manner: Manner) -> None:
        self._world = world
        self._manner = manner

    async def take(self, request: web.Request, call: LiveCall) -> web.StreamResponse:
        raw = canonical(call.body)
        digest = sha256(raw).digest()

        async def reply() -> web.Response:
            return await self._reply(call, digest)

        fault = self._world.faults.strike(Event("live", raw.decode(), digest, call.model))
        response = await suffer(fault, self._world.clock, reply, self._manner.fault)
        if fault is not None and fault.do == "cut" and isinstance(response, web.Response):
            return await send_part(request, response, fault)
        if fault is not None and fault.do == "echo_key" and isinstance(response, web.Response):
            response.body = echoing(response.body if isinstance(response.body, bytes) else b"", request)
        return response

    async def _reply(self, call: LiveCall, digest: bytes) -> web.Response:
        world = self._world
        verdict = world.rates.admit(call.model, call.tokens)
        if verdict.retry_after is not None:
            raise self._manner.too_fast(verdict)
        await asyncio.sleep(world.clock.real_seconds(self._delay(digest)))
        said = call.answer(digest, world.clock.now())
        world.store.add_runs(None, [Run(digest, None, said.usage is not None)])
        if said.usage is not None:
            world.store.bill_call(call.model, said.usage)
        used = 0 if said.usage is None else said.usage.input_tokens + said.usage.output_tokens
        world.rates.correct(call.model, used - call.tokens)
        return json_reply(said.body, said.status, self._manner.headers(verdict))

    def _delay(self, digest: bytes) -> float:
        drawn, chance = self._world.truth.latency.live, self._world.chance
        if not isinstance(drawn, Spread):
            return chance.between(*drawn, "live latency", digest)
        share = min(max(chance.share("live latency", digest), 1e-6), 1 - 1e-6)
        return float(drawn.median * drawn.factor ** NormalDist().inv_cdf(share))


def duration(seconds: float) -> str:
    """`6m0s`, `1.5s`, `120ms`: as OpenAI and others write how long something takes."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{math.ceil(rest)}s" if minutes else f"{rest:.3f}s"
