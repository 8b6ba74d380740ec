"""Files of a run on a local disk: whole or absent, or growing line by line."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import FileDamaged
from overnight.core.opening import open_to_write, sync_directory
from overnight.core.surroundings import disk_trouble
from overnight.store.names import HALF, way_out

# What a durable file holds before it goes on: more would fall out of the processor's cache meanwhile.
_PIECE = 64 * 1024
_READ_AT_ONCE = 1 << 20


class DurableFile:
    """A file that appears under its name only when it is whole and on disk; its hash comes for free.

    What is written is held until there is a good deal of it: a million lines are hashed and handed to the system in a
    few thousand pieces.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(path.name + HALF)
        self._hash = hashlib.sha256()
        try:
            self._handle: BinaryIO = open(open_to_write(self._part), "wb")  # noqa: PTH123, SIM115 - closed by keep and drop
        except OSError as error:
            raise disk_trouble(path, error) from error
        self._held: list[bytes] = []
        self._handed_over = 0
        self.bytes = 0

    def write(self, data: bytes) -> None:
        self._held.append(data)
        self.bytes += len(data)
        if self.bytes - self._handed_over >= _PIECE:
            self._hand_over()

    def write_lines(self, lines: list[bytes]) -> None:
        """Each gets its newline; the list is empty afterwards."""
        if lines:
            lines.append(b"")
            self.write(b"\n".join(lines))
            lines.clear()

    def _hand_over(self) -> None:
        if not self._held:
            return
        piece = b"".join(self._held)
        self._held.clear()
        self._handed_over = self.bytes
        try:
            self._handle.write(piece)
        except OSError as error:
            raise disk_trouble(self.path, error) from error
        self._hash.update(piece)

    def so_far(self) -> Path:
        """Where what was written can be read before it is kept."""
        self._hand_over()
        self._handle.flush()
        return self._part

    @property
    def sha256(self) -> str:
        self._hand_over()
        return self._hash.hexdigest()

    def keep(self) -> None:
        self._hand_over()
        try:
            self._handle.flush()
            checkpoint(f"fsync {self.path.parent.name}")
            os.fsync(self._handle.fileno())
            self._handle.close()
            self._part.replace(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise disk_trouble(self.path, error) from error
        checkpoint(f"kept {self.path.parent.name}")

    def drop(self) -> None:
        with suppress(OSError):  # a full disk has been told already
            self._handle.close()
        self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.keep()
        else:
            self.drop()


class Segment:
    """Whole lines are appended, a group at a time; one flush to the disk for each group."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._hash = hashlib.sha256()
        self.bytes = 0
        try:
            self._handle = open_to_write(path)
            sync_directory(path.parent)
        except OSError as error:
            raise disk_trouble(path, error) from error

    def append(self, lines: bytes) -> int:
        """Durable when this returns; where the first of the lines begins. What was half written is written over."""
        begin = self.bytes
        try:
            written = 0
            while written < len(lines):
                written += os.pwrite(self._handle, lines[written:], begin + written)
            checkpoint("fsync raw")
            os.fdatasync(self._handle)
        except OSError as error:
            raise disk_trouble(self.path, error) from error
        checkpoint("kept raw")
        self._hash.update(lines)
        self.bytes += len(lines)
        return begin

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def close(self) -> None:
        os.close(self._handle)


def mend(path: Path, end: int) -> tuple[int, str]:
    """Drop the torn last line that a killed process may have left past `end`; the whole file's length and hash."""
    with open(open_to_write(path, os.O_RDWR), "r+b") as file:  # noqa: PTH123 - a handle
        if os.fstat(file.fileno()).st_size < end:
            message = f"{path}: the file is damaged: {end:,} bytes are on record, and it is shorter; {way_out('raw')}"
            raise FileDamaged(message)
        file.seek(end)
        while line := file.readline():
            if not line.endswith(b"\n"):
                break
            end += len(line)
        file.truncate(end)
        checkpoint("fsync raw")
        os.fsync(file.fileno())
        file.seek(0)
        digest = hashlib.sha256()
        while chunk := file.read(_READ_AT_ONCE):
            digest.update(chunk)
    checkpoint("kept raw")
    return end, digest.hexdigest()
