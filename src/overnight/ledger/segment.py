"""A raw file that grows: the answers of live calls, each on disk before the ledger mentions it."""

import hashlib
import os
from pathlib import Path

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import FileDamaged
from overnight.core.opening import open_to_write
from overnight.core.surroundings import disk_trouble
from overnight.ledger.folder import sync_directory, way_out

_READ_AT_ONCE = 1 << 20


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
