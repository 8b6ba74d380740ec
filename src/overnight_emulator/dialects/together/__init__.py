"""Together's API: files, batches, chat completions and models, under `/together`."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

from aiohttp import web

from overnight_emulator.answers.answering import Models
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.lookalike.answers import refuse_unsimulated
from overnight_emulator.dialects.openai.accounts import check_credit, check_key
from overnight_emulator.dialects.openai.chat import complete
from overnight_emulator.dialects.openai.chat_stream import chat_stream
from overnight_emulator.dialects.openai.errors import ApiError, bad_json, from_fault
from overnight_emulator.dialects.openai.prompts import chat_prompt, chat_turns
from overnight_emulator.dialects.openai.rules import check_chat_options, exists
from overnight_emulator.dialects.together.batches import BatchRoutes, TogetherRows
from overnight_emulator.dialects.together.files import FileRoutes
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.rates import Verdict
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS, json_body, json_reply
from overnight_emulator.world import World

_NAME = "together"
_PREFIX = "/together"
_SHOWN = ("Qwen/Qwen3-235B-A22B", "deepseek-ai/DeepSeek-R1", "meta-llama/Llama-3.3-70B-Instruct-Turbo")

_NOT_SIMULATED = ("logprobs", "echo", "safety_model", "function_call")


class LiveRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._models = Models(world.truth)
        self._calls = LiveCalls(world, Manner(from_fault, _too_fast, _headers))

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v1/chat/completions", self.chat), web.get("/v1/models", self.models)]

    async def models(self, _: web.Request) -> web.Response:
        """A bare list, without the envelope that others have."""
        shown = (name for name in _SHOWN if exists(name, self._world.truth))
        return json_reply([{"id": name, "object": "model", "created": 0, "type": "chat"} for name in shown])

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        check_credit(request, self._world.truth)
        for name in _NOT_SIMULATED:
            if body.get(name) is not None:
                raise ApiError(
                    400, f"'{name}' is not simulated by this emulator. Send the request without it.", param=name
                )
        model = str(body.get("model"))

        def said(digest: bytes, moment: float) -> Reply:
            if not exists(model, self._world.truth):
                message = f"Unable to access model {model}. Please visit the list of models."
                return Reply(404, ApiError(404, message, code="model_not_available").body)
            if not isinstance(body.get("messages"), list):
                return Reply(400, ApiError(400, "Missing required parameter: 'messages'.", param="messages").body)
            try:
                refuse_unsimulated(body)
                check_chat_options(body)
            except ApiError as refusal:
                return Reply(refusal.status, refusal.body)
            reply = complete(self._models, chat_prompt(body, digest), body, moment)
            return Reply(reply.status, _together(reply.body), reply.usage)

        longest = body.get("max_tokens")
        tokens = self._models.input_tokens(chat_turns(body), model) + (longest if isinstance(longest, int) else 0)
        stream = chat_stream(body, _spoken, counts=True) if body.get("stream") else None
        return await self._calls.take(request, LiveCall(body, model, tokens, said, stream))


def _together(completion: dict[str, Any]) -> dict[str, Any]:
    """The same answer with Together's own fields."""
    usage = completion["usage"]
    flat = {name: usage[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    plain = {key: value for key, value in completion.items() if key not in ("service_tier", "system_fingerprint")}
    return {**plain, "id": f"o{completion['id'][-11:]}", "prompt": [], "usage": flat}


def _spoken(chunk: dict[str, Any]) -> dict[str, Any]:
    """Every piece says who speaks."""
    spoken = [{**one, "delta": {"role": "assistant", **one["delta"]}} for one in chunk["choices"]]
    return {**chunk, "choices": spoken}


def _headers(verdict: Verdict) -> dict[str, str]:
    """Limits by the second."""
    return {
        "x-ratelimit-limit": f"{verdict.requests.limit / 60:g}",
        "x-ratelimit-remaining": str(min(verdict.requests.remaining, math.ceil(verdict.requests.limit / 60))),
        "x-ratelimit-reset": "1",
        "x-tokenlimit-limit": f"{verdict.tokens.limit / 60:g}",
        "x-tokenlimit-remaining": str(min(verdict.tokens.remaining, math.ceil(verdict.tokens.limit / 60))),
    }


def _too_fast(verdict: Verdict) -> ApiError:
    wait = math.ceil(verdict.retry_after or 0.0)
    message = "You have reached the rate limit specific to this model. Please slow down."
    headers = {**_headers(verdict), "retry-after": str(wait)}
    return ApiError(429, message, kind="model_rate_limit", headers=headers)


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            check_key(request, world.truth)
            return await handler(request)
        except ApiError as error:
            return json_reply(error.body, error.status, error.headers)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            return json_reply({"error": "not found", "request_id": uuid4().hex}, error.status)
        except MISSHAPEN:
            return json_reply(ApiError(400, MISSHAPEN_WORDS).body, 400)

    app = web.Application(middlewares=[speak])
    app.add_routes(LiveRoutes(world).routes())
    app.add_routes(FileRoutes(world, _NAME).routes())
    app.add_routes(BatchRoutes(world, _NAME).routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {"TOGETHER_BASE_URL": f"{origin}{_PREFIX}", "TOGETHER_API_KEY": "emulator"}


TOGETHER = Dialect(_NAME, _PREFIX, _application, TogetherRows, _environment)
