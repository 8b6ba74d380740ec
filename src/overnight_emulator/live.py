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

from overnight_emulator.batches.rows import Reply, canonical
from overnight_emulator.faults.calls import echoing, send_part, suffer
from overnight_emulator.faults.kinds import Event, Fault
from overnight_emulator.rates import Verdict
from overnight_emulator.store import Run
from overnight_emulator.streaming import BEFORE_FIRST, Stream, Streamed, send_pieces
from overnight_emulator.truth import Spread
from overnight_emulator.wire import json_reply
from overnight_emulator.world import World

_HOW_IT_IS_SENT = ("stream", "stream_options")


class Manner(msgspec.Struct, frozen=True):
    """How a dialect words what happens to a live call: its refusals, and what its headers tell of limits."""

    fault: Callable[[Fault], Exception]
    too_fast: Callable[[Verdict], Exception]
    headers: Callable[[Verdict], Mapping[str, str]] = lambda _: {}


class LiveCall(msgspec.Struct, frozen=True):
    """One question: its body, the model, the tokens it is let in with, and how its answer is found and sent.

    One that does not wait is told at once that it is under way.
    """

    body: Mapping[str, Any]
    model: str
    tokens: int
    answer: Callable[[bytes, float], Reply]
    stream: Stream | None = None
    waits: bool = True


class LiveCalls:
    def __init__(self, world: World, manner: Manner) -> None:
        self._world = world
        self._manner = manner

    async def take(self, request: web.Request, call: LiveCall) -> web.StreamResponse:
        raw = canonical(call.body)
        digest = sha256(_question(call.body, raw)).digest()
        delay = self._world.clock.real_seconds(self.delay(digest)) if call.waits else 0.0
        wait = delay if call.stream is None else delay * BEFORE_FIRST

        async def reply() -> web.Response:
            return await self._reply(call, digest, wait)

        event = Event("live", raw.decode(), digest, call.model, streamed=call.stream is not None)
        fault = self._world.faults.strike(event)
        response = await suffer(fault, self._world.clock, reply, self._manner.fault)
        if isinstance(response, Streamed):
            self._world.note_time()
            return await send_pieces(request, response, delay - wait, fault, self._world.clock)
        if fault is not None and fault.do == "cut" and isinstance(response, web.Response):
            return await send_part(request, response, fault)
        if fault is not None and fault.do == "echo_key" and isinstance(response, web.Response):
            response.body = echoing(response.body if isinstance(response.body, bytes) else b"", request)
        return response

    async def _reply(self, call: LiveCall, digest: bytes, wait: float) -> web.Response:
        world = self._world
        verdict = world.rates.admit(call.model, call.tokens)
        if verdict.retry_after is not None:
            raise self._manner.too_fast(verdict)
        await asyncio.sleep(wait)
        said = call.answer(digest, world.clock.now())
        world.store.note_call(call.model, Run(digest, None, said.usage is not None), said.usage)
        used = 0 if said.usage is None else said.usage.input_tokens + said.usage.output_tokens
        world.rates.correct(call.model, used - call.tokens)
        headers = dict(self._manner.headers(verdict))
        if call.stream is not None and said.status == 200:
            return Streamed(call.stream, list(call.stream.pieces(said.body)), headers)
        return json_reply(said.body, said.status, headers)

    def delay(self, digest: bytes) -> float:
        """How long a question takes, in virtual seconds."""
        drawn, chance = self._world.truth.latency.live, self._world.chance
        if not isinstance(drawn, Spread):
            return chance.between(*drawn, "live latency", digest)
        share = min(max(chance.share("live latency", digest), 1e-6), 1 - 1e-6)
        return float(drawn.median * drawn.factor ** NormalDist().inv_cdf(share))


def _question(body: Mapping[str, Any], raw: bytes) -> bytes:
    """What is asked, whether the answer comes whole or in pieces."""
    if not any(name in body for name in _HOW_IT_IS_SENT):
        return raw
    return canonical({name: value for name, value in body.items() if name not in _HOW_IT_IS_SENT})


def duration(seconds: float) -> str:
    """`6m0s`, `1.5s`, `120ms`: as OpenAI and others write how long something takes."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{math.ceil(rest)}s" if minutes else f"{rest:.3f}s"
