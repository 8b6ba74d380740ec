"""Cloud Storage's JSON API, at the root of the emulator, where its SDKs look with STORAGE_EMULATOR_HOST."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.dialects.storage.copying import CopyRoutes
from overnight_emulator.dialects.storage.errors import StorageError, check_token
from overnight_emulator.dialects.storage.objects import NAME
from overnight_emulator.dialects.storage.routes import StorageRoutes
from overnight_emulator.dialects.storage.uploading import UploadRoutes
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS, json_reply
from overnight_emulator.world import World


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            check_token(request, world.truth)
            return await handler(request)
        except (StorageError, GoogleError) as error:
            return json_reply(error.body, error.status, getattr(error, "headers", None))
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            return json_reply(StorageError(error.status, "Not Found").body, error.status)
        except MISSHAPEN:
            return json_reply(StorageError(400, MISSHAPEN_WORDS).body, 400)

    app = web.Application(middlewares=[speak])
    app.add_routes(CopyRoutes(world).routes())
    app.add_routes(StorageRoutes(world).routes())
    app.add_routes(UploadRoutes(world).routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {"STORAGE_EMULATOR_HOST": origin}


STORAGE = Dialect(
    NAME, "/storage", _application, None, _environment, more_prefixes=("/upload/storage", "/download/storage")
)
