"""Live calls of a look-alike: chat completions, and the list of its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web
from msgspec import Struct

from overnight_emulator.answers.answering import Models
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.lookalike.answers import answer
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.chat_stream import chat_stream
from overnight_emulator.dialects.openai.errors import bad_json, from_fault
from overnight_emulator.dialects.openai.live import rate_headers, too_fast
from overnight_emulator.dialects.openai.prompts import chat_turns
from overnight_emulator.dialects.openai.rules import exists
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World


class Places(Struct, frozen=True):
    """Where calls are taken, and which models are shown. `dress` adds what is the vendor's own to an answer.

    One whose streams are `counted` tells the usage in the last chunk, whether or not it is asked for.
    """

    chat: str
    models: str
    shown: Sequence[str]
    dress: Callable[[dict[str, Any]], dict[str, Any]] = lambda completion: completion
    counted: bool = False


class LookalikeCalls:
    def __init__(self, world: World, places: Places, manner: Manner | None = None) -> None:
        self._world = world
        self._places = places
        self._models = Models(world.truth)
        self._calls = LiveCalls(world, manner or Manner(from_fault, too_fast, rate_headers))

    def routes(self) -> list[web.RouteDef]:
        return [web.post(self._places.chat, self.chat), web.get(self._places.models, self.models)]

    async def models(self, _: web.Request) -> web.Response:
        shown = (name for name in self._places.shown if exists(name, self._world.truth))
        return json_reply({"object": "list", "data": [{"id": name, "object": "model"} for name in shown]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        # Where the path names the model, as a deployment, the body need not.
        body = {**body, "model": request.match_info.get("model", body.get("model"))}
        check_credit(request, self._world.truth)

        def said(digest: bytes, moment: float) -> Reply:
            reply = answer(self._models, self._world.truth, body, digest, moment)
            dressed = self._places.dress(reply.body) if reply.status == 200 else reply.body
            return Reply(reply.status, dressed, reply.usage)

        model = str(body.get("model"))
        caps = (body.get(name) for name in ("max_completion_tokens", "max_tokens"))
        longest = next((cap for cap in caps if isinstance(cap, int)), 0)
        characters = sum(len(turn.text) for turn in chat_turns(body))
        tokens = self._models.tokens.of(characters, model) + longest
        stream = chat_stream(body, counts=self._places.counted) if body.get("stream") else None
        return await self._calls.take(request, LiveCall(body, model, tokens, said, stream))
