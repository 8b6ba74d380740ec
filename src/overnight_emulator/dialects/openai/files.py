"""The files of the OpenAI dialect: uploaded in a stream, listed, read back, deleted."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from aiohttp import BodyPartReader, web
from msgspec import Struct

from overnight_emulator.dialects.openai.errors import ApiError, from_fault, no_such_file
from overnight_emulator.dialects.openai.lines import MOST_BYTES, RETENTION_SECONDS, peek_model, too_large
from overnight_emulator.dialects.openai.objects import file_object
from overnight_emulator.dialects.openai.paging import page, page_size
from overnight_emulator.faults.calls import send_file, suffer
from overnight_emulator.faults.kinds import Event, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.truth import Truth
from overnight_emulator.wire import damaged_forms, json_reply
from overnight_emulator.world import World

PURPOSES = ("assistants", "batch", "evals", "fine-tune", "user_data", "vision")
_CHUNK = 1 << 18
_LARGEST_FILE = 512 << 20
_SHORTEST_LIFE = 3_600
_LONGEST_LIFE = 2_592_000
_LARGEST_PAGE = 10_000


class _Received(Struct):
    filename: str | None = None
    size: int = 0
    sha256: str = ""


class FileTerms(Struct, frozen=True):
    """In what the files of a look-alike differ: how one is shown, what is checked in it, and how long it is kept."""

    show: Callable[[StoredFile], dict[str, Any]] = file_object
    check: Callable[[Path, Truth], None] = lambda _path, _truth: None
    lifetime: float | None = RETENTION_SECONDS


class FileRoutes:
    def __init__(self, world: World, dialect: str, terms: FileTerms | None = None) -> None:
        self._world = world
        self._dialect = dialect
        self._terms = terms or FileTerms()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/files", self.upload),
            web.get("/files", self.listing),
            web.get("/files/{id}", self.retrieve),
            web.delete("/files/{id}", self.delete),
            web.get("/files/{id}/content", self.content),
        ]

    async def upload(self, request: web.Request) -> web.StreamResponse:
        if not request.content_type.startswith("multipart/"):
            raise ApiError(400, f"Expected multipart/form-data, got '{request.content_type}'.")
        file_id = new_id("file-")
        part = self._world.store.path(f"{file_id}.part")
        try:
            with damaged_forms(lambda: ApiError(400, "We could not read the form of your request.")):
                fields, received = await _receive(request, part)
            _check_upload(fields, received, self._world.truth.limits.bytes or MOST_BYTES)
            self._terms.check(part, self._world.truth)
            event = Event("upload", text_of(received.filename, fields["purpose"]), received.sha256, peek_model(part))

            fault = self._world.faults.strike(event)

            async def keep() -> web.Response:
                file = self._world.keep(self._keep(file_id, part, fields, received), fault)
                return json_reply(self._terms.show(file))

            return await suffer(fault, self._world.clock, keep, from_fault)
        finally:
            part.unlink(missing_ok=True)

    async def listing(self, request: web.Request) -> web.Response:
        limit = page_size(request, _LARGEST_PAGE, _LARGEST_PAGE)
        purpose, after = request.query.get("purpose"), request.query.get("after")
        files = self._world.store.all_files(self._dialect, self._world.clock.now())
        if request.query.get("order", "desc") == "desc":
            files.reverse()
        shown = [file for file in files if purpose in {None, "", file.purpose}]
        if after is not None:
            ids = [file.id for file in shown]
            if after not in ids:
                raise no_such_file(after)
            shown = shown[ids.index(after) + 1 :]
        return json_reply(page([self._terms.show(file) for file in shown[: limit + 1]], limit))

    async def retrieve(self, request: web.Request) -> web.Response:
        return json_reply(self._terms.show(self._find(request)))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request)

        async def remove() -> web.Response:
            self._world.store.remove_file(file.id)
            return json_reply({"id": file.id, "object": "file", "deleted": True})

        fault = self._world.faults.strike(Event("delete", text_of(file.id, file.filename), file.id))
        return await suffer(fault, self._world.clock, remove, from_fault)

    async def content(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request)
        batch = self._world.works.find(file.batch_id) if file.batch_id is not None else None
        text = text_of(file.id, file.filename, {} if batch is None else batch.metadata or {})
        model = None if batch is None or batch.check is None else batch.check.model
        fault = self._world.faults.strike(Event("content", text, file.filename, model))

        async def send() -> web.StreamResponse:
            return await send_file(request, self._world.store.path(file.id), fault)

        return await suffer(fault, self._world.clock, send, from_fault)

    def _find(self, request: web.Request) -> StoredFile:
        file_id = request.match_info["id"]
        self._world.works.settle()
        file = self._world.store.file(self._dialect, file_id, self._world.clock.now())
        if file is None:
            raise no_such_file(file_id)
        return file

    def _keep(self, file_id: str, part: Path, fields: dict[str, str], received: _Received) -> StoredFile:
        now = self._world.clock.now()
        asked = fields.get("expires_after[seconds]")
        lifetime = self._terms.lifetime if fields["purpose"] == "batch" else None
        if asked is not None:
            lifetime = int(asked)
        file = StoredFile(
            id=file_id,
            dialect=self._dialect,
            filename=received.filename or "upload",
            purpose=fields["purpose"],
            bytes=received.size,
            sha256=received.sha256,
            created_at=now,
            expires_at=None if lifetime is None else now + lifetime,
        )
        part.replace(self._world.store.path(file_id))
        self._world.store.add_file(file)
        return file


async def _receive(request: web.Request, part: Path) -> tuple[dict[str, str], _Received]:
    """Read the form; the file goes to disk as it comes."""
    fields: dict[str, str] = {}
    received = _Received()
    async for field in await request.multipart():
        if not isinstance(field, BodyPartReader) or field.name is None:
            continue
        if field.name == "file":
            received = await _stream(field, part)
        else:
            fields[field.name] = await field.text()
    return fields, received


async def _stream(field: BodyPartReader, part: Path) -> _Received:
    """What goes beyond the largest file is read, so that the sender gets its answer, but not kept."""
    digest, size = sha256(), 0
    with part.open("wb") as target:
        while chunk := await field.read_chunk(_CHUNK):
            size += len(chunk)
            if size <= _LARGEST_FILE:
                target.write(chunk)
                digest.update(chunk)
    return _Received(field.filename or "upload", size, digest.hexdigest())


def _check_upload(fields: dict[str, str], received: _Received, batch_limit: int) -> None:
    purpose = fields.get("purpose")
    if received.filename is None:
        raise ApiError(400, "Missing required parameter: 'file'.", param="file", code="missing_required_parameter")
    if purpose is None:
        raise ApiError(
            400, "Missing required parameter: 'purpose'.", param="purpose", code="missing_required_parameter"
        )
    if purpose not in PURPOSES:
        message = f"Invalid value: '{purpose}'. Supported values are: {', '.join(PURPOSES)}."
        raise ApiError(400, message, param="purpose", code="invalid_value")
    limit = min(batch_limit, _LARGEST_FILE) if purpose == "batch" else _LARGEST_FILE
    if received.size > limit:
        raise ApiError(413, too_large(received.size, limit), param="file")
    _check_lifetime(fields)


def _check_lifetime(fields: dict[str, str]) -> None:
    anchor, seconds = fields.get("expires_after[anchor]"), fields.get("expires_after[seconds]")
    if anchor is None and seconds is None:
        return
    if anchor != "created_at":
        raise ApiError(400, "Invalid anchor: wanted 'created_at'.", param="expires_after.anchor", code="invalid_value")
    check_seconds(int(seconds) if seconds is not None and seconds.isdecimal() else None, "expires_after.seconds")


def check_seconds(seconds: object, param: str) -> None:
    if not isinstance(seconds, int) or not _SHORTEST_LIFE <= seconds <= _LONGEST_LIFE:
        message = f"Invalid '{param}': wanted a whole number from {_SHORTEST_LIFE} to {_LONGEST_LIFE}."
        raise ApiError(400, message, param=param, code="invalid_value")
