"""Lines found again by file, offset and length, and held against what was recorded of them before anybody uses them."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from overnight.core.errors import FileDamaged
from overnight.core.opening import open_to_read, strange
from overnight.core.result import Line, Result
from overnight.store.names import way_out
from overnight.store.run_folder import RunFolder

# What is read at once where lines are wanted in their order.
BLOCK = 256 * 1024
# A strong hash, cut: a line is told from any other, by accident or on purpose, and a million of them take little room.
_DIGEST_BYTES = 16
# Files that are held open at once: a run may have thousands, and a process may not.
_MOST_OPEN = 200


def digest_of(data: bytes) -> bytes:
    """What goes on record beside the place of a line, a body or an item."""
    return sha256(data).digest()[:_DIGEST_BYTES]


def file_problem(path: Path, size: int, sha256_text: str) -> str | None:
    """What is wrong with a whole file on record; None when it has its size and its bytes."""
    what = strange(path)
    if what is not None:
        return what
    try:
        if not path.is_file():
            return "is missing" if not path.exists() else "is not a file"
        found = path.stat().st_size
        if found != size:
            return f"has {found:,} bytes, {size:,} are on record"
        return None if file_hash(path) == sha256_text else "has other bytes than those on record"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def check_file(folder: RunFolder, relative: str, size: int, sha256_text: str) -> None:
    """FileDamaged where a whole file is not the one on record."""
    problem = file_problem(folder.file(relative), size, sha256_text)
    if problem is not None:
        message = f"{folder.file(relative)} {problem}; {way_out(relative)}"
        raise FileDamaged(message)


def file_hash(path: Path) -> str:
    whole = sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(BLOCK):
            whole.update(chunk)
    return whole.hexdigest()


class RawFiles:
    """Open handles on a run's files, for as long as a table is being made."""

    def __init__(self, folder: RunFolder, paths: dict[int, str]) -> None:
        self._folder = folder
        self._paths = paths
        self._handles: dict[int, int] = {}

    def read(self, file: int, offset: int, length: int, digest: bytes) -> bytes:
        """The bytes on record, or FileDamaged: never others."""
        data = self.bytes_at(file, offset, length)
        if sha256(data).digest()[:_DIGEST_BYTES] != digest:
            raise self.damaged(file, offset, length, len(data))
        return data

    def result(
        self, decode: Callable[[bytes], Line], told: Result, file: int, offset: int, length: int, digest: bytes
    ) -> Result:
        """What a raw line says to today's reader. `told` is the ledger's word for it: enough for a failure only."""
        result = decode(self.read(file, offset, length, digest).strip()).result
        if result is None and told.outcome != "failed":
            message = (
                f"{self._path(file)}: bytes {offset:,} to {offset + length:,} hold an answer that this version of "
                "Overnight cannot read; use the version that took it in"
            )
            raise FileDamaged(message)
        return result or told

    def bytes_at(self, file: int, offset: int, length: int) -> bytes:
        """Whatever is there now; as much of it as there is."""
        handle = self._handles.get(file)
        try:
            if handle is None:
                if len(self._handles) >= _MOST_OPEN:
                    os.close(self._handles.pop(next(iter(self._handles))))
                handle = self._handles[file] = open_to_read(self._path(file))
            return os.pread(handle, length, offset)
        except (OSError, OverflowError, MemoryError) as error:
            why = error.strerror if isinstance(error, OSError) else "no file is that long"
            message = f"{self._path(file)}: cannot read: {why}; {way_out(self._paths[file])}"
            raise FileDamaged(message) from error

    def damaged(self, file: int, offset: int, length: int, found: int) -> FileDamaged:
        if found < length:
            what = f"it ends at byte {offset + found:,}, and a line up to byte {offset + length:,} is on record"
        else:
            what = f"bytes {offset:,} to {offset + length:,} are not those on record"
        return FileDamaged(f"{self._path(file)}: the file is damaged: {what}; {way_out(self._paths[file])}")

    def _path(self, file: int) -> Path:
        if file not in self._paths:
            message = f"{self._folder.ledger}: a line is said to be in file {file}, which is not on record"
            raise FileDamaged(message)
        return self._folder.file(self._paths[file])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles.values():
            os.close(handle)


class ReadAhead:
    """Lines that are wanted in about the order they lie in: one reading of the disk for many of them."""

    def __init__(self, files: RawFiles) -> None:
        self._files = files
        self._file = 0
        self._start = self._end = 0
        self._block = b""

    def read(self, file: int, offset: int, length: int, digest: bytes) -> bytes:
        if file != self._file or offset < self._start or offset + length > self._end:
            self._block = self._files.bytes_at(file, offset, max(length, BLOCK))
            self._file, self._start, self._end = file, offset, offset + len(self._block)
        begin = offset - self._start
        data = self._block[begin : begin + length]
        if sha256(data).digest()[:_DIGEST_BYTES] != digest:
            raise self._files.damaged(file, offset, length, len(data))
        return data
