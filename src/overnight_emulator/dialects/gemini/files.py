"""The files of the Gemini API: uploaded in pieces, listed, deleted; only answers can be read back."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from aiohttp import web

from overnight_emulator.dialects.gemini.lines import MOST_BYTES
from overnight_emulator.dialects.gemini.objects import file_object
from overnight_emulator.dialects.google.errors import GoogleError, bad_json, from_fault
from overnight_emulator.dialects.google.paging import page, page_size
from overnight_emulator.dialects.google.spelling import camel
from overnight_emulator.faults.calls import send_file, suffer
from overnight_emulator.faults.kinds import Event, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.uploads import Digest, Upload, Uploads, digest_of
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_LIFETIME = 48 * 3_600
_PAGE = 10
_LARGEST_PAGE = 100
_CHUNK = 1 << 18
_LONGEST_ID = 40
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_STATUS = "X-Goog-Upload-Status"


class FileRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._dialect = dialect
        self._uploads = Uploads(world.store, dialect)

    def routes(self, version: str) -> list[web.RouteDef]:
        one = f"{version}/files/{{id:[^/:]+}}"
        return [
            web.post(f"/upload{version}/files", self.upload),
            web.get(f"{version}/files", self.listing),
            web.get(one, self.retrieve),
            web.delete(one, self.delete),
            web.get(f"{one}:download", self.content),
            web.get(f"/download{one}:download", self.content),
        ]

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """One address for every step; a header says which it is."""
        commands = {word.strip() for word in request.headers.get("X-Goog-Upload-Command", "").split(",")}
        if "start" in commands:
            return await self._start(request)
        upload = self._uploads.find(request.query.get("upload_id", ""))
        if upload is None:
            raise GoogleError(404, "The upload does not exist, or is over.")
        if commands == {"query"}:
            return self._progress(upload)
        if commands == {"cancel"}:
            self._uploads.end(upload)
            return web.Response(headers={_STATUS: "cancelled"})
        if not commands <= {"upload", "finalize"}:
            raise GoogleError(400, f"Unknown upload command: {', '.join(sorted(commands))}.")
        if "upload" in commands:
            await self._take(upload, request)
        return await self._finish(upload, request) if "finalize" in commands else self._progress(upload)

    async def _start(self, request: web.Request) -> web.Response:
        about = camel(await json_body(request, bad_json)).get("file") or {}
        file_id = str(about.get("name") or "").removeprefix("files/")
        if file_id and not _ID.fullmatch(file_id):
            raise GoogleError(400, f"File id '{file_id}' may have 40 lower-case letters, digits and dashes.")
        if file_id and self._stored(file_id) is not None:
            raise GoogleError(409, "Requested entity already exists")
        mime_type = about.get("mimeType") or request.headers.get("X-Goog-Upload-Header-Content-Type")
        kept = {"id": file_id, "filename": str(about.get("displayName") or ""), "mime_type": mime_type}
        upload = self._uploads.begin(kept)
        address = f"{_origin(request)}{request.path}?upload_id={upload.id}&upload_protocol=resumable"
        return web.Response(headers={"X-Goog-Upload-URL": address, _STATUS: "active"})

    async def _take(self, upload: Upload, request: web.Request) -> None:
        offset = request.headers.get("X-Goog-Upload-Offset", "0")
        if offset != str(self._uploads.received(upload)):
            raise GoogleError(400, f"The upload is at {self._uploads.received(upload)}, not at {offset}.")
        await self._uploads.take(upload, request.content.iter_chunked(_CHUNK))

    def _progress(self, upload: Upload) -> web.Response:
        received = str(self._uploads.received(upload))
        return web.Response(headers={_STATUS: "active", "X-Goog-Upload-Size-Received": received})

    async def _finish(self, upload: Upload, request: web.Request) -> web.StreamResponse:
        digest = await asyncio.to_thread(digest_of, self._uploads.path(upload))
        most = self._world.truth.limits.bytes or MOST_BYTES
        if digest.size > most:
            self._uploads.end(upload)
            raise GoogleError(400, f"The file is {digest.size} bytes, larger than the {most} maximum.")
        fault = self._world.faults.strike(Event("upload", text_of(upload.about), digest.sha256))

        async def keep() -> web.Response:
            file = self._world.keep(self._keep(upload, digest), fault)
            return json_reply({"file": file_object(file, _origin(request))}, headers={_STATUS: "final"})

        return await suffer(fault, self._world.clock, keep, from_fault)

    def _keep(self, upload: Upload, digest: Digest) -> StoredFile:
        now, about = self._world.clock.now(), upload.about
        file = StoredFile(
            id=about["id"] or new_id("")[:12],
            dialect=self._dialect,
            filename=about["filename"],
            purpose="upload",
            bytes=digest.size,
            sha256=digest.sha256,
            created_at=now,
            expires_at=now + _LIFETIME,
            details={"mime_type": about["mime_type"]},
        )
        self._uploads.path(upload).replace(self._world.store.path(file.id))
        self._world.store.add_file(file)
        self._uploads.end(upload)
        return file

    async def listing(self, request: web.Request) -> web.Response:
        limit, token = page_size(request, _PAGE, _LARGEST_PAGE), request.query.get("pageToken")
        files = [
            file
            for file in reversed(self._world.store.all_files(self._dialect, self._world.clock.now()))
            if file.purpose == "upload"
        ]
        ids = [file.id for file in files]
        rest = files[ids.index(token) + 1 :] if token in ids else files
        return json_reply(
            page("files", rest, limit, lambda one: file_object(one, _origin(request)), lambda one: one.id)
        )

    async def retrieve(self, request: web.Request) -> web.Response:
        return json_reply(file_object(self._find(request), _origin(request)))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        file_id = request.match_info["id"]

        async def remove() -> web.Response:
            if len(file_id) > _LONGEST_ID:
                raise GoogleError(400, f"* DeleteFileRequest.name: a file id has at most {_LONGEST_ID} characters")
            self._world.store.remove_file(self._find(request).id)
            return json_reply({})

        fault = self._world.faults.strike(Event("delete", file_id, file_id))
        return await suffer(fault, self._world.clock, remove, from_fault)

    async def content(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request)
        if file.purpose != "batch_output":
            raise GoogleError(400, "Only generated files can be downloaded.", word="FAILED_PRECONDITION")
        batch = self._world.works.find(file.batch_id or "")
        about: dict[str, Any] = {} if batch is None else batch.metadata or {}
        model = None if batch is None else batch.details["model"]
        fault = self._world.faults.strike(Event("content", text_of(file.id, about), file.id, model))

        async def send() -> web.StreamResponse:
            return await send_file(request, self._world.store.path(file.id), fault)

        return await suffer(fault, self._world.clock, send, from_fault)

    def _find(self, request: web.Request) -> StoredFile:
        file_id = request.match_info["id"]
        self._world.works.settle()
        file = self._stored(file_id)
        if file is None:
            # What is not there and what is another's are told alike.
            raise GoogleError(403, f"You do not have permission to access the File {file_id} or it may not exist.")
        return file

    def _stored(self, file_id: str) -> StoredFile | None:
        file = self._world.store.file(self._dialect, file_id, self._world.clock.now())
        return None if file is None or file.purpose == "inline" else file


def _origin(request: web.Request) -> str:
    return f"{request.scheme}://{request.host}"
