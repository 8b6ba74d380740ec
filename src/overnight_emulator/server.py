"""The server: mounts the dialects, keeps virtual time in every `Date`, and records every call."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from email.utils import formatdate

from aiohttp import web
from aiohttp.web_urldispatcher import UrlMappingMatchInfo

from overnight_emulator.control import PREFIX, control_routes
from overnight_emulator.dialects import Dialect
from overnight_emulator.faults.armed import CALLER
from overnight_emulator.faults.calls import ConnectionDropped, key_of, with_key
from overnight_emulator.faults.kinds import Caller
from overnight_emulator.guard import guard
from overnight_emulator.store import Call
from overnight_emulator.wire import note_key
from overnight_emulator.world import World

_LARGEST_BODY = 256 << 20
_MOMENT = note_key("moment")
_KEY_CHARACTERS_SHOWN = 4
_KEY_HEADERS = ("Authorization", "x-api-key", "x-goog-api-key", "api-key")


def application(world: World, dialects: tuple[Dialect, ...], names: Collection[str] = ()) -> web.Application:
    """`names` are those that it may be called by, beside the loopback's."""
    prefixes = [prefix for dialect in dialects for prefix in dialect.prefixes]

    @web.middleware
    async def record(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        status = 0
        CALLER.set(lambda: _caller(request))
        try:
            response = await handler(request)
            status = response.status
            told = with_key(getattr(response, "body", None), request) if status >= 400 else None
            if told is not None and isinstance(response, web.Response):
                response.body = told
        except web.HTTPException as response_raised:
            status = response_raised.status
            told = with_key(response_raised.body, request)
            if told is not None:
                response_raised.body = told
            raise
        except (ConnectionDropped, ConnectionResetError):  # we hang up on purpose, or the client is gone
            response = _drop(request)
        finally:
            request[_MOMENT] = world.clock.now()
            _note(world, request, status, prefixes)
        return response

    async def date(request: web.Request, response: web.StreamResponse) -> None:
        moment = request.get(_MOMENT) or world.clock.now()
        response.headers["Date"] = formatdate(moment, usegmt=True)
        response.headers.pop("Last-Modified", None)  # the disk knows real time only

    async def run(_: web.Application) -> None:
        await world.works.start()

    async def stop(_: web.Application) -> None:
        await world.close()

    app = web.Application(middlewares=[guard(names), record], client_max_size=_LARGEST_BODY)
    app.on_response_prepare.append(date)
    app.on_startup.append(run)
    app.on_cleanup.append(stop)
    app.add_routes(control_routes(world))
    for dialect in dialects:
        for prefix in dialect.prefixes:
            app.add_subapp(prefix, dialect.application(world))
    _merge_slashes(app)
    return app


def _merge_slashes(app: web.Application) -> None:
    """A path with two slashes in a row that leads nowhere is taken for the one without, as gateways do.

    ellmer asks for `/batches//batch_1`, of services that answer it.
    """
    resolve = app.router.resolve

    async def leniently(request: web.Request) -> UrlMappingMatchInfo:
        found = await resolve(request)
        path = request.rel_url.raw_path
        if found.http_exception is None or "//" not in path:
            return found
        return await resolve(request.clone(rel_url=request.rel_url.with_path(re.sub("//+", "/", path), encoded=True)))

    app.router.resolve = leniently  # type: ignore[method-assign]


def _caller(request: web.Request) -> Caller:
    headers = tuple(f"{name.lower()}: {value}" for name, value in request.headers.items())
    return Caller(key_of(request), request.path, headers)


def _drop(request: web.Request) -> web.StreamResponse:
    """Close the connection; the response returned is for the framework alone and reaches nobody."""
    if request.transport is not None:
        request.transport.close()
    return web.Response(status=500)


def _note(world: World, request: web.Request, status: int, prefixes: list[str]) -> None:
    """Before the reply leaves: time must not go back behind what a reply has shown, even after a crash."""
    if request.path.startswith(PREFIX):
        world.note_time()
        return
    key = next((request.headers[name] for name in _KEY_HEADERS if name in request.headers), "")[-_KEY_CHARACTERS_SHOWN:]
    route, path = _route(request, prefixes), _writable(request.path)
    call = Call(request.method, path, route, status, request[_MOMENT], _writable(key))
    world.store.add_call(call)


def _writable(text: str) -> str:
    """Headers and paths may hold bytes that are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _route(request: web.Request, prefixes: list[str]) -> str:
    """The pattern of the path without the dialect's prefix, as in `/batches/{id}`."""
    resource = request.match_info.route.resource
    path = _writable(request.path) if resource is None else resource.canonical
    prefix = next((prefix for prefix in prefixes if path.startswith(prefix + "/")), "")
    return path.removeprefix(prefix)
