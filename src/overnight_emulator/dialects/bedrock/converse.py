"""Converse: one form of question and answer for the models of every maker."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import msgspec
from aiohttp import web

from overnight_emulator.answers.answering import Models
from overnight_emulator.answers.schema import UnusableSchemaError
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.bedrock.asking import prompt_of, refuse_unsimulated, turns_of
from overnight_emulator.dialects.bedrock.converse_stream import CONVERSE_STREAM
from overnight_emulator.dialects.bedrock.errors import AwsError, check_credit, from_fault
from overnight_emulator.dialects.openai.accounts import KEY
from overnight_emulator.dialects.openai.rules import exists
from overnight_emulator.dialects.s3.accounts import access_key
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.rates import Verdict
from overnight_emulator.streaming import Stream
from overnight_emulator.truth import Truth
from overnight_emulator.wire import json_body
from overnight_emulator.world import World

_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "refusal": "end_turn",
    "content_filter": "content_filtered",
    "tool_calls": "tool_use",
}


def answer(models: Models, truth: Truth, body: dict[str, Any], digest: bytes) -> Reply:
    if not exists(body["model"], truth):
        return Reply(404, {"message": f"Could not resolve the model {body['model']}."})
    try:
        refuse_unsimulated(body)
        said = models.answer(prompt_of(body, digest))
    except (UnusableSchemaError, LookupError, TypeError, AttributeError, ValueError, msgspec.DecodeError) as error:
        return Reply(400, {"message": f"The request is not valid: {error}"})
    parts: list[dict[str, Any]] = [{"text": said.text}] if said.text or not said.calls else []
    parts += [
        {"toolUse": {"toolUseId": f"tooluse_{call.mark}", "name": call.name, "input": call.arguments}}
        for call in said.calls
    ]
    if said.reasoning_tokens:
        parts.insert(0, {"reasoningContent": {"reasoningText": {"text": "I weighed it.", "signature": digest.hex()}}})
    usage = {
        "inputTokens": said.input_tokens,
        "outputTokens": said.output_tokens,
        "totalTokens": said.input_tokens + said.output_tokens,
    }
    reply = {
        "output": {"message": {"role": "assistant", "content": parts}},
        "stopReason": "stop_sequence" if said.stopped_by is not None else _STOPS[said.ending],
        "usage": usage,
        "metrics": {"latencyMs": 100},
    }
    return Reply(200, reply, Usage(said.input_tokens, 0, said.output_tokens, said.reasoning_tokens))


class ConverseRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._models = Models(world.truth)
        self._calls = LiveCalls(world, Manner(from_fault, _too_fast))

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/model/{model}/converse", self.converse),
            web.post("/model/{model}/converse-stream", self.streamed),
        ]

    async def converse(self, request: web.Request) -> web.StreamResponse:
        return await self._take(request, None)

    async def streamed(self, request: web.Request) -> web.StreamResponse:
        return await self._take(request, CONVERSE_STREAM)

    async def _take(self, request: web.Request, stream: Stream | None) -> web.StreamResponse:
        asked = await json_body(request, lambda: AwsError(400, "ValidationException", "The body is no JSON object."))
        request[KEY] = access_key(request)
        check_credit(request, self._world.truth)
        model = unquote(request.match_info["model"])
        body = {**asked, "model": model}

        def said(digest: bytes, _: float) -> Reply:
            return answer(self._models, self._world.truth, body, digest)

        longest = (body.get("inferenceConfig") or {}).get("maxTokens") or 0
        tokens = self._models.input_tokens(turns_of(body), model) + longest
        return await self._calls.take(request, LiveCall(body, model, tokens, said, stream))


def _too_fast(verdict: Verdict) -> AwsError:
    return AwsError(429, "ThrottlingException", "Too many requests, please wait.", verdict.retry_after)
