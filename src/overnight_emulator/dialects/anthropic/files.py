"""Files of the Anthropic dialect: uploaded, listed, deleted. What a user uploads cannot be downloaded again."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from aiohttp import BodyPartReader, web

from overnight_emulator.dialects.anthropic.errors import ApiError, from_fault
from overnight_emulator.dialects.anthropic.objects import moment
from overnight_emulator.faults.calls import suffer
from overnight_emulator.faults.kinds import Event
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import damaged_forms, json_reply
from overnight_emulator.world import World

_PURPOSE = "upload"
_LARGEST = 500 << 20
_PAGE, _LARGEST_PAGE = 20, 1_000


class FileRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._dialect = dialect

    def routes(self) -> list[web.RouteDef]:
        one = "/v1/files/{id}"
        return [
            web.post("/v1/files", self.upload),
            web.get("/v1/files", self.listing),
            web.get(one, self.retrieve),
            web.delete(one, self.delete),
            web.get(f"{one}/content", self.content),
        ]

    async def upload(self, request: web.Request) -> web.StreamResponse:
        name, kind, data = "", "", b""
        with damaged_forms(lambda: ApiError(400, "The form of the request cannot be read.")):
            async for field in await request.multipart():
                if isinstance(field, BodyPartReader) and field.name == "file":
                    name, data = field.filename or "upload", bytes(await field.read())
                    kind = field.headers.get("Content-Type") or "application/octet-stream"
        if not name:
            raise ApiError(400, "file: Field required")
        if len(data) > _LARGEST:
            raise ApiError(413, f"file: {len(data)} bytes are more than {_LARGEST}")
        digest = sha256(data).hexdigest()
        fault = self._world.faults.strike(Event("upload", name, digest))

        async def keep() -> web.Response:
            return json_reply(_shown(self._world.keep(self._kept(name, kind, data, digest), fault)))

        return await suffer(fault, self._world.clock, keep, from_fault)

    async def listing(self, request: web.Request) -> web.Response:
        given = request.query.get("limit", str(_PAGE))
        if not given.isdecimal() or not 1 <= int(given) <= _LARGEST_PAGE:
            raise ApiError(400, f"limit: wanted a whole number from 1 to {_LARGEST_PAGE}, got '{given}'")
        files = [file for file in reversed(self._files()) if file.purpose == _PURPOSE]
        ids = [file.id for file in files]
        after, before = request.query.get("after_id"), request.query.get("before_id")
        if after in ids:
            files = files[ids.index(after) + 1 :]
        elif before in ids:
            files = files[: ids.index(before)]
        data = [_shown(file) for file in files[: int(given)]]
        ends = (data[0]["id"], data[-1]["id"]) if data else (None, None)
        return json_reply({"data": data, "first_id": ends[0], "last_id": ends[1], "has_more": len(files) > int(given)})

    async def retrieve(self, request: web.Request) -> web.Response:
        return json_reply(_shown(self._find(request)))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request)

        async def remove() -> web.Response:
            self._world.store.remove_file(file.id)
            return json_reply({"id": file.id, "type": "file_deleted"})

        fault = self._world.faults.strike(Event("delete", file.filename, file.id))
        return await suffer(fault, self._world.clock, remove, from_fault)

    async def content(self, request: web.Request) -> web.Response:
        file = self._find(request)
        raise ApiError(400, f"File {file.id} is not downloadable.")

    def _files(self) -> list[StoredFile]:
        return self._world.store.all_files(self._dialect, self._world.clock.now())

    def _kept(self, name: str, kind: str, data: bytes, digest: str) -> StoredFile:
        file = StoredFile(
            id=new_id("file_"),
            dialect=self._dialect,
            filename=name,
            purpose=_PURPOSE,
            bytes=len(data),
            sha256=digest,
            created_at=self._world.clock.now(),
            expires_at=None,
            details={"mime_type": kind},
        )
        self._world.store.path(file.id).write_bytes(data)
        self._world.store.add_file(file)
        return file

    def _find(self, request: web.Request) -> StoredFile:
        file_id = request.match_info["id"]
        file = self._world.store.file(self._dialect, file_id, self._world.clock.now())
        if file is None or file.purpose != _PURPOSE:
            raise ApiError(404, f"File not found: {file_id}")
        return file


def _shown(file: StoredFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "type": "file",
        "filename": file.filename,
        "mime_type": file.details["mime_type"],
        "size_bytes": file.bytes,
        "created_at": moment(file.created_at),
        "downloadable": False,
    }
