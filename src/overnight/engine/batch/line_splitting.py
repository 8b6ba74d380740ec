"""Lines out of chunks: whole lines are handed on, and the line that is not finished yet is kept, up to a size."""

import msgspec

from overnight.core.errors import Unavailable

# No answer of a model is that long: what has no line break for so many bytes is not a provider's file.
LONGEST_LINE = 64 << 20


class LineSplitter:
    """The line that is under way. Its pieces are put together once, when it ends: adding costs the same always."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._length = 0

    def add(self, chunk: bytes) -> bytes:
        """All that is finished now, up to its last line break; empty where no line ended."""
        cut = chunk.rfind(b"\n") + 1
        finished = b"".join((*self._pieces, chunk[:cut])) if cut else b""
        if cut:
            self._pieces, self._length = [], 0
        if cut < len(chunk):
            self._pieces.append(chunk[cut:])
            self._length += len(chunk) - cut
        if self._length > self._longest:
            raise Unavailable(f"a line of more than {self._longest >> 20} MB came, which is no provider's file")
        return finished

    @property
    def rest(self) -> bytes:
        return b"".join(self._pieces)


def is_json(text: bytes) -> bool:
    """Whether a line is whole: one that was cut, or that of a web page, is not."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
