"""Raw lines found again by file, offset and length."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from overnight.core.errors import LedgerError
from overnight.ledger.folder import RunFolder

# What is read at once where lines are wanted in their order.
BLOCK = 256 * 1024


class RawFiles:
    """Open handles on a run's files, for as long as a table is being made."""

    def __init__(self, folder: RunFolder, paths: dict[int, str]) -> None:
        self._folder = folder
        self._paths = paths
        self._handles: dict[int, int] = {}

    def read(self, file: int, offset: int, length: int) -> bytes:
        handle = self._handles.get(file)
        if handle is None:
            handle = self._open(self._folder.file(self._paths[file]))
            self._handles[file] = handle
        return os.pread(handle, length, offset)

    def _open(self, path: Path) -> int:
        try:
            return os.open(path, os.O_RDONLY)
        except OSError as error:
            message = f"{path}: cannot read: {error.strerror}; the run's raw answers are incomplete"
            raise LedgerError(message) from error

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

    def read(self, file: int, offset: int, length: int) -> bytes:
        if file != self._file or offset < self._start or offset + length > self._end:
            self._block = self._files.read(file, offset, max(length, BLOCK))
            self._file, self._start, self._end = file, offset, offset + len(self._block)
        begin = offset - self._start
        return self._block[begin : begin + length]
