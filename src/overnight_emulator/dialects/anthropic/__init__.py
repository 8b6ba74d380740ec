"""Anthropic's API: messages, Message Batches and models, under `/anthropic`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from uuid import uuid4

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.anthropic.accounts import check_caller
from overnight_emulator.dialects.anthropic.batches import BatchRoutes
from overnight_emulator.dialects.anthropic.errors import ApiError
from overnight_emulator.dialects.anthropic.files import FileRoutes
from overnight_emulator.dialects.anthropic.lines import AnthropicRows
from overnight_emulator.dialects.anthropic.live import REQUEST_ID, LiveRoutes
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS, json_reply
from overnight_emulator.world import World

_NAME = "anthropic"
_PREFIX = "/anthropic"


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        request[REQUEST_ID] = f"req_{uuid4().hex}"
        try:
            check_caller(request, world.truth)
            return await handler(request)
        except ApiError as error:
            return json_reply(error.body(request[REQUEST_ID]), error.status, error.headers)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed, web.HTTPRequestEntityTooLarge) as error:
            unknown = ApiError(error.status, error.reason)
            return json_reply(unknown.body(request[REQUEST_ID]), error.status)
        except MISSHAPEN:
            return json_reply(ApiError(400, MISSHAPEN_WORDS).body(request[REQUEST_ID]), 400)

    app = web.Application(middlewares=[speak])
    app.on_response_prepare.append(_sign)
    app.add_routes(LiveRoutes(world).routes())
    app.add_routes(FileRoutes(world, _NAME).routes())
    app.add_routes(BatchRoutes(world, _NAME, _PREFIX).routes())
    return app


async def _sign(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["request-id"] = request.get(REQUEST_ID) or f"req_{uuid4().hex}"
    response.headers["anthropic-organization-id"] = "org-emulator"


def _environment(origin: str) -> Mapping[str, str]:
    return {"ANTHROPIC_BASE_URL": f"{origin}{_PREFIX}", "ANTHROPIC_API_KEY": "sk-ant-emulator"}


ANTHROPIC = Dialect(_NAME, _PREFIX, _application, AnthropicRows, _environment)
