"""Live calls of Google's dialects: `generateContent`, `countTokens`, and the list of models."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from overnight_emulator.answering import Models
from overnight_emulator.dialects.google.accounts import check_credit
from overnight_emulator.dialects.google.errors import GoogleError, bad_json, from_fault
from overnight_emulator.dialects.google.generating import digest_of, generate, unknown_model
from overnight_emulator.dialects.google.paging import page, page_size
from overnight_emulator.dialects.google.prompts import turns_of
from overnight_emulator.dialects.google.rules import exists, thinks
from overnight_emulator.dialects.google.spelling import camel
from overnight_emulator.faults import Event, text_of
from overnight_emulator.misdeeds import suffer
from overnight_emulator.store import Run
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

    def routes(self) -> list[web.RouteDef]:
        one = f"{self._root}/models/{{model:[^/:]+}}"
        return [
            web.post(f"{one}:generateContent", self.generate),
            web.post(f"{one}:countTokens", self.count),
            web.post(f"{one}:streamGenerateContent", self.stream),
            web.get(f"{self._root}/models", self.models),
            web.get(one, self.model),
        ]

    async def generate(self, request: web.Request) -> web.StreamResponse:
        asked = camel(await json_body(request, bad_json))
        check_credit(request, self._world.truth)
        body = {**asked, "model": request.match_info["model"]}
        digest = digest_of(body)

        async def reply() -> web.Response:
            low, high = self._world.truth.latency.live
            delay = self._world.chance.between(low, high, "live latency", digest)
            await asyncio.sleep(self._world.clock.real_seconds(delay))
            said = generate(self._models, self._world.truth, body, digest)
            self._world.store.add_runs(None, [Run(digest, None, said.usage is not None)])
            return json_reply(said.body, said.status)

        event = Event("live", text_of(body), digest, body["model"])
        return await suffer(self._world.faults.strike(event), self._world.clock, reply, from_fault)

    async def stream(self, _: web.Request) -> web.StreamResponse:
        raise GoogleError(400, "This emulator answers whole: streaming is not simulated. Use generateContent.")

    async def count(self, request: web.Request) -> web.Response:
        """Of `contents`, or of a whole request under `generateContentRequest`."""
        name = self._known(request)
        asked = camel(await json_body(request, bad_json))
        turns = turns_of(asked.get("generateContentRequest") or asked)
        tokens = self._models.tokens.of(sum(len(turn.text) for turn in turns), name)
        return json_reply({"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]})

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
            "supportedGenerationMethods": ["generateContent", "countTokens", "batchGenerateContent"],
            "thinking": thinks(name),
        }
