"""Cloud Storage, as far as batches need it: put a file where there is none, list, read, delete."""

from collections.abc import Callable
from urllib.parse import quote

import msgspec

from overnight.core.errors import Gone, Unauthorized, Unavailable
from overnight.providers.buckets import Place
from overnight.providers.contract import Intent
from overnight.providers.google_api.refusals import count_of, decoded, listed
from overnight.providers.wire.http import Wire

_MOST_PAGES = 100
_ROLE = "Storage Object User (roles/storage.objectUser)"


class Entry(msgspec.Struct, frozen=True):
    name: str
    size: int


class CloudStorage:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def put(self, intent: Intent, place: Place) -> None:
        """Only where nothing is yet: after a lost answer the file that is there is the one that was sent."""
        query = {
            "uploadType": "media",
            "name": place.name,
            "ifGenerationMatch": "0",
            "fields": "name,size,generation",
        }
        path = f"/upload/storage/v1/b/{_safe(place.bucket)}/o"
        headers = {"Content-Type": "application/jsonl"}
        try:
            reply = await self._wire.send_file(path, intent.file, query=query, headers=headers, also=(404, 412))
        except Unauthorized as refused:
            raise _forbidden(refused, place.bucket) from None
        if reply.status == 404:
            raise Unauthorized(
                f"vertex: the bucket gs://{place.bucket} does not exist; make it, or name another in `buckets`"
            )
        size = count_of(decoded(reply.body, "vertex").get("size")) if reply.ok else await self._size(place)
        if size != intent.bytes:
            # Half a file is a valid file of fewer lines: it must not become a batch.
            await self.remove(place)
            raise Unavailable(f"vertex: {size} of {intent.bytes} bytes of the upload arrived")

    async def _size(self, place: Place) -> int | None:
        reply = await self._wire.ask("retrieve", "GET", _path(place), query={"fields": "size"}, also=(404,))
        return count_of(decoded(reply.body, "vertex").get("size")) if reply.ok else None

    async def knows(self, place: Place) -> bool:
        return await self._size(place) is not None

    async def remove(self, place: Place) -> None:
        await self._wire.ask("delete", "DELETE", _path(place), also=(404,))

    async def below(self, place: Place) -> list[Entry]:
        """The object of that name, or all in the folder of that name, in the order of their names."""
        found: list[Entry] = []
        query = {"prefix": place.name, "fields": "items(name,size),nextPageToken"}
        for _ in range(_MOST_PAGES):
            try:
                reply = await self._wire.ask("list", "GET", f"/storage/v1/b/{_safe(place.bucket)}/o", query=query)
            except Unauthorized as refused:
                raise _forbidden(refused, place.bucket) from None
            items, token = listed(decoded(reply.body, "vertex"), "items", "vertex")
            found += [Entry(str(one.get("name")), count_of(one.get("size"))) for one in items]
            if token is None:
                inside = (one for one in found if one.name == place.name or one.name.startswith(f"{place.name}/"))
                return sorted(inside, key=lambda one: one.name)
            query["pageToken"] = token
        raise Unavailable(f"vertex: the listing of {place.uri} has no end")

    async def read(self, folder: Place, entry: Entry, sink: Callable[[bytes], None]) -> int:
        """One object into `sink`, with a line break at its end; how much was to come, whatever came."""
        place = folder.beside(entry.name)
        last = b""

        def count(chunk: bytes) -> None:
            nonlocal last
            last = chunk[-1:]
            sink(chunk)

        reply = await self._wire.download(f"{_path(place)}?alt=media", count, also=(404,))
        if not reply.ok:
            raise Gone(f"{place.uri} is no longer there")
        if last not in (b"", b"\n"):
            sink(b"\n")
            return entry.size + 1
        return entry.size


def _forbidden(refused: Unauthorized, bucket: str) -> Unauthorized:
    grant = f"give the account whose credentials are used the role {_ROLE} on gs://{bucket}"
    return Unauthorized(f"{refused}; {grant}")


def _path(place: Place) -> str:
    return f"/storage/v1/b/{_safe(place.bucket)}/o/{_safe(place.name)}"


def _safe(reference: str) -> str:
    return quote(reference, safe="")
