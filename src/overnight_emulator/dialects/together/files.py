"""Together's files: asked for with a checksum, sent to an address of their own, and then told to be whole."""

from __future__ import annotations

from typing import Any

from aiohttp import BodyPartReader, web

from overnight_emulator.dialects.openai.errors import ApiError, from_fault
from overnight_emulator.dialects.openai.lines import peek_model
from overnight_emulator.dialects.signed import upload_address
from overnight_emulator.faults.calls import send_file, suffer
from overnight_emulator.faults.kinds import Event, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.uploads import Uploads, digest_of
from overnight_emulator.wire import damaged_forms, json_reply
from overnight_emulator.world import World

_WANTED = ("purpose", "file_name", "file_type", "checksum")


class FileRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._dialect = dialect
        self._uploads = Uploads(world.store, dialect)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/files", self.begin),
            web.get("/v1/files", self.listing),
            web.post("/v1/files/{id}/preprocess", self.end),
            web.get("/v1/files/{id}", self.retrieve),
            web.delete("/v1/files/{id}", self.delete),
            web.get("/v1/files/{id}/content", self.content),
        ]

    async def begin(self, request: web.Request) -> web.Response:
        with damaged_forms(lambda: ApiError(400, "The form cannot be read.")):
            fields = await _fields(request)
        missing = [name for name in _WANTED if not fields.get(name)]
        if missing:
            raise ApiError(400, f"Missing required field: {missing[0]}")
        for file in self._world.store.all_files(self._dialect, self._world.clock.now()):
            if file.sha256 == fields["checksum"]:
                return json_reply({"file_id": file.id}, 409)
        upload = self._uploads.begin({**fields, "file_id": new_id("file-")})
        file_id = upload.about["file_id"]
        self._world.store.set_fact(f"together file {file_id}", upload.id)
        headers = {
            "Location": upload_address(request, self._dialect, upload.id),
            "X-Together-File-Id": file_id,
        }
        return web.Response(status=302, headers=headers)

    async def end(self, request: web.Request) -> web.StreamResponse:
        file_id = request.match_info["id"]
        upload_id = self._world.store.fact(f"together file {file_id}", str)
        upload = None if upload_id is None else self._uploads.find(upload_id)
        if upload is None:
            raise _no_file(file_id)
        path = self._uploads.path(upload)
        digest = digest_of(path)
        if digest.sha256 != upload.about["checksum"]:
            raise ApiError(400, "The file does not have the checksum that was announced.")
        event = Event("upload", text_of(upload.about["file_name"]), digest.sha256, peek_model(path))
        fault = self._world.faults.strike(event)

        async def keep() -> web.Response:
            file = StoredFile(
                id=file_id,
                dialect=self._dialect,
                filename=upload.about["file_name"],
                purpose=upload.about["purpose"],
                bytes=digest.size,
                sha256=digest.sha256,
                created_at=self._world.clock.now(),
                expires_at=None,
            )
            path.replace(self._world.store.path(file_id))
            self._world.store.add_file(file)
            self._uploads.end(upload)
            return json_reply(_shown(self._world.keep(file, fault)))

        return await suffer(fault, self._world.clock, keep, from_fault)

    async def listing(self, _: web.Request) -> web.Response:
        files = self._world.store.all_files(self._dialect, self._world.clock.now())
        return json_reply({"data": [_shown(file) for file in files]})

    async def retrieve(self, request: web.Request) -> web.Response:
        return json_reply(_shown(self._find(request)))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request)

        async def remove() -> web.Response:
            self._world.store.remove_file(file.id)
            return json_reply({"id": file.id, "deleted": True})

        fault = self._world.faults.strike(Event("delete", text_of(file.id, file.filename), file.id))
        return await suffer(fault, self._world.clock, remove, from_fault)

    async def content(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request)
        batch = self._world.works.find(file.batch_id) if file.batch_id is not None else None
        model = None if batch is None or batch.check is None else batch.check.model
        fault = self._world.faults.strike(Event("content", text_of(file.id, file.filename), file.filename, model))

        async def send() -> web.StreamResponse:
            return await send_file(request, self._world.store.path(file.id), fault)

        return await suffer(fault, self._world.clock, send, from_fault)

    def _find(self, request: web.Request) -> StoredFile:
        self._world.works.settle()
        file_id = request.match_info["id"]
        file = self._world.store.file(self._dialect, file_id, self._world.clock.now())
        if file is None:
            raise _no_file(file_id)
        return file


async def _fields(request: web.Request) -> dict[str, str]:
    fields: dict[str, str] = {}
    async for field in await request.multipart():
        if isinstance(field, BodyPartReader) and field.name is not None:
            fields[field.name] = await field.text()
    return fields


def _no_file(file_id: str) -> ApiError:
    return ApiError(404, f"File not found: {file_id}")


def _shown(file: StoredFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": int(file.created_at),
        "filename": file.filename,
        "purpose": "batch-api",
        "FileType": "jsonl",
        "Processed": True,
        "LineCount": 0,
        "processing_status": "COMPLETED",
    }
