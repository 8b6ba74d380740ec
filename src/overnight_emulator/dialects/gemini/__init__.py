"""The Gemini API: files, batches, `generateContent` and models, under `/gemini` in every version's prefix."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.gemini.batches import BatchRoutes
from overnight_emulator.dialects.gemini.files import FileRoutes
from overnight_emulator.dialects.gemini.lines import GeminiRows
from overnight_emulator.dialects.google.accounts import check_api_key
from overnight_emulator.dialects.google.live import LiveRoutes
from overnight_emulator.dialects.google.speaking import speaking
from overnight_emulator.world import World

_NAME = "gemini"
_PREFIX = "/gemini"
_VERSION = "/{version:v1|v1beta|v1alpha|v1beta1}"


def _application(world: World) -> web.Application:
    def check(request: web.Request) -> None:
        # Pieces of an upload go to an address that is a secret by itself.
        if "upload_id" not in request.query:
            check_api_key(request, world.truth)

    app = web.Application(middlewares=[speaking(check)])
    app.add_routes(FileRoutes(world, _NAME).routes(_VERSION))
    app.add_routes(BatchRoutes(world, _NAME).routes(_VERSION))
    app.add_routes(LiveRoutes(world, _VERSION).routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": f"{origin}{_PREFIX}", "GEMINI_API_KEY": "emulator-needs-no-key"}


GEMINI = Dialect(_NAME, _PREFIX, _application, GeminiRows, _environment)
