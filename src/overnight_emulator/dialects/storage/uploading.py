"""Uploads to Cloud Storage: whole, with their description in front, or in pieces."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from aiohttp import BodyPartReader, web

from overnight_emulator.checksums import crc32c_of
from overnight_emulator.dialects.storage.errors import StorageError, bad_json, check_bucket, from_fault
from overnight_emulator.dialects.storage.objects import NAME, Objects, object_resource
from overnight_emulator.dialects.storage.routes import origin_of
from overnight_emulator.faults.calls import suffer
from overnight_emulator.faults.kinds import Event, text_of
from overnight_emulator.uploads import Digest, Upload, Uploads, digest_of
from overnight_emulator.wire import damaged_forms, json_reply
from overnight_emulator.world import World

_CHUNK = 1 << 18
_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


class UploadRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._objects = Objects(world.store)
        self._uploads = Uploads(world.store, NAME)

    def routes(self) -> list[web.RouteDef]:
        path = "/v1/b/{bucket}/o"
        return [web.post(path, self.upload), web.put(path, self.piece), web.delete(path, self.abandon)]

    async def upload(self, request: web.Request) -> web.StreamResponse:
        check_bucket(request.match_info["bucket"], self._world.truth, "storage.objects.create")
        kind = request.query.get("uploadType", "media")
        if kind == "resumable":
            return await self._begin(request)
        if kind == "multipart":
            return await self._described(request)
        if kind != "media":
            raise StorageError(400, f"Unknown upload type: {kind}")
        upload = self._uploads.begin(_about(request, {"contentType": request.content_type}))
        await self._uploads.take(upload, request.content.iter_chunked(_CHUNK))
        return await self._finish(upload, request)

    async def piece(self, request: web.Request) -> web.StreamResponse:
        """The next piece of a resumable upload, or the question how far it is."""
        upload = self._under_way(request)
        told = _RANGE.fullmatch(request.headers.get("Content-Range", "bytes 0-0/*").strip())
        if told is None:
            raise StorageError(400, "Failed to parse Content-Range header.")
        received = self._uploads.received(upload)
        if told[1] is not None and int(told[1]) != received and "Content-Range" in request.headers:
            raise StorageError(503, f"The upload is at {received}, not at {told[1]}.")
        if told[1] is not None:
            await self._uploads.take(upload, request.content.iter_chunked(_CHUNK))
        received = self._uploads.received(upload)
        whole = "Content-Range" not in request.headers or told[3] == str(received)
        if whole:
            return await self._finish(upload, request)
        return web.Response(status=308, headers={"Range": f"bytes=0-{received - 1}"} if received else {})

    async def abandon(self, request: web.Request) -> web.Response:
        self._uploads.end(self._under_way(request))
        return web.Response(status=499, reason="Client Closed Request")

    async def _begin(self, request: web.Request) -> web.Response:
        described = _described(await request.read())
        given = {"contentType": request.headers.get("X-Upload-Content-Type"), **described}
        upload = self._uploads.begin(_about(request, given))
        address = f"{origin_of(request)}{request.path}?uploadType=resumable&upload_id={upload.id}"
        return web.Response(headers={"Location": address, "X-GUploader-UploadID": upload.id})

    async def _described(self, request: web.Request) -> web.StreamResponse:
        with damaged_forms(lambda: StorageError(400, "Malformed multipart body.")):
            upload = await self._received(request)
        return await self._finish(upload, request)

    async def _received(self, request: web.Request) -> Upload:
        reader = await request.multipart()
        first = await reader.next()
        described = _described(bytes(await first.read())) if isinstance(first, BodyPartReader) else {}
        content = await reader.next()
        if not isinstance(content, BodyPartReader):
            raise StorageError(400, "Multipart body must contain a description and the data.")
        upload = self._uploads.begin(_about(request, {"contentType": content.headers.get("Content-Type"), **described}))

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := await content.read_chunk(_CHUNK):
                yield bytes(chunk)

        await self._uploads.take(upload, chunks())
        return upload

    async def _finish(self, upload: Upload, request: web.Request) -> web.StreamResponse:
        digest = await asyncio.to_thread(digest_of, self._uploads.path(upload))
        about = upload.about
        await self._check_sums(upload, digest, request)
        self._check_generation(about)
        fault = self._world.faults.strike(Event("upload", text_of(about["bucket"], about["name"]), digest.sha256))

        async def keep() -> web.Response:
            self._check_generation(about)
            now, part = self._world.clock.now(), self._uploads.path(upload)
            kept = self._objects.put(about["bucket"], about["name"], part, digest, now, about["kind"])
            file = self._world.keep(kept, fault)
            self._uploads.end(upload)
            if "fields" not in request.query:
                file = await self._objects.checked(file)
            return json_reply(object_resource(file, origin_of(request)))

        return await suffer(fault, self._world.clock, keep, from_fault)

    async def _check_sums(self, upload: Upload, digest: Digest, request: web.Request) -> None:
        told = dict(
            part.strip().split("=", 1) for part in request.headers.get("X-Goog-Hash", "").split(",") if "=" in part
        )
        crc, md5 = told.get("crc32c") or upload.about.get("crc32c"), told.get("md5") or upload.about.get("md5")
        if md5 is not None and md5 != b64encode(digest.md5).decode():
            raise StorageError(400, f'Provided MD5 hash "{md5}" doesn\'t match calculated MD5 hash.')
        if crc is not None and crc != await asyncio.to_thread(crc32c_of, self._uploads.path(upload)):
            raise StorageError(400, f'Provided CRC32C "{crc}" doesn\'t match calculated CRC32C.')

    def _check_generation(self, about: dict[str, Any]) -> None:
        """`ifGenerationMatch`: 0 is for an object that is not there yet."""
        wanted = about["if_generation"]
        if wanted is None:
            return
        file = self._objects.find(about["bucket"], about["name"], self._world.clock.now())
        if wanted != ("0" if file is None else file.details["generation"]):
            raise StorageError(412, "At least one of the pre-conditions you specified did not hold.")

    def _under_way(self, request: web.Request) -> Upload:
        upload = self._uploads.find(request.query.get("upload_id", ""))
        if upload is None:
            raise StorageError(404, "The upload does not exist, or is over.")
        return upload


def _about(request: web.Request, described: dict[str, Any]) -> dict[str, Any]:
    name = request.query.get("name") or described.get("name")
    if not isinstance(name, str) or not name:
        raise StorageError(400, "Required parameter: name", reason="required")
    return {
        "bucket": request.match_info["bucket"],
        "name": name,
        "kind": described.get("contentType") or "application/octet-stream",
        "crc32c": described.get("crc32c"),
        "md5": described.get("md5Hash"),
        "if_generation": request.query.get("ifGenerationMatch"),
    }


def _described(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise bad_json() from error
