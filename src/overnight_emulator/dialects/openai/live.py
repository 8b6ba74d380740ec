"""Live calls of the OpenAI dialect: chat completions, responses, and the list of models."""

from __future__ import annotations

import asyncio
from hashlib import sha256

from aiohttp import web

from overnight_emulator.answering import Models
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.errors import ApiError, bad_json, from_fault
from overnight_emulator.dialects.openai.lines import answer
from overnight_emulator.dialects.openai.rules import CHAT, RESPONSES, exists
from overnight_emulator.faults import Event
from overnight_emulator.misdeeds import suffer
from overnight_emulator.rows import canonical
from overnight_emulator.store import Run
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_SHOWN = (
    "gpt-4.1",
    "gpt-4.1-mini",
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-nano",
    "gpt-5.1",
    "o3",
    "o4-mini",
)
_MODELS_SINCE = 1_750_000_000
_REQUESTS_PER_MINUTE = 10_000
_TOKENS_PER_MINUTE = 10_000_000


class LiveRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._models = Models(world.truth)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/chat/completions", self.chat),
            web.post("/responses", self.responses),
            web.get("/models", self.models),
            web.get("/models/{id}", self.model),
        ]

    async def chat(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, CHAT)

    async def responses(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, RESPONSES)

    async def models(self, _: web.Request) -> web.Response:
        shown = [_model(name) for name in _SHOWN if exists(name, self._world.truth)]
        return json_reply({"object": "list", "data": shown})

    async def model(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if not exists(name, self._world.truth):
            raise ApiError(404, f"The model '{name}' does not exist", param="model", code="model_not_found")
        return json_reply(_model(name))

    async def _answer(self, request: web.Request, endpoint: str) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        check_credit(request, self._world.truth)
        if body.get("stream"):
            message = "This emulator answers whole: 'stream' is not simulated. Send the request without it."
            raise ApiError(400, message, param="stream", code="unsupported_value")
        raw = canonical(body)
        digest = sha256(raw).digest()

        async def reply() -> web.Response:
            low, high = self._world.truth.latency.live
            delay = self._world.chance.between(low, high, "live latency", digest)
            await asyncio.sleep(self._world.clock.real_seconds(delay))
            said = answer(self._models, self._world.truth, body, endpoint, self._world.clock.now(), digest)
            self._world.store.add_runs(None, [Run(digest, None, said.usage is not None)])
            tokens = 0 if said.usage is None else said.usage.input_tokens
            return json_reply(said.body, said.status, _rate_headers(tokens))

        event = Event("live", raw.decode(), digest, body.get("model"))
        return await suffer(self._world.faults.strike(event), self._world.clock, reply, from_fault)


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": _MODELS_SINCE, "owned_by": "emulator"}


def _rate_headers(tokens: int) -> dict[str, str]:
    return {
        "x-ratelimit-limit-requests": str(_REQUESTS_PER_MINUTE),
        "x-ratelimit-remaining-requests": str(_REQUESTS_PER_MINUTE - 1),
        "x-ratelimit-reset-requests": "6ms",
        "x-ratelimit-limit-tokens": str(_TOKENS_PER_MINUTE),
        "x-ratelimit-remaining-tokens": str(_TOKENS_PER_MINUTE - tokens),
        "x-ratelimit-reset-tokens": "0s",
    }
