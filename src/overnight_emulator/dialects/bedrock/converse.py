"""Converse: one form of question and answer for the models of every maker."""

from __future__ import annotations

from hashlib import sha256
from typing import Any
from urllib.parse import unquote

import msgspec
from aiohttp import web

from overnight_emulator.answering import Models, Prompt, Turn
from overnight_emulator.batch import Usage
from overnight_emulator.dialects.bedrock.errors import AwsError, check_credit, from_fault
from overnight_emulator.dialects.openai.accounts import KEY
from overnight_emulator.dialects.openai.rules import exists
from overnight_emulator.dialects.s3.accounts import access_key
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.rates import Verdict
from overnight_emulator.rows import Reply, canonical
from overnight_emulator.schema import UnusableSchemaError
from overnight_emulator.truth import Truth
from overnight_emulator.wire import json_body
from overnight_emulator.world import World

_STOPS = {"stop": "end_turn", "length": "max_tokens", "refusal": "end_turn", "content_filter": "content_filtered"}
_BUDGETS = ((16_000, "high"), (4_000, "medium"), (0, "low"))


def turns_of(body: dict[str, Any]) -> tuple[Turn, ...]:
    told = tuple(Turn("system", str(part["text"])) for part in body.get("system") or () if "text" in part)
    said = tuple(
        Turn(str(message["role"]), "\n".join(str(part["text"]) for part in message["content"] if "text" in part))
        for message in body.get("messages") or ()
    )
    return told + said


def read_prompt(body: dict[str, Any]) -> Prompt:
    return _prompt(body, sha256(canonical(body)).digest())


def _prompt(body: dict[str, Any], digest: bytes) -> Prompt:
    """The body names the model here, whatever the path or the job does."""
    form = ((body.get("outputConfig") or {}).get("textFormat") or {}).get("structure") or {}
    schema = (form.get("jsonSchema") or {}).get("schema")
    thinking = (body.get("additionalModelRequestFields") or {}).get("thinking") or {}
    budget = thinking.get("budget_tokens", 0) if thinking.get("type") == "enabled" else None
    return Prompt(
        model=body["model"],
        turns=turns_of(body),
        digest=digest,
        schema=msgspec.json.decode(schema) if isinstance(schema, str) else None,
        max_tokens=(body.get("inferenceConfig") or {}).get("maxTokens"),
        effort="none" if budget is None else next(effort for least, effort in _BUDGETS if budget >= least),
    )


def answer(models: Models, truth: Truth, body: dict[str, Any], digest: bytes) -> Reply:
    if not exists(body["model"], truth):
        return Reply(404, {"message": f"Could not resolve the model {body['model']}."})
    try:
        said = models.answer(_prompt(body, digest))
    except (UnusableSchemaError, LookupError, TypeError, msgspec.DecodeError) as error:
        return Reply(400, {"message": f"The request is not valid: {error}"})
    parts: list[dict[str, Any]] = [{"text": said.text}]
    if said.reasoning_tokens:
        parts.insert(0, {"reasoningContent": {"reasoningText": {"text": "I weighed it.", "signature": digest.hex()}}})
    usage = {
        "inputTokens": said.input_tokens,
        "outputTokens": said.output_tokens,
        "totalTokens": said.input_tokens + said.output_tokens,
    }
    reply = {
        "output": {"message": {"role": "assistant", "content": parts}},
        "stopReason": _STOPS[said.ending],
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
        return [web.post("/model/{model}/converse", self.converse)]

    async def converse(self, request: web.Request) -> web.StreamResponse:
        asked = await json_body(request, lambda: AwsError(400, "ValidationException", "The body is no JSON object."))
        request[KEY] = access_key(request)
        check_credit(request, self._world.truth)
        model = unquote(request.match_info["model"])
        body = {**asked, "model": model}

        def said(digest: bytes, _: float) -> Reply:
            return answer(self._models, self._world.truth, body, digest)

        longest = (body.get("inferenceConfig") or {}).get("maxTokens") or 0
        tokens = self._models.tokens.of(sum(len(turn.text) for turn in turns_of(body)), model) + longest
        return await self._calls.take(request, LiveCall(body, model, tokens, said))


def _too_fast(verdict: Verdict) -> AwsError:
    return AwsError(429, "ThrottlingException", "Too many requests, please wait.", verdict.retry_after)
