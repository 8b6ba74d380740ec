"""Cutting rows into shards: by count, by encoded bytes, by the user's segments. Order is kept."""

from collections.abc import Iterator

import msgspec

from overnight.core.errors import StudyError


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What one shard may hold."""

    requests: int
    bytes: int
    tokens: int | None = None


class Packer:
    """Takes one row after another and says when a new shard begins."""

    __slots__ = ("_bytes", "_left_in_segment", "_room", "_rows", "_segments", "_tokens")

    def __init__(self, room: Room, segments: Iterator[int] | None = None) -> None:
        self._room = room
        self._segments = segments
        self._left_in_segment = next(segments) if segments is not None else None
        self._rows = self._bytes = self._tokens = 0

    def starts_new(self, size: int, tokens: int = 0) -> bool:
        """Count the row in; True when it is the first of a new shard (so the one before it is full)."""
        room = self._room
        if size > room.bytes:
            message = f"one request is {size:,} bytes, more than the {room.bytes:,} that a batch may hold"
            raise StudyError(message)
        full = self._rows >= room.requests or self._bytes + size > room.bytes
        cut = self._segment_is_full() or (self._rows > 0 and (full or self._is_short_of(tokens)))
        if cut:
            self._rows = self._bytes = self._tokens = 0
        self._rows += 1
        self._bytes += size
        self._tokens += tokens
        if self._left_in_segment is not None:
            self._left_in_segment -= 1
        return cut

    def _is_short_of(self, tokens: int) -> bool:
        return self._room.tokens is not None and self._tokens + tokens > self._room.tokens

    def _segment_is_full(self) -> bool:
        if self._segments is None or self._left_in_segment != 0:
            return False
        self._left_in_segment = next(self._segments)
        return True


def even(total: int, segments: int) -> Iterator[int]:
    """Segment sizes: as even as can be, the remainder on the first ones."""
    segments = max(1, min(segments, total))
    each, more = divmod(total, segments)
    for number in range(segments):
        yield each + (1 if number < more else 0)


def pack(sizes: list[int], room: Room, segments: int | None = None) -> list[list[int]]:
    """The whole cut at once: indexes of the rows in each shard."""
    shards: list[list[int]] = []
    packer = Packer(room, even(len(sizes), segments) if segments else None)
    for index, size in enumerate(sizes):
        if packer.starts_new(size) or not shards:
            shards.append([])
        shards[-1].append(index)
    return shards
