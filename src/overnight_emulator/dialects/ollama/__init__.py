"""Ollama's own API under `/ollama`: chat, and the models in memory, which come and go as they are asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from aiohttp import web

from overnight_emulator.answering import Models, Prompt, Turn
from overnight_emulator.batch import Usage
from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.openai.prompts import chat_turns
from overnight_emulator.dialects.openai.rules import exists
from overnight_emulator.faults import Fault
from overnight_emulator.live import LiveCall, LiveCalls, Manner
from overnight_emulator.rates import Verdict
from overnight_emulator.rows import Reply
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS, json_body, json_reply
from overnight_emulator.world import World

_PREFIX = "/ollama"
_VERSION = "0.12.0"
_SHOWN = ("llama3.2:latest", "qwen3:8b")
_EFFORTS = {True: "medium", False: "none", None: "none"}
_NANOSECONDS = 1_000_000_000


class _Refused(Exception):
    """In Ollama's words: a status and one text."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": message}


class LiveRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._models = Models(world.truth)
        self._calls = LiveCalls(world, Manner(_from_fault, _too_fast))
        # In the order in which they were loaded.
        self._loaded: dict[str, None] = {}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/api/chat", self.chat),
            web.post("/api/generate", self.generate),
            web.get("/api/ps", self.running),
            web.get("/api/tags", self.tags),
            web.get("/api/version", self.version),
        ]

    async def version(self, _: web.Request) -> web.Response:
        return json_reply({"version": _VERSION})

    async def tags(self, _: web.Request) -> web.Response:
        return json_reply({"models": [_listed(name) for name in _SHOWN if exists(name, self._world.truth)]})

    async def running(self, _: web.Request) -> web.Response:
        return json_reply({"models": [{**_listed(name), "size_vram": 0} for name in self._loaded]})

    async def generate(self, request: web.Request) -> web.Response:
        """Only as far as it loads and unloads models: a request without a prompt does nothing else."""
        body = await json_body(request, _bad_json)
        model = self._known(body)
        if body.get("prompt"):
            raise _Refused(404, "this emulator answers /api/chat; /api/generate only loads and unloads")
        unload = body.get("keep_alive") in (0, "0", "0s")
        if unload:
            self._loaded.pop(_full(model), None)
        else:
            self._loaded[_full(model)] = None
        reason = "unload" if unload else "load"
        return json_reply(
            {"model": model, "created_at": _moment(0), "response": "", "done": True, "done_reason": reason}
        )

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, _bad_json)
        if body.get("stream", True):
            raise _Refused(400, "this emulator answers whole: send `stream: false`")
        model = self._known(body)
        self._loaded[_full(model)] = None
        prompt_tokens = self._models.tokens.of(sum(len(turn.text) for turn in chat_turns(body)), model)

        def said(digest: bytes, moment: float) -> Reply:
            return self._answer(body, model, digest, moment)

        return await self._calls.take(request, LiveCall(body, model, prompt_tokens, said))

    def _answer(self, body: dict[str, Any], model: str, digest: bytes, moment: float) -> Reply:
        options = body.get("options") or {}
        form, think = body.get("format"), body.get("think")
        prompt = Prompt(
            model=model,
            turns=_within(chat_turns(body), options.get("num_ctx")),
            digest=digest,
            schema=form if isinstance(form, dict) else None,
            wants_json=form == "json",
            max_tokens=options.get("num_predict"),
            effort=think if isinstance(think, str) else _EFFORTS[think],
        )
        answer = self._models.answer(prompt)
        thoughts = {"thinking": f"Let me think about it. {answer.reasoning_tokens} tokens."} if think else {}
        usage = Usage(
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            reasoning_tokens=answer.reasoning_tokens,
        )
        return Reply(
            200,
            {
                "model": model,
                "created_at": _moment(moment),
                "message": {"role": "assistant", "content": answer.text, **thoughts},
                "done": True,
                "done_reason": "length" if answer.ending == "length" else "stop",
                "total_duration": _NANOSECONDS,
                "load_duration": 0,
                "prompt_eval_count": answer.input_tokens,
                "prompt_eval_duration": _NANOSECONDS // 2,
                "eval_count": answer.output_tokens,
                "eval_duration": _NANOSECONDS // 2,
            },
            usage,
        )

    def _known(self, body: dict[str, Any]) -> str:
        model = body.get("model")
        if not isinstance(model, str) or not model:
            raise _Refused(400, "model is required")
        if not exists(model, self._world.truth):
            raise _Refused(404, f"model '{model}' not found")
        return model


def _within(turns: tuple[Turn, ...], size: object) -> tuple[Turn, ...]:
    """A prompt longer than the context loses its beginning without a word. A token is about four characters."""
    if not isinstance(size, int):
        return turns
    room = size * 4
    kept: list[Turn] = []
    for turn in reversed(turns):
        kept.append(msgspec.structs.replace(turn, text=turn.text[-room:] if room else ""))
        room = max(0, room - len(turn.text))
    return tuple(reversed(kept))


def _listed(name: str) -> dict[str, Any]:
    return {"name": name, "model": name, "modified_at": _moment(0), "size": 1, "digest": "0" * 64, "details": {}}


def _full(model: str) -> str:
    return model if ":" in model else f"{model}:latest"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _bad_json() -> _Refused:
    return _Refused(400, "invalid JSON")


def _from_fault(fault: Fault) -> _Refused:
    return _Refused(fault.http_status, fault.message or "server error")


def _too_fast(_: Verdict) -> _Refused:
    """A full queue is all there is: a local server has no limits by the minute."""
    return _Refused(503, "server busy, please try again.  maximum pending requests exceeded")


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except _Refused as refused:
            return json_reply(refused.body, refused.status)
        except MISSHAPEN:
            return json_reply(_Refused(400, MISSHAPEN_WORDS).body, 400)

    app = web.Application(middlewares=[speak])
    app.add_routes(LiveRoutes(world).routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {"OLLAMA_HOST": f"{origin}{_PREFIX}"}


OLLAMA = Dialect("ollama", _PREFIX, _application, None, _environment)
