"""Live calls of Google's dialects: `generateContent`, `countTokens`, and the list of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from overnight_emulator.answers.answering import Models
from overnight_emulator.answers.embedding import Embedder
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.google.accounts import check_credit
from overnight_emulator.dialects.google.embedding import embed
from overnight_emulator.dialects.google.errors import GoogleError, bad_json, from_fault
from overnight_emulator.dialects.google.generating import generate, unknown_model
from overnight_emulator.dialects.google.paging import page, page_size
from overnight_emulator.dialects.google.prompts import turns_of
from overnight_emulator.dialects.google.rules import exists, thinks
from overnight_emulator.dialects.google.spelling import camel
from overnight_emulator.dialects.google.stream import EVENT_STREAM, LIST_STREAM
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.rates import Verdict
from overnight_emulator.streaming import Stream
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_SHOWN = (
    "gemini-2.0-flash",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-2.5-pro",
    "gemini-3-flash-preview",
    "gemini-3-pro-preview",
)
_PAGE = 50
_LARGEST_PAGE = 1_000


class LiveRoutes:
    """`root` is the path in front of `models`; `listed` the name of the list that models are shown under."""

    def __init__(self, world: World, root: str, listed: str = "models") -> None:
        self._world = world
        self._root = root
        self._listed = listed
        self._models = Models(world.truth)
        self._embedder = Embedder(world.truth.seed)
        self._calls = LiveCalls(world, Manner(from_fault, _too_fast))

    def routes(self) -> list[web.RouteDef]:
        one = f"{self._root}/models/{{model:[^/:]+}}"
        return [
            web.post(f"{one}:generateContent", self.generate),
            web.post(f"{one}:countTokens", self.count),
            web.post(f"{one}:streamGenerateContent", self.stream),
            web.post(f"{one}:embedContent", self.embed),
            web.post(f"{one}:batchEmbedContents", self.embed_all),
            web.get(f"{self._root}/models", self.models),
            web.get(one, self.model),
        ]

    async def generate(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, None)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """As events where the caller asks for them, else as one list that grows."""
        return await self._answer(request, EVENT_STREAM if request.query.get("alt") == "sse" else LIST_STREAM)

    async def _answer(self, request: web.Request, stream: Stream | None) -> web.StreamResponse:
        asked = camel(await json_body(request, bad_json))
        check_credit(request, self._world.truth)
        body = {**asked, "model": request.match_info["model"]}

        def said(digest: bytes, _: float) -> Reply:
            return generate(self._models, self._world.truth, body, digest)

        longest = (body.get("generationConfig") or {}).get("maxOutputTokens")
        known = self._models.input_tokens(turns_of(body), body["model"])
        tokens = known + (longest if isinstance(longest, int) else 0)
        return await self._calls.take(request, LiveCall(body, body["model"], tokens, said, stream))

    async def count(self, request: web.Request) -> web.Response:
        """Of `contents`, or of a whole request under `generateContentRequest`."""
        name = self._known(request)
        asked = camel(await json_body(request, bad_json))
        turns = turns_of(asked.get("generateContentRequest") or asked)
        tokens = self._models.input_tokens(turns, name)
        return json_reply({"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]})

    async def embed(self, request: web.Request) -> web.StreamResponse:
        asked = camel(await json_body(request, bad_json))
        return await self._embed(request, [asked], lambda bodies: bodies[0])

    async def embed_all(self, request: web.Request) -> web.StreamResponse:
        """Several requests at once; each has a model of its own, which is that of the address."""
        requests = camel(await json_body(request, bad_json)).get("requests")
        if not isinstance(requests, list) or not requests or not all(isinstance(one, dict) for one in requests):
            raise GoogleError(400, "* BatchEmbedContentsRequest.requests: requests is not specified")
        return await self._embed(request, requests, lambda bodies: {"embeddings": [one["embedding"] for one in bodies]})

    async def _embed(
        self,
        request: web.Request,
        requests: list[dict[str, Any]],
        told: Callable[[list[dict[str, Any]]], dict[str, Any]],
    ) -> web.StreamResponse:
        model = self._known(request)
        check_credit(request, self._world.truth)

        def said(_: bytes, __: float) -> Reply:
            replies = [embed(self._embedder, self._models, model, one) for one in requests]
            tokens = sum(reply.usage.input_tokens for reply in replies if reply.usage is not None)
            return Reply(200, told([reply.body for reply in replies]), Usage(input_tokens=tokens))

        body = {"model": model, "requests": requests}
        return await self._calls.take(request, LiveCall(body, model, 0, said))

    async def models(self, request: web.Request) -> web.Response:
        limit = page_size(request, _PAGE, _LARGEST_PAGE)
        names = [name for name in _SHOWN if exists(name, self._world.truth)]
        token = request.query.get("pageToken")
        rest = names[names.index(token) + 1 :] if token in names else names
        return json_reply(page(self._listed, rest, limit, self._shown, str))

    async def model(self, request: web.Request) -> web.Response:
        return json_reply(self._shown(self._known(request)))

    def _known(self, request: web.Request) -> str:
        name = request.match_info["model"]
        if not exists(name, self._world.truth):
            raise unknown_model(name)
        return name

    @staticmethod
    def _shown(name: str) -> dict[str, Any]:
        return {
            "name": f"models/{name}",
            "displayName": name,
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": [
                *("generateContent", "streamGenerateContent", "countTokens", "batchGenerateContent"),
            ],
            "thinking": thinks(name),
        }


def _too_fast(verdict: Verdict) -> GoogleError:
    """Google tells of no limit in its headers: only a refusal says how long to wait."""
    limit = verdict.requests.limit if verdict.over == "requests" else verdict.tokens.limit
    message = f"Resource has been exhausted: {limit:,} {verdict.over} per minute. Please retry later."
    return GoogleError(429, message, retry_after=verdict.retry_after)
