"""Cutting rows into shards: by count, by encoded bytes, by the user's segments, never too few. Order is kept."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal

import msgspec

from overnight.core.errors import StudyError


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What one shard may hold, and the least that it must."""

    requests: int
    bytes: int
    # The longest line, where that is less than a whole shard.
    line: int | None = None
    tokens: int | None = None
    least: int = 1


# What becomes of rows that are too few for a batch.
Few = Literal["enough", "wait", "live", "refuse"]


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
        if room.line is not None and size > room.line:
            raise StudyError(f"one request is {size:,} bytes, more than the {room.line:,} that one in a batch may have")
        full = self._rows >= room.requests or self._bytes + size > room.bytes
        if full and 0 < self._rows < room.least:
            held = f"{self._rows:,} requests fill a batch of {room.bytes:,} bytes"
            raise StudyError(f"{held}, which must hold {room.least:,} at least; make them shorter")
        # Neither a segment's end nor a guess at tokens makes a shard that nobody would take.
        wanted = self._segment_is_full() or (self._rows > 0 and self._is_short_of(tokens))
        cut = (wanted and self._rows >= room.least) or (self._rows > 0 and full)
        if cut:
            self._rows = self._bytes = self._tokens = 0
        self._rows += 1
        self._bytes += size
        self._tokens += tokens
        if self._left_in_segment is not None:
            self._left_in_segment -= 1
        return cut

    def cuts(self, sizes: Sequence[int], tokens: Sequence[int]) -> list[int]:
        """Count many rows in: the places of those that are the first of a new shard.

        What `starts_new` says of each; but it is asked only near the end of a shard.
        """
        bytes_up_to, tokens_up_to = (list(accumulate(column, initial=0)) for column in (sizes, tokens))
        longest = max(sizes, default=0)
        found: list[int] = []
        place, end = 0, len(sizes)
        while place < end:
            if self.starts_new(sizes[place], tokens[place]):
                found.append(place)
            begin = place + 1
            place = self._fitting(begin, longest, bytes_up_to, tokens_up_to)
            self._rows += place - begin
            self._bytes += bytes_up_to[place] - bytes_up_to[begin]
            self._tokens += tokens_up_to[place] - tokens_up_to[begin]
            if self._left_in_segment is not None:
                self._left_in_segment -= place - begin
        return found

    def _fitting(self, begin: int, longest: int, bytes_up_to: Sequence[int], tokens_up_to: Sequence[int]) -> int:
        """The end of the rows from `begin` on that the shard takes for sure."""
        room = self._room
        if longest > room.bytes or (room.line is not None and longest > room.line):
            return begin  # one of them is refused
        end = min(len(bytes_up_to) - 1, begin + room.requests - self._rows)
        if self._left_in_segment is not None:
            end = min(end, begin + self._left_in_segment)
        end = min(end, bisect_right(bytes_up_to, bytes_up_to[begin] + room.bytes - self._bytes) - 1)
        if room.tokens is not None:
            end = min(end, bisect_right(tokens_up_to, tokens_up_to[begin] + room.tokens - self._tokens) - 1)
        return max(begin, end)

    def _is_short_of(self, tokens: int) -> bool:
        return self._room.tokens is not None and self._tokens + tokens > self._room.tokens

    def _segment_is_full(self) -> bool:
        if self._segments is None or self._left_in_segment != 0:
            return False
        self._left_in_segment = next(self._segments)
        return True


def most_requests(limit: int, wanted: int | None, least: int = 1) -> int:
    """Rows in one shard: as the user wants, within what is taken."""
    return max(least, min(limit, wanted or limit))


def even(total: int, segments: int, least: int = 1) -> Iterator[int]:
    """Segment sizes: as even as can be, the remainder on the first ones; fewer where they would be too small."""
    segments = max(1, min(segments, total // least))
    each, more = divmod(total, segments)
    for number in range(segments):
        yield each + (1 if number < more else 0)


def lent(before: Sequence[int], last: Sequence[int], room: Room) -> int:
    """How many rows the shard before gives to the last one, so that both have enough; 0 where that cannot be.

    Both are the sizes of their rows.
    """
    missing = room.least - len(last)
    if missing <= 0 or len(before) - missing < room.least:
        return 0
    return missing if sum(last) + sum(before[-missing:]) <= room.bytes else 0


def few(rows: int, least: int, *, under_way: bool, may_call: bool) -> Few:
    """What becomes of an arm's rows in the queue: others may join them while anything is under way."""
    if rows >= least:
        return "enough"
    if under_way:
        return "wait"
    return "live" if may_call else "refuse"


def pack(sizes: list[int], room: Room, segments: int | None = None) -> list[list[int]]:
    """The whole cut at once: indexes of the rows in each shard. Rows that are too few for one are in none."""
    shards: list[list[int]] = []
    packer = Packer(room, even(len(sizes), segments, room.least) if segments else None)
    for index, size in enumerate(sizes):
        if packer.starts_new(size) or not shards:
            shards.append([])
        shards[-1].append(index)
    if len(shards) > 1:
        before, last = shards[-2:]
        moved = len(before) - lent([sizes[row] for row in before], [sizes[row] for row in last], room)
        shards[-2:] = [before[:moved], before[moved:] + last]
    return [shard for shard in shards if len(shard) >= room.least]
