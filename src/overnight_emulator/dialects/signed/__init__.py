"""Signed addresses: what several providers hand out so that a file is sent or fetched without a key."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.faults.calls import send_file, suffer
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.uploads import Uploads
from overnight_emulator.wire import json_reply
from overnight_emulator.world import World

_PREFIX = "/signed"
_CHUNK = 1 << 18


def upload_address(request: web.Request, dialect: str, upload_id: str) -> str:
    return f"{request.url.origin()}{_PREFIX}/{dialect}/uploads/{upload_id}"


def file_address(request: web.Request, dialect: str, file_id: str) -> str:
    return f"{request.url.origin()}{_PREFIX}/{dialect}/files/{file_id}"


class SignedRoutes:
    def __init__(self, world: World) -> None:
        self._world = world

    def routes(self) -> list[web.RouteDef]:
        return [
            web.put("/{dialect}/uploads/{id}", self.take),
            web.get("/{dialect}/files/{id}", self.give),
        ]

    async def take(self, request: web.Request) -> web.Response:
        """Whoever comes here with a key has let it go to a stranger."""
        uploads = Uploads(self._world.store, request.match_info["dialect"])
        upload = uploads.find(request.match_info["id"])
        if upload is None or "Authorization" in request.headers:
            return json_reply({"error": "AccessDenied"}, 403)
        uploads.path(upload).write_bytes(b"")
        await uploads.take(upload, request.content.iter_chunked(_CHUNK))
        return web.Response()

    async def give(self, request: web.Request) -> web.StreamResponse:
        self._world.works.settle()
        world, name = self._world, request.match_info["dialect"]
        file = world.store.file(name, request.match_info["id"], world.clock.now())
        if file is None or "Authorization" in request.headers:
            return json_reply({"error": "AccessDenied"}, 403)
        fault = world.faults.strike(Event("content", text_of(file.id, file.filename), file.filename))

        async def send() -> web.StreamResponse:
            return await send_file(request, world.store.path(file.id), fault)

        return await suffer(fault, world.clock, send, _refusal)


class _StorageError(web.HTTPException):
    """Any status that a fault names."""

    def __init__(self, fault: Fault) -> None:
        self.status_code = fault.http_status
        headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
        super().__init__(headers=headers, text='{"error": "by a fault"}', content_type="application/json")


def _refusal(fault: Fault) -> Exception:
    return _StorageError(fault)


def _application(world: World) -> web.Application:
    app = web.Application()
    app.add_routes(SignedRoutes(world).routes())
    return app


def _environment(_: str) -> Mapping[str, str]:
    return {}


SIGNED = Dialect("signed", _PREFIX, _application, None, _environment)
