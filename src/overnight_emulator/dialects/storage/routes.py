"""The JSON API of Cloud Storage: buckets, and objects that are listed, read and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from overnight_emulator.dialects.google.paging import page_size
from overnight_emulator.dialects.storage.errors import StorageError, bad_json, check_bucket, from_fault, no_such_object
from overnight_emulator.dialects.storage.objects import Objects, bucket_resource, object_resource
from overnight_emulator.faults.calls import send_file, suffer
from overnight_emulator.faults.kinds import Event, text_of
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_LARGEST_PAGE = 1_000


class StorageRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._objects = Objects(world.store)

    def routes(self) -> list[web.RouteDef]:
        bucket = "/v1/b/{bucket}"
        return [
            web.get("/v1/b", self.buckets),
            web.post("/v1/b", self.create_bucket),
            web.get(bucket, self.bucket),
            web.get(f"{bucket}/o", self.listing),
            web.get(f"{bucket}/o/{{name:.+}}", self.read),
            web.delete(f"{bucket}/o/{{name:.+}}", self.delete),
        ]

    async def buckets(self, _: web.Request) -> web.Response:
        return json_reply({"kind": "storage#buckets"})

    async def create_bucket(self, request: web.Request) -> web.Response:
        name = (await json_body(request, bad_json)).get("name")
        if not isinstance(name, str) or not name:
            raise StorageError(400, "Required parameter: name", reason="required")
        return json_reply(bucket_resource(name, origin_of(request)))

    async def bucket(self, request: web.Request) -> web.Response:
        name = request.match_info["bucket"]
        check_bucket(name, self._world.truth, "storage.buckets.get")
        return json_reply(bucket_resource(name, origin_of(request)))

    async def listing(self, request: web.Request) -> web.StreamResponse:
        bucket, token = request.match_info["bucket"], request.query.get("pageToken", "")
        check_bucket(bucket, self._world.truth, "storage.objects.list")
        limit = page_size(request, _LARGEST_PAGE, _LARGEST_PAGE, "maxResults")
        event = Event("list", request.query_string, later_page=bool(token))

        async def show() -> web.Response:
            self._world.works.settle()
            prefix, delimiter = request.query.get("prefix", ""), request.query.get("delimiter", "")
            found = self._objects.listed(bucket, prefix, self._world.clock.now())
            begins, ends = request.query.get("startOffset", ""), request.query.get("endOffset")
            found = [file for file in found if _name(file) >= begins and (ends is None or _name(file) < ends)]
            folders, files = _folded(found, prefix, delimiter)
            rest = [name for name in sorted({*folders, *files}) if name > token]
            shown, more = rest[:limit], rest[limit:]
            listing: dict[str, Any] = {"kind": "storage#objects"}
            if items := [object_resource(files[name], origin_of(request)) for name in shown if name in files]:
                listing["items"] = items
            if prefixes := [name for name in shown if name in folders]:
                listing["prefixes"] = prefixes
            return json_reply(listing | ({"nextPageToken": shown[-1]} if more else {}))

        return await suffer(self._world.faults.strike(event), self._world.clock, show, from_fault)

    async def read(self, request: web.Request) -> web.StreamResponse:
        """What an object is, or with `alt=media` what is in it."""
        check_bucket(request.match_info["bucket"], self._world.truth, "storage.objects.get")
        if request.query.get("alt") == "media":
            return await self._content(request)
        file = self._find(request)
        wanted = request.query.get("fields", "crc32c")
        shown = await self._objects.checked(file) if "crc32c" in wanted or "*" in wanted else file
        return json_reply(object_resource(shown, origin_of(request)))

    async def _content(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request)
        fault = self._world.faults.strike(Event("content", text_of(file.filename), file.sha256))

        async def send() -> web.StreamResponse:
            response = await send_file(request, self._world.store.path(file.id), fault)
            if not response.prepared:
                response.headers["X-Goog-Hash"] = ",".join(_hashes(file))
                response.headers["X-Goog-Generation"] = file.details["generation"]
                response.headers["X-Goog-Stored-Content-Length"] = str(file.bytes)
            return response

        return await suffer(fault, self._world.clock, send, from_fault)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        bucket, name = request.match_info["bucket"], request.match_info["name"]
        check_bucket(bucket, self._world.truth, "storage.objects.delete")

        async def remove() -> web.Response:
            self._world.store.remove_file(self._find(request).id)
            return web.Response(status=204)

        fault = self._world.faults.strike(Event("delete", text_of(bucket, name), name))
        return await suffer(fault, self._world.clock, remove, from_fault)

    def _find(self, request: web.Request) -> StoredFile:
        bucket, name = request.match_info["bucket"], request.match_info["name"]
        self._world.works.settle()
        file = self._objects.find(bucket, name, self._world.clock.now())
        if file is None:
            raise no_such_object(bucket, name)
        return file


def _folded(found: Sequence[StoredFile], prefix: str, delimiter: str) -> tuple[set[str], dict[str, StoredFile]]:
    """What has the delimiter behind the prefix stands together under the name up to it, as in a folder."""
    folders: set[str] = set()
    files: dict[str, StoredFile] = {}
    for file in found:
        name = _name(file)
        place = name.find(delimiter, len(prefix)) if delimiter else -1
        if place >= 0:
            folders.add(name[: place + len(delimiter)])
        else:
            files[name] = file
    return folders, files


def origin_of(request: web.Request) -> str:
    return f"{request.scheme}://{request.host}"


def _name(file: StoredFile) -> str:
    return str(file.details["name"])


def _hashes(file: StoredFile) -> list[str]:
    crc = [f"crc32c={file.details['crc32c']}"] if "crc32c" in file.details else []
    return [*crc, f"md5={file.details['md5']}"]
