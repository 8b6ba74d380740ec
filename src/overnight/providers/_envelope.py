"""A JSON body around the lines of a file: the lines become a list, and are read while they are sent."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

_CHUNK = 1 << 18


class Envelope:
    """`head`, the lines with commas between them, `tail`. Lines of JSON hold no line break of their own."""

    def __init__(self, head: bytes, file: Path, tail: bytes) -> None:
        self._head = head
        self._file = file
        self._tail = tail
        with file.open("rb") as lines:
            size = os.fstat(lines.fileno()).st_size
            lines.seek(max(0, size - 1))
            # The last line's own end is no comma.
            self._content = size - int(lines.read(1) == b"\n")

    @property
    def length(self) -> int:
        return len(self._head) + self._content + len(self._tail)

    async def stream(self) -> AsyncIterator[bytes]:
        yield self._head
        left = self._content
        with self._file.open("rb") as lines:
            while left and (chunk := lines.read(min(_CHUNK, left))):
                left -= len(chunk)
                yield chunk.replace(b"\n", b",")
        yield self._tail
