"""What Ollama has of OpenAI's API under `/v1`: chat, embeddings, models. What it does not take is refused by name."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from overnight_emulator.answers.answering import Models
from overnight_emulator.answers.embedding import Embedder
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.ollama.errors import Refused
from overnight_emulator.dialects.ollama.local_models import LocalModels
from overnight_emulator.dialects.openai.chat import complete
from overnight_emulator.dialects.openai.chat_stream import chat_stream
from overnight_emulator.dialects.openai.embeddings import embed
from overnight_emulator.dialects.openai.errors import ApiError, bad_json, from_fault
from overnight_emulator.dialects.openai.prompts import chat_prompt, chat_turns
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.rates import Verdict
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_REFUSED = ("tool_choice", "logit_bias", "logprobs", "service_tier")


class CompatibleRoutes:
    def __init__(self, world: World, local: LocalModels) -> None:
        self._models = Models(world.truth)
        self._embedder = Embedder(world.truth.seed)
        self._calls = LiveCalls(world, Manner(from_fault, _too_fast))
        self._local = local

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/chat/completions", self.chat),
            web.post("/v1/embeddings", self.embeddings),
            web.get("/v1/models", self.models),
        ]

    async def models(self, _: web.Request) -> web.Response:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "library"} for name in self._local.names()]
        return json_reply({"object": "list", "data": data})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        model = self._known(body)
        if not isinstance(body.get("messages"), list) or not body["messages"]:
            raise ApiError(400, "[] is too short - 'messages'")
        for name in _REFUSED:
            if body.get(name) not in (None, "auto", "none"):
                raise ApiError(400, f"'{name}' is not supported by Ollama.", param=name)
        if (body.get("n") or 1) != 1:
            raise ApiError(400, "'n' is not supported by Ollama.", param="n")
        self._local.load(model)

        def said(digest: bytes, moment: float) -> Reply:
            reply = complete(self._models, chat_prompt(body, digest), body, moment)
            told = {**reply.body, "system_fingerprint": "fp_ollama"}
            return Reply(200, {key: value for key, value in told.items() if key != "service_tier"}, reply.usage)

        tokens = self._models.input_tokens(chat_turns(body), model)
        stream = chat_stream(body) if body.get("stream") else None
        return await self._calls.take(request, LiveCall(body, model, tokens, said, stream))

    async def embeddings(self, request: web.Request) -> web.Response:
        body = await json_body(request, bad_json)
        self._known(body)
        return json_reply(embed(self._embedder, self._models, body).body)

    def _known(self, body: dict[str, Any]) -> str:
        try:
            return self._local.known(body)
        except Refused as refused:
            raise ApiError(refused.status, str(refused)) from refused


def _too_fast(_: Verdict) -> ApiError:
    return ApiError(503, "server busy, please try again.  maximum pending requests exceeded")
