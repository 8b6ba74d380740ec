"""New objects from those that are there: copied within and between buckets, and put together."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from aiohttp import web

from overnight_emulator.dialects.storage.errors import StorageError, bad_json, check_bucket, no_such_object
from overnight_emulator.dialects.storage.objects import Objects, object_resource
from overnight_emulator.dialects.storage.routes import origin_of
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.uploads import digest_of
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_MOST_PARTS = 32


class CopyRoutes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._objects = Objects(world.store)

    def routes(self) -> list[web.RouteDef]:
        source, target = "/v1/b/{bucket}/o/{name:.+}", "b/{to_bucket}/o/{to_name:.+}"
        return [
            web.post(f"{source}/copyTo/{target}", self.copy),
            web.post(f"{source}/rewriteTo/{target}", self.rewrite),
            web.post(f"{source}/compose", self.compose),
        ]

    async def copy(self, request: web.Request) -> web.Response:
        return json_reply(object_resource(await self._copied(request), origin_of(request)))

    async def rewrite(self, request: web.Request) -> web.Response:
        """All at once, however large it is."""
        file = await self._copied(request)
        size = str(file.bytes)
        done = {"kind": "storage#rewriteResponse", "totalBytesRewritten": size, "objectSize": size, "done": True}
        return json_reply({**done, "resource": object_resource(file, origin_of(request))})

    async def compose(self, request: web.Request) -> web.Response:
        body = await json_body(request, bad_json)
        bucket, name = request.match_info["bucket"], request.match_info["name"]
        check_bucket(bucket, self._world.truth, "storage.objects.create")
        named = [str(one["name"]) for one in body.get("sourceObjects") or ()]
        if not 1 <= len(named) <= _MOST_PARTS:
            raise StorageError(400, f"The number of source components must be from 1 to {_MOST_PARTS}.")
        sources = [self._find(bucket, one) for one in named]
        kind = (body.get("destination") or {}).get("contentType") or sources[0].details["kind"]
        file = await self._put(sources, bucket, name, str(kind))
        return json_reply({**object_resource(file, origin_of(request)), "componentCount": len(sources)})

    async def _copied(self, request: web.Request) -> StoredFile:
        place = request.match_info
        check_bucket(place["bucket"], self._world.truth, "storage.objects.get")
        check_bucket(place["to_bucket"], self._world.truth, "storage.objects.create")
        source = self._find(place["bucket"], place["name"])
        return await self._put([source], place["to_bucket"], place["to_name"], source.details["kind"])

    async def _put(self, sources: list[StoredFile], bucket: str, name: str, kind: str) -> StoredFile:
        store = self._world.store
        part = store.path(f"{new_id('copy')}.part")
        await asyncio.to_thread(_join, [store.path(file.id) for file in sources], part)
        digest = await asyncio.to_thread(digest_of, part)
        file = self._objects.put(bucket, name, part, digest, self._world.clock.now(), kind)
        return await self._objects.checked(file)

    def _find(self, bucket: str, name: str) -> StoredFile:
        self._world.works.settle()
        found: Any = self._objects.find(bucket, name, self._world.clock.now())
        if found is None:
            raise no_such_object(bucket, name)
        file: StoredFile = found
        return file


def _join(sources: list[Path], target: Path) -> None:
    with target.open("wb") as whole:
        for source in sources:
            with source.open("rb") as part:
                shutil.copyfileobj(part, whole)
