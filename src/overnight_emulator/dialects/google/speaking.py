"""How Google's services word what they refuse, whichever of them is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from aiohttp import web

from overnight_emulator.dialects.google.errors import GoogleError, word_of
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS, json_reply

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware


def speaking(check: Callable[[web.Request], None]) -> Middleware:
    """`check` refuses callers that may not come in."""

    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            check(request)
            return await handler(request)
        except GoogleError as error:
            return json_reply(error.body, error.status)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            said = GoogleError(error.status, f"There is nothing at {request.path}.", word=word_of(404))
            return json_reply(said.body, error.status)
        except MISSHAPEN:
            return json_reply(GoogleError(400, MISSHAPEN_WORDS).body, 400)

    return speak
