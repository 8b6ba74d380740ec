"""The Gemini API: files, batches, `generateContent` and models, under `/gemini` in every version's prefix."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.gemini.batches import BatchRoutes
from overnight_emulator.dialects.gemini.files import FileRoutes
from overnight_emulator.dialects.gemini.lines import GeminiRows
from overnight_emulator.dialects.google.accounts import check_api_key
from overnight_emulator.dialects.google.errors import GoogleError, word_of
from overnight_emulator.dialects.google.live import LiveRoutes
from overnight_emulator.wire import json_reply
from overnight_emulator.world import World

_NAME = "gemini"
_PREFIX = "/gemini"
_VERSION = "/{version:v1|v1beta|v1alpha|v1beta1}"


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            # Pieces of an upload go to an address that is a secret by itself.
            if "upload_id" not in request.query:
                check_api_key(request, world.truth)
            return await handler(request)
        except GoogleError as error:
            return json_reply(error.body, error.status)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            said = GoogleError(error.status, f"There is nothing at {request.path}.", word=word_of(404))
            return json_reply(said.body, error.status)

    app = web.Application(middlewares=[speak])
    app.add_routes(FileRoutes(world, _NAME).routes(_VERSION))
    app.add_routes(BatchRoutes(world, _NAME).routes(_VERSION))
    app.add_routes(LiveRoutes(world, _VERSION).routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": f"{origin}{_PREFIX}", "GEMINI_API_KEY": "emulator-needs-no-key"}


GEMINI = Dialect(_NAME, _PREFIX, _application, GeminiRows, _environment)
