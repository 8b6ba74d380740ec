"""Uploads in pieces: what has come is on disk, so that a sender can ask how far it is and go on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import md5, sha256
from pathlib import Path
from typing import Any

import msgspec

from overnight_emulator.identity import new_id
from overnight_emulator.store import Store

_CHUNK = 1 << 18


class Upload(msgspec.Struct, frozen=True):
    """An upload under way; `about` is what its dialect was told at the start."""

    id: str
    about: dict[str, Any]


class Digest(msgspec.Struct, frozen=True):
    """What a whole file comes to."""

    size: int
    sha256: str
    md5: bytes


class Uploads:
    def __init__(self, store: Store, dialect: str) -> None:
        self._store = store
        self._dialect = dialect

    def begin(self, about: dict[str, Any]) -> Upload:
        upload = Upload(new_id("upload"), about)
        self.path(upload).write_bytes(b"")
        self._store.set_fact(self._fact(upload.id), upload)
        return upload

    def find(self, upload_id: str) -> Upload | None:
        found: Upload | None = self._store.fact(self._fact(upload_id), Upload)
        return found

    def path(self, upload: Upload) -> Path:
        return self._store.path(f"{upload.id}.upload")

    def received(self, upload: Upload) -> int:
        return self.path(upload).stat().st_size

    async def take(self, upload: Upload, chunks: AsyncIterator[bytes]) -> None:
        """Add what comes to what has come."""
        with self.path(upload).open("ab") as target:
            async for chunk in chunks:
                target.write(chunk)

    def end(self, upload: Upload) -> None:
        self.path(upload).unlink(missing_ok=True)
        self._store.forget_fact(self._fact(upload.id))

    def _fact(self, upload_id: str) -> str:
        return f"upload {self._dialect} {upload_id}"


def digest_of(path: Path) -> Digest:
    whole, check, size = sha256(), md5(usedforsecurity=False), 0
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK):
            whole.update(chunk)
            check.update(chunk)
            size += len(chunk)
    return Digest(size, whole.hexdigest(), check.digest())
