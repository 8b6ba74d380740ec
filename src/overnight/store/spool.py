"""Bytes on their way to a bucket: in a private file of this machine, which has no name and is gone with the process."""

import hashlib
import os
import tempfile
from contextlib import suppress
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, cast

from overnight.core.errors import LedgerError
from overnight.core.surroundings import disk_trouble

# What is held before it goes on.
_PIECE = 64 * 1024
_BUFFER = 1 << 20


class Spool:
    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.sha256()
        self._held: list[bytes] = []
        self._written = 0
        try:
            self._handle, path = tempfile.mkstemp(prefix="overnight-")
            os.unlink(path)  # noqa: PTH108 - a name that was never a path of ours
        except OSError as error:
            raise _no_room(error) from error

    def write(self, data: bytes) -> None:
        self._held.append(data)
        self.size += len(data)
        if self.size - self._written >= _PIECE:
            self._hand_over()

    def _hand_over(self) -> None:
        piece = b"".join(self._held)
        self._held.clear()
        done = 0
        try:
            while done < len(piece):
                done += os.pwrite(self._handle, piece[done:], self._written + done)
        except OSError as error:
            raise _no_room(error) from error
        self._written += len(piece)
        self._hash.update(piece)

    @property
    def sha256(self) -> str:
        self._hand_over()
        return self._hash.hexdigest()

    def so_far(self) -> BinaryIO:
        self._hand_over()
        return cast("BinaryIO", BufferedReader(_SoFar(os.dup(self._handle), self.size), _BUFFER))

    def close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):  # a full disk has been told already
                os.close(handle)

    def __del__(self) -> None:
        """For whoever stops half-way: the bytes are nobody's then."""
        if hasattr(self, "_handle"):
            self.close()


class _SoFar(RawIOBase):
    """Read at a place of its own, whatever is written meanwhile."""

    def __init__(self, handle: int, size: int) -> None:
        self._handle = handle
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        self._at = offset + {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = os.pread(self._handle, min(len(buffer), max(0, self._size - self._at)), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            os.close(self._handle)
        super().close()


def _no_room(error: OSError) -> LedgerError:
    return disk_trouble(Path(tempfile.gettempdir()), error)
