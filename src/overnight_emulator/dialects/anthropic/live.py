"""Live calls of the Anthropic dialect: messages, their tokens counted, and the models there are."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

from aiohttp import web

from overnight_emulator.answering import Models
from overnight_emulator.dialects.anthropic.accounts import check_credit, version_of
from overnight_emulator.dialects.anthropic.errors import ApiError, bad_json, from_fault
from overnight_emulator.dialects.anthropic.lines import answer
from overnight_emulator.dialects.anthropic.objects import moment
from overnight_emulator.dialects.anthropic.prompts import message_turns
from overnight_emulator.dialects.anthropic.rules import EFFORTS, exists, family_of
from overnight_emulator.faults import Event
from overnight_emulator.misdeeds import suffer
from overnight_emulator.rows import canonical
from overnight_emulator.store import Run
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_SHOWN = (
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-1",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-opus-4-8",
    "claude-sonnet-4-6",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
)
_MODELS_SINCE = 1_750_000_000
_REQUESTS_PER_MINUTE = 4_000
_TOKENS_PER_MINUTE = 4_000_000


class LiveRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._models = Models(world.truth)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/messages", self.messages),
            web.post("/v1/messages/count_tokens", self.count_tokens),
            web.get("/v1/models", self.models),
            web.get("/v1/models/{id}", self.model),
        ]

    async def messages(self, request: web.Request) -> web.StreamResponse:
        params = await json_body(request, bad_json)
        check_credit(request, self._world.truth)
        if params.get("stream"):
            message = "stream: this emulator answers whole and does not simulate streaming. Send it without."
            raise ApiError(400, message)
        raw = canonical(params)
        digest, version = sha256(raw).digest(), version_of(request)

        async def reply() -> web.Response:
            low, high = self._world.truth.latency.live
            delay = self._world.chance.between(low, high, "live latency", digest)
            await asyncio.sleep(self._world.clock.real_seconds(delay))
            said = answer(self._models, self._world.truth, params, digest, version, in_batch=False)
            self._world.store.add_runs(None, [Run(digest, None, said.usage is not None)])
            tokens = (0, 0) if said.usage is None else (said.usage.input_tokens, said.usage.output_tokens)
            body = said.body if said.status == 200 else {**said.body, "request_id": request["request_id"]}
            return json_reply(body, said.status, self._rate_headers(*tokens))

        event = Event("live", raw.decode(), digest, params.get("model"))
        return await suffer(self._world.faults.strike(event), self._world.clock, reply, from_fault)

    async def count_tokens(self, request: web.Request) -> web.Response:
        body = await json_body(request, bad_json)
        model = str(body.get("model"))
        if not exists(model, self._world.truth):
            raise ApiError(404, f"model: {model}")
        characters = sum(len(turn.text) for turn in message_turns(body))
        return json_reply({"input_tokens": self._models.tokens.of(characters, model)})

    async def models(self, _: web.Request) -> web.Response:
        data = [_model(name) for name in _SHOWN if exists(name, self._world.truth)]
        ends = (data[0]["id"], data[-1]["id"]) if data else (None, None)
        return json_reply({"data": data, "first_id": ends[0], "last_id": ends[1], "has_more": False})

    async def model(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if not exists(name, self._world.truth):
            raise ApiError(404, f"model: {name}")
        return json_reply(_model(name))

    def _rate_headers(self, read: int, written: int) -> dict[str, str]:
        full = moment(self._world.clock.now() + 1)
        left = {
            "requests": (_REQUESTS_PER_MINUTE, 1),
            "tokens": (_TOKENS_PER_MINUTE, read + written),
            "input-tokens": (_TOKENS_PER_MINUTE, read),
            "output-tokens": (_TOKENS_PER_MINUTE, written),
        }
        headers: dict[str, str] = {}
        for what, (limit, used) in left.items():
            values = {"limit": str(limit), "remaining": str(limit - used), "reset": full}
            headers |= {f"anthropic-ratelimit-{what}-{name}": value for name, value in values.items()}
        return headers


def _model(name: str) -> dict[str, Any]:
    family = family_of(name)
    kinds = ("adaptive", "between_tools", "disabled", "enabled")
    yes, no = {"supported": True}, {"supported": False}
    effort = yes if family.effort else no
    return {
        "id": name,
        "type": "model",
        "display_name": name.replace("-", " ").title(),
        "created_at": moment(_MODELS_SINCE),
        "lifecycle": "active",
        "max_tokens": family.most_tokens,
        "capabilities": {
            "batch": yes,
            "structured_outputs": yes,
            "effort": {**effort, **dict.fromkeys(EFFORTS, effort)},
            "thinking": {**yes, "types": {kind: {"supported": kind in family.thinking} for kind in kinds}},
        },
    }
