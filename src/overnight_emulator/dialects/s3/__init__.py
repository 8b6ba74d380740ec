"""S3, as far as batches need it, under `/s3`: objects are put, listed, read, deleted. Every bucket exists that may."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from pathlib import Path

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.s3.accounts import access_key
from overnight_emulator.dialects.s3.errors import S3Error, from_fault
from overnight_emulator.dialects.storage.objects import object_id
from overnight_emulator.faults.calls import send_file, suffer
from overnight_emulator.faults.kinds import Event, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.patterns import matches_any
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth
from overnight_emulator.uploads import digest_of
from overnight_emulator.wire import MISSHAPEN
from overnight_emulator.world import World

NAME = "s3"
PREFIX = "/s3"
_CHUNK = 1 << 18
_LARGEST_PAGE = 1_000
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def put_object(store: Store, bucket: str, name: str, part: Path, now: float) -> StoredFile:
    digest = digest_of(part)
    file = StoredFile(
        id=object_id(f"s3:{bucket}", name),
        dialect=NAME,
        filename=f"{bucket}/{name}",
        purpose="object",
        bytes=digest.size,
        sha256=digest.sha256,
        created_at=now,
        expires_at=None,
        details={"bucket": bucket, "name": name, "md5": b64encode(digest.md5).decode(), "etag": digest.md5.hex()},
    )
    part.replace(store.path(file.id))
    store.add_file(file)
    return file


class ObjectRoutes:
    def __init__(self, world: World) -> None:
        self._world = world

    def routes(self) -> list[web.RouteDef]:
        return [
            web.put("/{bucket}", self.make_bucket),
            web.get("/{bucket}", self.listing),
            web.put("/{bucket}/{name:.+}", self.put),
            web.get("/{bucket}/{name:.+}", self.read),
            web.delete("/{bucket}/{name:.+}", self.delete),
        ]

    async def make_bucket(self, _: web.Request) -> web.Response:
        return web.Response()

    async def put(self, request: web.Request) -> web.StreamResponse:
        bucket, name = self._place(request)
        part = self._world.store.path(f"{new_id('object')}.part")
        try:
            with part.open("wb") as target:
                async for chunk in request.content.iter_chunked(_CHUNK):
                    target.write(chunk)
            digest = digest_of(part)
            announced = request.headers.get("X-Amz-Content-Sha256", "")
            if len(announced) == 64 and announced != digest.sha256:
                raise S3Error(400, "XAmzContentSHA256Mismatch", "The provided hash does not match what was computed.")
            fault = self._world.faults.strike(Event("upload", text_of(bucket, name), digest.sha256))

            async def keep() -> web.Response:
                file = put_object(self._world.store, bucket, name, part, self._world.clock.now())
                self._world.keep(file, fault)
                return web.Response(headers={"ETag": f'"{file.details["etag"]}"'})

            return await suffer(fault, self._world.clock, keep, from_fault)
        finally:
            part.unlink(missing_ok=True)

    async def read(self, request: web.Request) -> web.StreamResponse:
        bucket, name = self._place(request)
        self._world.works.settle()
        file = self._find(bucket, name)
        fault = None
        if request.method == "GET":
            fault = self._world.faults.strike(Event("content", text_of(file.filename), file.sha256))

        async def send() -> web.StreamResponse:
            response = await send_file(request, self._world.store.path(file.id), fault)
            if not response.prepared:
                response.headers["ETag"] = f'"{file.details["etag"]}"'
            return response

        return await suffer(fault, self._world.clock, send, from_fault)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        bucket, name = self._place(request)

        async def remove() -> web.Response:
            self._world.store.remove_file(object_id(f"s3:{bucket}", name))
            return web.Response(status=204)

        fault = self._world.faults.strike(Event("delete", text_of(bucket, name), name))
        return await suffer(fault, self._world.clock, remove, from_fault)

    async def listing(self, request: web.Request) -> web.Response:
        bucket, _ = self._place(request)
        self._world.works.settle()
        prefix, after = request.query.get("prefix", ""), request.query.get("continuation-token", "")
        limit = min(int(request.query.get("max-keys") or _LARGEST_PAGE), _LARGEST_PAGE)
        files = self._world.store.all_files(NAME, self._world.clock.now())
        mine = [file for file in files if file.details["bucket"] == bucket]
        found = sorted(
            (file for file in mine if file.details["name"].startswith(prefix) and file.details["name"] > after),
            key=lambda file: str(file.details["name"]),
        )
        return web.Response(text=_listed(bucket, prefix, found, limit), content_type="application/xml")

    def _place(self, request: web.Request) -> tuple[str, str]:
        bucket, name = request.match_info["bucket"], request.match_info.get("name", "")
        buckets = self._world.truth.buckets
        if matches_any(bucket, buckets.missing):
            raise S3Error(404, "NoSuchBucket", "The specified bucket does not exist")
        if matches_any(bucket, buckets.refuse):
            raise S3Error(403, "AccessDenied", "Access Denied")
        return bucket, name

    def _find(self, bucket: str, name: str) -> StoredFile:
        file = self._world.store.file(NAME, object_id(f"s3:{bucket}", name), self._world.clock.now())
        if file is None:
            raise S3Error(404, "NoSuchKey", "The specified key does not exist.")
        return file


def _listed(bucket: str, prefix: str, found: list[StoredFile], limit: int) -> str:
    shown = found[:limit]
    more = len(found) > limit
    entries = "".join(
        f"<Contents><Key>{escape(file.details['name'])}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<ETag>&quot;{file.details['etag']}&quot;</ETag><Size>{file.bytes}</Size>"
        f"<StorageClass>STANDARD</StorageClass></Contents>"
        for file in shown
    )
    token = f"<NextContinuationToken>{escape(shown[-1].details['name'])}</NextContinuationToken>" if more else ""
    return (
        f'{_XML}<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{escape(bucket)}</Name>'
        f"<Prefix>{escape(prefix)}</Prefix><KeyCount>{len(shown)}</KeyCount><MaxKeys>{limit}</MaxKeys>"
        f"<IsTruncated>{str(more).lower()}</IsTruncated>{entries}{token}</ListBucketResult>"
    )


def _check(request: web.Request, truth: Truth) -> None:
    key = access_key(request)
    if not key:
        raise S3Error(403, "AccessDenied", "Access Denied")
    if key in truth.keys.refuse:
        raise S3Error(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            _check(request, world.truth)
            return await handler(request)
        except S3Error as error:
            return error.reply()
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            return S3Error(error.status, "MethodNotAllowed", "The specified method is not allowed.").reply()
        except MISSHAPEN:
            return S3Error(400, "InvalidArgument", "Invalid Argument").reply()

    app = web.Application(middlewares=[speak])
    app.add_routes(ObjectRoutes(world).routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {"AWS_ENDPOINT_URL_S3": f"{origin}{PREFIX}"}


S3 = Dialect(NAME, PREFIX, _application, None, _environment)
