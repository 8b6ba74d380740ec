"""Live calls of the OpenAI dialect: chat completions, responses, and the list of models."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from overnight_emulator.answering import Models
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.errors import ApiError, bad_json, from_fault, retry_headers
from overnight_emulator.dialects.openai.lines import answer
from overnight_emulator.dialects.openai.prompts import chat_turns, responses_turns
from overnight_emulator.dialects.openai.rules import CHAT, RESPONSES, exists
from overnight_emulator.live import LiveCall, LiveCalls, Manner, duration
from overnight_emulator.rates import Verdict
from overnight_emulator.rows import Reply
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


class LiveRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._models = Models(world.truth)
        self._calls = LiveCalls(world, Manner(from_fault, too_fast, rate_headers))

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

        def said(digest: bytes, moment: float) -> Reply:
            return answer(self._models, self._world.truth, body, endpoint, moment, digest)

        model = str(body.get("model"))
        return await self._calls.take(request, LiveCall(body, model, self._tokens(body, model, endpoint), said))

    def _tokens(self, body: dict[str, Any], model: str, endpoint: str) -> int:
        """What a request counts for before it is run: its words, and the longest answer it asks for."""
        turns = chat_turns(body) if endpoint == CHAT else responses_turns(body)
        caps = (body.get(name) for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"))
        longest = next((cap for cap in caps if isinstance(cap, int)), 0)
        return self._models.tokens.of(sum(len(turn.text) for turn in turns), model) + longest


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": _MODELS_SINCE, "owned_by": "emulator"}


def rate_headers(verdict: Verdict) -> dict[str, str]:
    headers: dict[str, str] = {}
    for what, standing in (("requests", verdict.requests), ("tokens", verdict.tokens)):
        headers[f"x-ratelimit-limit-{what}"] = str(standing.limit)
        headers[f"x-ratelimit-remaining-{what}"] = str(standing.remaining)
        headers[f"x-ratelimit-reset-{what}"] = duration(standing.reset)
    return headers


def too_fast(verdict: Verdict) -> ApiError:
    unit = "RPM" if verdict.over == "requests" else "TPM"
    standing = verdict.requests if verdict.over == "requests" else verdict.tokens
    wait = verdict.retry_after or 0.0
    message = f"Rate limit reached on {verdict.over} per min ({unit}): Limit {standing.limit}. Please try again in "
    return ApiError(
        429,
        f"{message}{duration(wait)}.",
        kind=verdict.over,
        code="rate_limit_exceeded",
        headers={**rate_headers(verdict), **retry_headers(wait)},
    )
