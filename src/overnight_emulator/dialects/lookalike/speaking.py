"""An application that checks keys and words its errors as OpenAI does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from aiohttp import web

from overnight_emulator.dialects.openai.accounts import check_key
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.truth import Truth
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS, json_reply
from overnight_emulator.world import World

Check = Callable[[web.Request, Truth], None]
Words = Callable[[ApiError], Any]


def speaking(
    world: World,
    routes: Iterable[web.RouteDef],
    *,
    check: Check = check_key,
    words: Words = lambda error: error.body,
) -> web.Application:
    """`words` is the body of an error."""

    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            check(request, world.truth)
            return await handler(request)
        except ApiError as error:
            return json_reply(words(error), error.status, error.headers)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            unknown = ApiError(error.status, f"Unknown request URL: {request.method} {request.path}.")
            return json_reply(words(unknown), error.status)
        except MISSHAPEN:
            return json_reply(words(ApiError(400, MISSHAPEN_WORDS)), 400)

    app = web.Application(middlewares=[speak])
    app.add_routes(routes)
    return app
