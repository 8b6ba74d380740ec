"""Ollama's own calls: chat, generate, embed, and the models there are."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from overnight_emulator.answers.answering import Models
from overnight_emulator.answers.embedding import Embedder
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.ollama.errors import Refused, bad_json, from_fault, too_fast
from overnight_emulator.dialects.ollama.generating import LINE_STREAM, answer, turns
from overnight_emulator.dialects.ollama.local_models import LocalModels, moment_text, shown
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.streaming import LINES
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_VERSION = "0.12.0"
_DIMENSIONS = 768
_PULLED = ("pulling manifest", "verifying sha256 digest", "writing manifest", "success")


class LiveRoutes:
    def __init__(self, world: World, local: LocalModels) -> None:
        self._world = world
        self._models = Models(world.truth)
        self._embedder = Embedder(world.truth.seed)
        self._calls = LiveCalls(world, Manner(from_fault, too_fast))
        self._local = local

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/api/chat", self.chat),
            web.post("/api/generate", self.generate),
            web.post("/api/embed", self.embed),
            web.post("/api/embeddings", self.embed_one),
            web.post("/api/show", self.show),
            web.post("/api/pull", self.pull),
            web.get("/api/ps", self.running),
            web.get("/api/tags", self.tags),
            web.get("/api/version", self.version),
        ]

    async def version(self, _: web.Request) -> web.Response:
        return json_reply({"version": _VERSION})

    async def tags(self, _: web.Request) -> web.Response:
        return json_reply({"models": self._local.listed()})

    async def running(self, _: web.Request) -> web.Response:
        return json_reply({"models": self._local.running()})

    async def show(self, request: web.Request) -> web.Response:
        return json_reply(shown(self._local.known(await json_body(request, bad_json))))

    async def pull(self, request: web.Request) -> web.Response:
        """There is nothing to fetch; it is told as if there were."""
        body = await json_body(request, bad_json)
        model = self._local.known(body)
        self._local.pull(model)
        if not body.get("stream", True):
            return json_reply({"status": _PULLED[-1]})
        lines = b"".join(msgspec.json.encode({"status": status}) + b"\n" for status in _PULLED)
        return web.Response(body=lines, content_type=LINES)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        if not body.get("messages"):
            return self._load(body, {"message": {"role": "assistant", "content": ""}})
        return await self._answer(request, body, chat=True)

    async def generate(self, request: web.Request) -> web.StreamResponse:
        """A request without a prompt loads a model, or unloads it, and does nothing else."""
        body = await json_body(request, bad_json)
        if not body.get("prompt"):
            return self._load(body, {"response": ""})
        return await self._answer(request, body, chat=False)

    def _load(self, body: dict[str, Any], content: dict[str, Any]) -> web.Response:
        model = self._local.known(body)
        reason = "load" if self._local.load(model, body.get("keep_alive")) else "unload"
        told = {"model": model, "created_at": moment_text(0), **content, "done": True, "done_reason": reason}
        return json_reply(told)

    async def _answer(self, request: web.Request, body: dict[str, Any], *, chat: bool) -> web.StreamResponse:
        model = self._local.known(body)
        self._local.load(model, body.get("keep_alive"))

        def said(digest: bytes, moment: float) -> Reply:
            return answer(self._models, body, model, digest, moment, chat=chat)

        tokens = self._models.input_tokens(turns(body), model)
        stream = LINE_STREAM if body.get("stream", True) else None
        return await self._calls.take(request, LiveCall(body, model, tokens, said, stream))

    async def embed(self, request: web.Request) -> web.Response:
        body = await json_body(request, bad_json)
        model, given = self._local.known(body), body.get("input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise Refused(400, "invalid input type")
        self._local.load(model, body.get("keep_alive"))
        told: dict[str, Any] = {
            "model": model,
            "embeddings": [self._vector(text, model, body.get("dimensions")) for text in texts],
            "total_duration": 1,
            "load_duration": 0,
            "prompt_eval_count": self._models.tokens.of(sum(map(len, texts)), model),
        }
        return json_reply(told)

    async def embed_one(self, request: web.Request) -> web.Response:
        """The older call, with one text."""
        body = await json_body(request, bad_json)
        return json_reply({"embedding": self._vector(str(body.get("prompt") or ""), self._local.known(body), None)})

    def _vector(self, text: str, model: str, dimensions: object) -> list[float]:
        wanted = dimensions is not None
        if wanted and (not isinstance(dimensions, int) or not 1 <= dimensions <= _DIMENSIONS):
            raise Refused(400, f"dimensions: wanted a whole number from 1 to {_DIMENSIONS}")
        size = dimensions if isinstance(dimensions, int) else _DIMENSIONS
        return self._embedder.vector(text, model, size)
