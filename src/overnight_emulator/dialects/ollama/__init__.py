"""Ollama's API under `/ollama`: its own calls, and those it shares with OpenAI under `/v1`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.ollama.compatible import CompatibleRoutes
from overnight_emulator.dialects.ollama.errors import Refused
from overnight_emulator.dialects.ollama.local_models import LocalModels
from overnight_emulator.dialects.ollama.routes import LiveRoutes
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS, json_reply
from overnight_emulator.world import World

_PREFIX = "/ollama"


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except ApiError as error:
            return json_reply(error.body, error.status, error.headers)
        except Refused as refused:
            return json_reply(refused.body, refused.status)
        except MISSHAPEN:
            return json_reply(Refused(400, MISSHAPEN_WORDS).body, 400)

    local = LocalModels(world.truth)
    world.on_reset.append(local.forget)
    app = web.Application(middlewares=[speak])
    app.add_routes(LiveRoutes(world, local).routes())
    app.add_routes(CompatibleRoutes(world, local).routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {"OLLAMA_HOST": f"{origin}{_PREFIX}"}


OLLAMA = Dialect("ollama", _PREFIX, _application, None, _environment)
