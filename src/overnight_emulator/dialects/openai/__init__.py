"""OpenAI's API: files, batches, chat completions, responses and models, under `/openai/v1`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from uuid import uuid4

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.openai.accounts import check_key
from overnight_emulator.dialects.openai.batches import BatchRoutes
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.files import FileRoutes
from overnight_emulator.dialects.openai.lines import OpenAIRows
from overnight_emulator.dialects.openai.live import LiveRoutes
from overnight_emulator.dialects.openai.uploads import UploadRoutes
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS, json_reply, note_key
from overnight_emulator.world import World

_NAME = "openai"
_PREFIX = "/openai/v1"
_BEGAN = note_key("began")


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        request[_BEGAN] = time.monotonic()
        try:
            check_key(request, world.truth)
            return await handler(request)
        except ApiError as error:
            return json_reply(error.body, error.status, error.headers)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            path = request.path.removeprefix("/openai")
            invalid = ApiError(error.status, f"Invalid URL ({request.method} {path})")
            return json_reply(invalid.body, error.status)
        except MISSHAPEN:
            return json_reply(ApiError(400, MISSHAPEN_WORDS, code="invalid_type").body, 400)

    app = web.Application(middlewares=[speak])
    app.on_response_prepare.append(_sign)
    app.add_routes(FileRoutes(world, _NAME).routes())
    app.add_routes(BatchRoutes(world, _NAME).routes())
    app.add_routes(UploadRoutes(world, _NAME).routes())
    app.add_routes(LiveRoutes(world).routes())
    return app


async def _sign(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["x-request-id"] = f"req_{uuid4().hex}"
    response.headers["openai-organization"] = "org-emulator"
    response.headers["openai-version"] = "2020-10-01"
    now = time.monotonic()
    response.headers["openai-processing-ms"] = str(round((now - request.get(_BEGAN, now)) * 1000))


def _environment(origin: str) -> Mapping[str, str]:
    return {"OPENAI_BASE_URL": f"{origin}{_PREFIX}", "OPENAI_API_KEY": "sk-emulator"}


OPENAI = Dialect(_NAME, _PREFIX, _application, OpenAIRows, _environment)
