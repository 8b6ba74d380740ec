"""A store of objects that never change once they are put, as buckets have them: it proves that the contract asks no more.

A file that grows is a row of objects, one for each group of lines; reading it joins them.
"""

from __future__ import annotations

import hashlib
from io import BufferedReader, BytesIO, RawIOBase
from typing import BinaryIO, Self

from overnight.core.errors import FileDamaged
from overnight.store.contract import Kept
from overnight.store.names import parts_of, way_out


class OneWay(RawIOBase):
    """Nobody is promised that a stream goes back."""

    def __init__(self, content: bytes) -> None:
        self._content = BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._content.readinto(buffer)


class ObjectStore:
    def __init__(self, folders: tuple[str, ...], files: tuple[str, ...]) -> None:
        self.home = "objects://bucket/run"
        self._folders = folders
        self._files = files
        # By name: the groups of lines that were added, or one whole.
        self.objects: dict[str, tuple[bytes, ...]] = {}

    def where(self, name: str) -> str:
        return f"{self.home}/{self._admitted(name)}"

    def put(self, name: str, *, over_anything: bool = False) -> _Writer:
        return _Writer(self, self._admitted(name))

    def append(self, name: str, *, anew: bool = False) -> _Appender:
        if anew or not self.exists(name):
            self.objects[name] = ()
        return _Appender(self, name)

    def mend(self, name: str, end: int) -> Kept:
        whole = self._content(name)
        if len(whole) < end:
            what = f"the file is damaged: {end:,} bytes are on record, and it is shorter"
            raise FileDamaged(f"{self.where(name)}: {what}; {way_out(name)}")
        whole = whole[: max(end, whole.rfind(b"\n") + 1)]
        self.objects[name] = (whole,)
        return Kept(len(whole), hashlib.sha256(whole).hexdigest())

    def reader(self, name: str) -> _Reader:
        return _Reader(self.where(name), self._content(name))

    def stream(self, name: str, start: int = 0) -> BinaryIO:
        return BufferedReader(OneWay(self._content(name)[start:]))  # type: ignore[arg-type, return-value]

    def problem(self, name: str) -> str | None:
        return None if self.exists(name) else "is missing"

    def exists(self, name: str) -> bool:
        return self._admitted(name) in self.objects

    def size(self, name: str) -> int:
        return len(self._content(name))

    def names(self, part: str) -> list[str]:
        start = self._admitted(part) + "/"
        return sorted(name for name in self.objects if name.startswith(start))

    def remove(self, name: str) -> None:
        self.objects.pop(self._admitted(name), None)

    def prepare(self) -> None:
        pass

    def clear(self) -> None:
        self.objects.clear()

    def _content(self, name: str) -> bytes:
        if not self.exists(name):
            raise FileDamaged(f"{self.where(name)}: cannot read: there is no such object; {way_out(name)}")
        return b"".join(self.objects[name])

    def _admitted(self, name: str) -> str:
        parts_of(name, self.home, self._folders, self._files)
        return name


class _Writer:
    def __init__(self, store: ObjectStore, name: str) -> None:
        self.name = name
        self.size = 0
        self._store = store
        self._staged = b""

    def write(self, data: bytes) -> None:
        self._staged += data
        self.size = len(self._staged)

    def write_lines(self, lines: list[bytes]) -> None:
        self.write(b"".join(line + b"\n" for line in lines))
        lines.clear()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self._staged).hexdigest()

    def so_far(self) -> BinaryIO:
        return BytesIO(self._staged)

    def keep(self) -> None:
        self._store.objects[self.name] = (self._staged,)

    def drop(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.keep()


class _Appender:
    def __init__(self, store: ObjectStore, name: str) -> None:
        self.name = name
        self._store = store

    @property
    def size(self) -> int:
        return self._store.size(self.name)

    def add(self, lines: bytes) -> int:
        begin = self.size
        self._store.objects[self.name] += (lines,)
        return begin

    @property
    def sha256(self) -> str:
        return hashlib.sha256(b"".join(self._store.objects[self.name])).hexdigest()

    def close(self) -> None:
        pass


class _Reader:
    def __init__(self, where: str, content: bytes) -> None:
        self._where = where
        self._content = content

    def read(self, offset: int, length: int) -> bytes:
        if offset < 0 or max(offset, length) >= 2**50:
            raise FileDamaged(f"{self._where}: cannot read: no object is that long")
        return self._content[offset : offset + length]

    def close(self) -> None:
        pass
