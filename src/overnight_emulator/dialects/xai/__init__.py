"""xAI's REST API: batches that are made empty and then filled, and chat completions, under `/xai/v1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.lookalike.live import LookalikeCalls, Places
from overnight_emulator.dialects.lookalike.speaking import speaking
from overnight_emulator.dialects.openai.accounts import key_of
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.xai.batches import BatchRoutes
from overnight_emulator.dialects.xai.results import XaiRows, apart
from overnight_emulator.truth import Truth
from overnight_emulator.world import World

_NAME = "xai"
_PREFIX = "/xai/v1"
_SHOWN = ("grok-4.3", "grok-4.20-0309-non-reasoning", "grok-4.20-0309-reasoning")


def _check_key(request: web.Request, truth: Truth) -> None:
    key = key_of(request)
    if not key or key in truth.keys.refuse:
        raise ApiError(400, "Incorrect API key provided.", code="invalid-argument")


def _words(error: ApiError) -> dict[str, Any]:
    """A code and a text, side by side."""
    said = error.body["error"]
    return {"code": said["code"] or said["type"], "error": said["message"]}


def _application(world: World) -> web.Application:
    calls = LookalikeCalls(world, Places("/chat/completions", "/models", _SHOWN, apart, counted=True))
    return speaking(world, (*BatchRoutes(world, _NAME).routes(), *calls.routes()), check=_check_key, words=_words)


def _environment(origin: str) -> Mapping[str, str]:
    """The official SDK speaks gRPC, and cannot be pointed here; this variable is Overnight's."""
    return {"XAI_BASE_URL": f"{origin}{_PREFIX}", "XAI_API_KEY": "xai-emulator"}


XAI = Dialect(_NAME, _PREFIX, _application, XaiRows, _environment)
