"""Groq's API: OpenAI's, under `/groq/openai/v1`, with windows of a day to a week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from overnight_emulator.batches.batch import Batch
from overnight_emulator.batches.rows import Reply, Row
from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.lookalike.lines import LookalikeRows
from overnight_emulator.dialects.lookalike.live import LookalikeCalls, Places
from overnight_emulator.dialects.lookalike.speaking import speaking
from overnight_emulator.dialects.openai.batches import BatchRoutes
from overnight_emulator.dialects.openai.files import FileRoutes
from overnight_emulator.dialects.openai.objects import batch_object
from overnight_emulator.dialects.openai.rules import CHAT
from overnight_emulator.dialects.openai.terms import Terms
from overnight_emulator.world import World

_NAME = "groq"
_SHOWN = ("openai/gpt-oss-120b", "openai/gpt-oss-20b", "llama-3.3-70b-versatile", "qwen/qwen3-32b")
_WEEK = 7 * 86_400


def _shown(batch: Batch, now: float) -> dict[str, Any]:
    """Without the model and the usage that OpenAI tells."""
    return {key: value for key, value in batch_object(batch, now).items() if key not in {"model", "usage"}}


def _page(objects: Sequence[dict[str, Any]], limit: int) -> dict[str, Any]:
    """Whether there are more is not said."""
    return {"object": "list", "data": list(objects[:limit])}


_TERMS = Terms(endpoints=(CHAT,), windows="24h to 7d", longest=_WEEK, show=_shown, page=_page)


def _plain(completion: dict[str, Any]) -> dict[str, Any]:
    """Without what OpenAI alone tells: counts of sound and predictions, and that nothing was refused."""
    usage = completion["usage"]
    kept = {"prompt_tokens_details": "cached_tokens", "completion_tokens_details": "reasoning_tokens"}
    details = {name: {count: usage[name][count]} for name, count in kept.items()}
    choices = [
        {**choice, "message": {k: v for k, v in choice["message"].items() if k != "refusal" or v is not None}}
        for choice in completion["choices"]
    ]
    return {**completion, "choices": choices, "usage": {**usage, **details}}


class _Rows(LookalikeRows):
    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:
        reply = super().answer(row, batch, moment)
        return reply if reply.status != 200 else Reply(reply.status, _plain(reply.body), reply.usage)


def _timed(completion: dict[str, Any]) -> dict[str, Any]:
    completion = _plain(completion)
    usage = completion["usage"]
    times = {"queue_time": 0.01, "prompt_time": 0.01, "completion_time": 0.05, "total_time": 0.06}
    return {**completion, "usage": {**usage, **times}, "x_groq": {"id": f"req_{completion['id'][-12:]}"}}


def _application(world: World) -> web.Application:
    calls = LookalikeCalls(world, Places("/chat/completions", "/models", _SHOWN, _timed))
    routes = (*FileRoutes(world, _NAME).routes(), *BatchRoutes(world, _NAME, _TERMS).routes(), *calls.routes())
    return speaking(world, routes)


def _environment(origin: str) -> Mapping[str, str]:
    return {"GROQ_BASE_URL": f"{origin}/groq", "GROQ_API_KEY": "gsk-emulator"}


GROQ = Dialect(_NAME, "/groq/openai/v1", _application, _Rows, _environment)
