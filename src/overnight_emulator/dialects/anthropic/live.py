"""Live calls of the Anthropic dialect: messages, their tokens counted, and the models there are."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from msgspec.structs import replace

from overnight_emulator.answers.answering import Models
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.anthropic.accounts import check_credit, version_of
from overnight_emulator.dialects.anthropic.errors import ApiError, bad_json, from_fault, retry_headers
from overnight_emulator.dialects.anthropic.lines import answer
from overnight_emulator.dialects.anthropic.objects import moment
from overnight_emulator.dialects.anthropic.prompts import message_turns
from overnight_emulator.dialects.anthropic.rules import EFFORTS, exists, family_of
from overnight_emulator.dialects.anthropic.stream import MESSAGE_STREAM
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.rates import Verdict
from overnight_emulator.wire import json_body, json_reply, note_key
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
REQUEST_ID = note_key("request_id")


class LiveRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._models = Models(world.truth)
        self._calls = LiveCalls(world, Manner(from_fault, self._too_fast, self._rate_headers))

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
        version = version_of(request)

        def said(digest: bytes, _: float) -> Reply:
            reply = answer(self._models, self._world.truth, params, digest, version, in_batch=False)
            named = {**reply.body, "request_id": request[REQUEST_ID]}
            return reply if reply.status == 200 else replace(reply, body=named)

        model, longest = str(params.get("model")), params.get("max_tokens")
        tokens = self._models.input_tokens(message_turns(params), model) + (longest if isinstance(longest, int) else 0)
        stream = MESSAGE_STREAM if params.get("stream") else None
        return await self._calls.take(request, LiveCall(params, model, tokens, said, stream))

    async def count_tokens(self, request: web.Request) -> web.Response:
        body = await json_body(request, bad_json)
        model = str(body.get("model"))
        if not exists(model, self._world.truth):
            raise ApiError(404, f"model: {model}")
        return json_reply({"input_tokens": self._models.input_tokens(message_turns(body), model)})

    async def models(self, _: web.Request) -> web.Response:
        data = [_model(name) for name in _SHOWN if exists(name, self._world.truth)]
        ends = (data[0]["id"], data[-1]["id"]) if data else (None, None)
        return json_reply({"data": data, "first_id": ends[0], "last_id": ends[1], "has_more": False})

    async def model(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if not exists(name, self._world.truth):
            raise ApiError(404, f"model: {name}")
        return json_reply(_model(name))

    def _rate_headers(self, verdict: Verdict) -> dict[str, str]:
        """One limit on tokens stands for all three that Anthropic counts."""
        tokens = dict.fromkeys(("tokens", "input-tokens", "output-tokens"), verdict.tokens)
        headers: dict[str, str] = {}
        for what, standing in {"requests": verdict.requests, **tokens}.items():
            full = moment(self._world.clock.now() + standing.reset)
            values = {"limit": str(standing.limit), "remaining": str(standing.remaining), "reset": full}
            headers |= {f"anthropic-ratelimit-{what}-{name}": value for name, value in values.items()}
        return headers

    def _too_fast(self, verdict: Verdict) -> ApiError:
        limit = verdict.requests.limit if verdict.over == "requests" else verdict.tokens.limit
        message = f"This request would exceed your organization's rate limit of {limit:,} {verdict.over} per minute."
        headers = {**self._rate_headers(verdict), **retry_headers(verdict.retry_after or 0.0)}
        return ApiError(429, message, headers=headers)


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
            "citations": no,
            "code_execution": no,
            "context_management": no,
            "image_input": yes,
            "pdf_input": yes,
            "server_tools": {**no, **dict.fromkeys(("code_execution", "web_search"), no)},
            "structured_outputs": yes,
            "effort": {**effort, **dict.fromkeys(EFFORTS, effort)},
            "thinking": {**yes, "types": {kind: {"supported": kind in family.thinking} for kind in kinds}},
        },
    }
