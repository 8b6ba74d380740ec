"""Objects in buckets: files of the store under the names that users give them. Every bucket exists that may."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from overnight_emulator.checksums import crc32c_of
from overnight_emulator.dialects.google.spelling import moment_text
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.uploads import Digest

NAME = "storage"


def object_id(bucket: str, name: str) -> str:
    """The name in the store of what users know by bucket and name."""
    return f"object-{sha256(f'{bucket}/{name}'.encode()).hexdigest()[:40]}"


def split_uri(uri: str) -> tuple[str, str] | None:
    """`gs://bucket/name` in its two parts."""
    scheme, slashes, rest = uri.partition("://")
    bucket, _, name = rest.partition("/")
    return (bucket, name) if scheme == "gs" and slashes and bucket else None


class Objects:
    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, bucket: str, name: str, now: float) -> StoredFile | None:
        return self._store.file(NAME, object_id(bucket, name), now)

    def put(self, bucket: str, name: str, part: Path, digest: Digest, now: float, kind: str) -> StoredFile:
        """In place of an older one of that name."""
        file = StoredFile(
            id=object_id(bucket, name),
            dialect=NAME,
            filename=f"{bucket}/{name}",
            purpose="object",
            bytes=digest.size,
            sha256=digest.sha256,
            created_at=now,
            expires_at=None,
            details={
                "bucket": bucket,
                "name": name,
                "kind": kind,
                "md5": b64encode(digest.md5).decode(),
                "generation": str(round(now * 1_000_000)),
            },
        )
        part.replace(self._store.path(file.id))
        self._store.add_file(file)
        return file

    def listed(self, bucket: str, prefix: str, now: float) -> list[StoredFile]:
        """In the order of their names."""
        mine = (file for file in self._store.all_files(NAME, now) if file.details["bucket"] == bucket)
        found = [file for file in mine if file.details["name"].startswith(prefix)]
        return sorted(found, key=lambda file: str(file.details["name"]))

    async def checked(self, file: StoredFile) -> StoredFile:
        """With its CRC32C, which is dear here and so made only for those who look at it."""
        if "crc32c" in file.details:
            return file
        crc = await asyncio.to_thread(crc32c_of, self._store.path(file.id))
        file = replace(file, details={**file.details, "crc32c": crc})
        self._store.add_file(file)
        return file


def object_resource(file: StoredFile, origin: str) -> dict[str, Any]:
    details = file.details
    bucket, name, generation = details["bucket"], details["name"], details["generation"]
    path = f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}"
    return {
        "kind": "storage#object",
        "id": f"{bucket}/{name}/{generation}",
        "selfLink": f"{origin}{path}",
        "mediaLink": f"{origin}/download{path}?generation={generation}&alt=media",
        "name": name,
        "bucket": bucket,
        "generation": generation,
        "metageneration": "1",
        "contentType": details["kind"],
        "storageClass": "STANDARD",
        "size": str(file.bytes),
        "md5Hash": details["md5"],
        **({"crc32c": details["crc32c"]} if "crc32c" in details else {}),
        "etag": f"C{generation}",
        "timeCreated": moment_text(file.created_at),
        "updated": moment_text(file.created_at),
    }


def bucket_resource(name: str, origin: str) -> dict[str, Any]:
    return {
        "kind": "storage#bucket",
        "id": name,
        "name": name,
        "selfLink": f"{origin}/storage/v1/b/{name}",
        "projectNumber": "1",
        "metageneration": "1",
        "location": "US",
        "locationType": "multi-region",
        "storageClass": "STANDARD",
    }
