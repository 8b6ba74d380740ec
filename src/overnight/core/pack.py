"""Cutting rows into shards: by count, by encoded bytes, by the user's segments. Order is kept."""

from collections.abc import Iterator

import msgspec

from overnight.core.errors import StudyError


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What one shard may hold."""

    requests: int
    bytes: int
    tokens: int | None = None


class Parcel(msgspec.Struct):
    """A shard in the making."""

    rows: int = 0
    bytes: int = 0
    tokens: int = 0

    def fits(self, size: int, tokens: int, room: Room) -> bool:
        if self.rows == 0:
            return True
        if self.rows >= room.requests or self.bytes + size > room.bytes:
            return False
        return room.tokens is None or self.tokens + tokens <= room.tokens


class Packer:
    """Takes one row after another and says when a new shard begins."""

    def __init__(self, room: Room, segments: Iterator[int] | None = None) -> None:
        self._room = room
        self._segments = segments
        self._left_in_segment = next(segments) if segments is not None else None
        self.parcel = Parcel()

    def starts_new(self, size: int, tokens: int = 0) -> bool:
        """Count the row in; True when it is the first of a new shard (so the one before it is full)."""
        if size > self._room.bytes:
            message = f"one request is {size:,} bytes, more than the {self._room.bytes:,} that a batch may hold"
            raise StudyError(message)
        cut = self._segment_is_full() or not self.parcel.fits(size, tokens, self._room)
        if cut:
            self.parcel = Parcel()
        self.parcel.rows += 1
        self.parcel.bytes += size
        self.parcel.tokens += tokens
        if self._left_in_segment is not None:
            self._left_in_segment -= 1
        return cut

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
