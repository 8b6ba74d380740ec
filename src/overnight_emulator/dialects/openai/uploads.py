"""Uploads of the OpenAI dialect: a file in parts, which are put together at the end."""

from __future__ import annotations

from hashlib import md5, sha256
from typing import Any

import msgspec
from aiohttp import BodyPartReader, web

from overnight_emulator.dialects.openai.errors import ApiError, bad_json
from overnight_emulator.dialects.openai.files import PURPOSES
from overnight_emulator.dialects.openai.lines import RETENTION_SECONDS
from overnight_emulator.dialects.openai.objects import file_object
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import damaged_forms, json_body, json_reply
from overnight_emulator.world import World

_LIFETIME = 3_600
_LARGEST_PART = 64 << 20
_LARGEST = 8 << 30


class UploadInParts(msgspec.Struct, frozen=True):
    id: str
    filename: str
    purpose: str
    bytes: int
    created_at: float
    status: str = "pending"
    parts: tuple[str, ...] = ()
    file_id: str | None = None


class UploadRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._dialect = dialect

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/uploads", self.create),
            web.post("/uploads/{id}/parts", self.add_part),
            web.post("/uploads/{id}/complete", self.complete),
            web.post("/uploads/{id}/cancel", self.cancel),
        ]

    async def create(self, request: web.Request) -> web.Response:
        body = await json_body(request, bad_json)
        for name, kind in (("filename", str), ("purpose", str), ("bytes", int), ("mime_type", str)):
            if not isinstance(body.get(name), kind):
                code = "missing_required_parameter"
                raise ApiError(400, f"Missing required parameter: '{name}'.", param=name, code=code)
        if body["purpose"] not in PURPOSES:
            message = f"Invalid value: '{body['purpose']}'. Supported values are: {', '.join(PURPOSES)}."
            raise ApiError(400, message, param="purpose", code="invalid_value")
        if not 0 < body["bytes"] <= _LARGEST:
            raise ApiError(400, f"Invalid 'bytes': wanted from 1 to {_LARGEST}.", param="bytes", code="invalid_value")
        now = self._world.clock.now()
        upload = UploadInParts(new_id("upload_"), body["filename"], body["purpose"], body["bytes"], now)
        return self._saved(upload)

    async def add_part(self, request: web.Request) -> web.Response:
        upload = self._pending(request)
        data = b""
        with damaged_forms(lambda: ApiError(400, "We could not read the form of your request.")):
            async for field in await request.multipart():
                if isinstance(field, BodyPartReader) and field.name == "data":
                    data = bytes(await field.read())
        if not data or len(data) > _LARGEST_PART:
            raise ApiError(400, f"Invalid 'data': wanted from 1 to {_LARGEST_PART} bytes.", param="data")
        part_id = new_id("part_")
        self._world.store.path(part_id).write_bytes(data)
        upload = self._pending(request)  # others may have come while this one was read
        self._saved(msgspec.structs.replace(upload, parts=(*upload.parts, part_id)))
        now = int(self._world.clock.now())
        return json_reply({"id": part_id, "object": "upload.part", "created_at": now, "upload_id": upload.id})

    async def complete(self, request: web.Request) -> web.Response:
        body = await json_body(request, bad_json)
        upload = self._pending(request)
        wanted = body.get("part_ids")
        if not isinstance(wanted, list) or not wanted or not all(part in upload.parts for part in wanted):
            raise ApiError(400, "Invalid 'part_ids': wanted parts of this upload.", param="part_ids")
        whole = b"".join(self._world.store.path(part).read_bytes() for part in wanted)
        if len(whole) != upload.bytes:
            raise ApiError(400, f"The parts have {len(whole)} bytes, and {upload.bytes} were announced.")
        if body.get("md5") not in (None, md5(whole, usedforsecurity=False).hexdigest()):
            raise ApiError(400, "The md5 of the parts is another.", param="md5")
        file = self._keep(upload, whole)
        self._forget_parts(upload)
        return self._saved(msgspec.structs.replace(upload, status="completed", parts=(), file_id=file.id))

    async def cancel(self, request: web.Request) -> web.Response:
        upload = self._pending(request)
        self._forget_parts(upload)
        return self._saved(msgspec.structs.replace(upload, status="cancelled", parts=()))

    def _keep(self, upload: UploadInParts, whole: bytes) -> StoredFile:
        now = self._world.clock.now()
        file = StoredFile(
            id=new_id("file-"),
            dialect=self._dialect,
            filename=upload.filename,
            purpose=upload.purpose,
            bytes=len(whole),
            sha256=sha256(whole).hexdigest(),
            created_at=now,
            expires_at=now + RETENTION_SECONDS if upload.purpose == "batch" else None,
        )
        self._world.store.path(file.id).write_bytes(whole)
        self._world.store.add_file(file)
        return file

    def _forget_parts(self, upload: UploadInParts) -> None:
        for part in upload.parts:
            self._world.store.path(part).unlink(missing_ok=True)

    def _pending(self, request: web.Request) -> UploadInParts:
        upload_id = request.match_info["id"]
        found: UploadInParts | None = self._world.store.fact(f"parts {upload_id}", UploadInParts)
        if found is None:
            raise ApiError(404, f"No such upload: {upload_id}")
        expired = self._world.clock.now() > found.created_at + _LIFETIME
        if found.status != "pending" or expired:
            raise ApiError(400, f"The upload is {'expired' if expired else found.status}.")
        return found

    def _saved(self, upload: UploadInParts) -> web.Response:
        self._world.store.set_fact(f"parts {upload.id}", upload)
        now = self._world.clock.now()
        file = self._world.store.file(self._dialect, upload.file_id, now) if upload.file_id is not None else None
        told: dict[str, Any] = {
            "id": upload.id,
            "object": "upload",
            "bytes": upload.bytes,
            "created_at": int(upload.created_at),
            "expires_at": int(upload.created_at + _LIFETIME),
            "filename": upload.filename,
            "purpose": upload.purpose,
            "status": upload.status,
            "file": None if file is None else file_object(file),
        }
        return json_reply(told)
