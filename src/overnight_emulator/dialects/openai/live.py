"""Live calls of the OpenAI dialect: chat completions, responses, and the list of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web
from msgspec.structs import replace

from overnight_emulator.answers.answering import Models, Turn
from overnight_emulator.answers.embedding import Embedder
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.chat_stream import chat_stream
from overnight_emulator.dialects.openai.errors import ApiError, bad_json, from_fault, retry_headers
from overnight_emulator.dialects.openai.lines import answer, look_at
from overnight_emulator.dialects.openai.prompts import chat_turns, responses_turns
from overnight_emulator.dialects.openai.responses_stream import RESPONSES_STREAM
from overnight_emulator.dialects.openai.rules import CHAT, EMBEDDINGS, MODERATIONS, RESPONSES, exists
from overnight_emulator.dialects.openai.stored_responses import StoredResponses
from overnight_emulator.live import LiveCall, LiveCalls, Manner, duration
from overnight_emulator.rates import Verdict
from overnight_emulator.streaming import Stream
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
        self._stored = StoredResponses(world)
        self._embedder = Embedder(world.truth.seed)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/chat/completions", self.chat),
            web.post("/responses", self.responses),
            web.post("/embeddings", self.embeddings),
            web.post("/moderations", self.moderations),
            web.get("/models", self.models),
            web.get("/models/{id}", self.model),
            *self._stored.routes(),
        ]

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)

        def said(digest: bytes, moment: float) -> Reply:
            return answer(self._models, self._world.truth, body, CHAT, moment, digest)

        stream = chat_stream(body) if body.get("stream") else None
        return await self._take(request, body, chat_turns(body), said, stream)

    async def responses(self, request: web.Request) -> web.StreamResponse:
        return await self._follow(request, await json_body(request, bad_json))

    async def embeddings(self, request: web.Request) -> web.StreamResponse:
        return await self._look_at(request, EMBEDDINGS)

    async def moderations(self, request: web.Request) -> web.StreamResponse:
        return await self._look_at(request, MODERATIONS)

    async def _look_at(self, request: web.Request, endpoint: str) -> web.StreamResponse:
        body = await json_body(request, bad_json)

        def said(digest: bytes, _: float) -> Reply:
            return look_at(self._models, self._embedder, self._world.truth, body, endpoint, digest)

        return await self._take(request, body, (), said, None)

    async def models(self, _: web.Request) -> web.Response:
        shown = [_model(name) for name in _SHOWN if exists(name, self._world.truth)]
        return json_reply({"object": "list", "data": shown})

    async def model(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if not exists(name, self._world.truth):
            raise ApiError(404, f"The model '{name}' does not exist", param="model", code="model_not_found")
        return json_reply(_model(name))

    async def _follow(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """A response may follow others, be kept, and be answered in the background."""
        before = self._stored.before(body)
        kept, later = body.get("store", True), bool(body.get("background"))
        if later and (not kept or body.get("stream")):
            message = "A response in the background is kept, and not streamed by this emulator."
            raise ApiError(400, message, param="background", code="unsupported_value")

        def said(digest: bytes, moment: float) -> Reply:
            reply = answer(self._models, self._world.truth, body, RESPONSES, moment, digest, before)
            if reply.status != 200 or not kept:
                return reply
            self._stored.keep(body, before, reply.body)
            if not later:
                return reply
            return replace(reply, body=self._stored.begin(reply.body, self._calls.delay(digest)))

        stream = RESPONSES_STREAM if body.get("stream") else None
        return await self._take(request, body, responses_turns(body), said, stream)

    async def _take(
        self,
        request: web.Request,
        body: dict[str, Any],
        turns: tuple[Turn, ...],
        said: Callable[[bytes, float], Reply],
        stream: Stream | None,
    ) -> web.StreamResponse:
        """A request counts for its words, and the longest answer it asks for, before it is run."""
        check_credit(request, self._world.truth)
        model = str(body.get("model"))
        caps = (body.get(name) for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"))
        longest = next((cap for cap in caps if isinstance(cap, int)), 0)
        tokens = self._models.input_tokens(turns, model) + longest
        return await self._calls.take(
            request, LiveCall(body, model, tokens, said, stream, waits=not body.get("background"))
        )


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
