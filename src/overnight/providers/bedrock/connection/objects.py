"""S3, as far as batches need it: put a file, list, read, delete."""

import re
from collections.abc import Callable
from html import unescape
from urllib.parse import quote

import msgspec

from overnight.core.errors import Gone, Unauthorized, Unavailable
from overnight.providers.buckets import Place
from overnight.providers.reading.figures import count_of
from overnight.providers.wire.http import Wire
from overnight.store.contract import StoredFile

_MOST_PAGES = 100
_CONTENTS = re.compile(r"<Contents>(.*?)</Contents>", re.DOTALL)


class Entry(msgspec.Struct, frozen=True):
    place: Place
    size: int


class ObjectStorage:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def put(self, place: Place, file: StoredFile) -> None:
        """Signed with what is in it: half a file is refused."""
        headers = {"Content-Type": "application/jsonl"}
        reply = await self._wire.send_file(_path(place), file, headers=headers, method="PUT", also=(404,))
        if reply.status == 404:
            raise Unauthorized(
                f"bedrock: the bucket s3://{place.bucket} does not exist; make it, or name another in `buckets`"
            )

    async def knows(self, place: Place) -> bool:
        return any(entry.place == place for entry in await self._listed(place))

    async def remove(self, place: Place) -> None:
        await self._wire.ask("delete", "DELETE", _path(place), also=(404,))

    async def below(self, folder: Place) -> list[Entry]:
        """All in the folder, in the order of their names."""
        inside = [entry for entry in await self._listed(folder) if entry.place.name.startswith(f"{folder.name}/")]
        return sorted(inside, key=lambda entry: entry.place.name)

    async def _listed(self, place: Place) -> list[Entry]:
        found: list[Entry] = []
        query = {"list-type": "2", "prefix": place.name}
        for _ in range(_MOST_PAGES):
            reply = await self._wire.ask("list", "GET", f"/{quote(place.bucket, safe='')}", query=query)
            page = reply.body.decode("utf-8", "replace")
            if "<ListBucketResult" not in page:
                raise Unavailable("bedrock: the listing is not in S3's format (is AWS_ENDPOINT_URL_S3 right?)")
            found += [_entry(place, one) for one in _CONTENTS.findall(page)]
            token = _tag(page, "NextContinuationToken")
            if not token:
                return found
            query["continuation-token"] = token
        raise Unavailable(f"bedrock: the listing of {place.uri} has no end")

    async def read(self, entry: Entry, sink: Callable[[bytes], None]) -> int:
        """One object into `sink`, with a line break at its end; how much was to come, whatever came."""
        last = b""

        def keep(chunk: bytes) -> None:
            nonlocal last
            last = chunk[-1:]
            sink(chunk)

        reply = await self._wire.download(_path(entry.place), keep, also=(404,))
        if not reply.ok:
            raise Gone(f"{entry.place.uri} is no longer there")
        if last not in (b"", b"\n"):
            sink(b"\n")
            return entry.size + 1
        return entry.size


def _entry(folder: Place, text: str) -> Entry:
    return Entry(folder.beside(unescape(_tag(text, "Key"))), count_of(_tag(text, "Size")) or 0)


def _tag(text: str, name: str) -> str:
    found = re.search(rf"<{name}>([^<]*)</{name}>", text)
    return found[1] if found else ""


def _path(place: Place) -> str:
    return f"/{quote(place.bucket, safe='')}/{quote(place.name, safe='/')}"
