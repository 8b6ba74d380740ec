"""Fireworks' API: datasets, batch inference jobs and chat completions, under `/fireworks`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.fireworks.datasets import DatasetRoutes
from overnight_emulator.dialects.fireworks.jobs import JobRoutes
from overnight_emulator.dialects.fireworks.lines import FireworksRows
from overnight_emulator.dialects.lookalike.live import LookalikeCalls, Places
from overnight_emulator.dialects.lookalike.speaking import speaking
from overnight_emulator.dialects.openai.accounts import key_of
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.truth import Truth
from overnight_emulator.world import World

_NAME = "fireworks"
_PREFIX = "/fireworks"
_SHOWN = tuple(f"accounts/fireworks/models/{name}" for name in ("gpt-oss-20b", "llama-v3p1-8b-instruct", "qwen3-8b"))


def _check_key(request: web.Request, truth: Truth) -> None:
    key = key_of(request)
    if not key or key in truth.keys.refuse:
        raise ApiError(403, "the API key is invalid", kind="forbidden")


def _words(error: ApiError) -> dict[str, Any]:
    said = error.body["error"]
    return {"error": {"object": "error", **said}}


def _application(world: World) -> web.Application:
    """The SDK calls models below `/v1` where its address is not the usual one."""
    calls = LookalikeCalls(
        world, Places("/inference/v1/chat/completions", "/inference/v1/models", _SHOWN, counted=True)
    )
    by_the_sdk = web.post("/v1/chat/completions", calls.chat)
    routes = (*DatasetRoutes(world, _NAME).routes(), *JobRoutes(world, _NAME).routes(), *calls.routes(), by_the_sdk)
    return speaking(world, routes, check=_check_key, words=_words)


def _environment(origin: str) -> Mapping[str, str]:
    return {
        "FIREWORKS_BASE_URL": f"{origin}{_PREFIX}",
        "FIREWORKS_API_KEY": "fw-emulator",
        "FIREWORKS_ACCOUNT_ID": "emulator",
    }


FIREWORKS = Dialect(_NAME, _PREFIX, _application, FireworksRows, _environment)
