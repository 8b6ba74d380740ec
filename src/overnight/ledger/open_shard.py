"""Shards while rows are still coming: the queue is gone through by columns, a few thousand rows at once."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import Any, NamedTuple, Self

import msgspec

from overnight.core.money import Purse, Wanted
from overnight.core.pack import Packer, Room, lent
from overnight.ledger.database import Database, put_columns
from overnight.ledger.spending import Spending


class ArmPacking(msgspec.Struct, frozen=True, kw_only=True):
    """How one arm is cut: the room in a shard, what a line adds to its body, tokens for each byte, and the money."""

    stage: str
    room: Room
    overhead: int
    tokens_per_byte: float = 0.0
    segments: int | None = None
    # Its rows are live calls; and only because batches would have come too late.
    live: bool = False
    spills: bool = False
    # The most that a line of so many bytes can cost, in nano-dollars; None when nobody can say.
    ceiling: Callable[[int], int | None] = lambda _: None


class QueuedRows(NamedTuple):
    """Rows of one arm in the queue, by columns: places among those read at once, questions, how often these were
    asked before, lengths of their bodies, and how urgent they are.
    """

    places: Sequence[int]
    asks: Sequence[int]
    tries: Sequence[int]
    lengths: Sequence[int]
    priorities: Sequence[float]

    def chosen(self, which: Sequence[bool]) -> "QueuedRows":
        return QueuedRows._make(list(compress(column, which)) for column in self)


def queued_rows(some: Sequence[tuple[Any, ...]]) -> dict[int, QueuedRows]:
    """By arm, from rows of (ask, arm, length, tries), and the priority where any has one."""
    asks, arms, lengths, tries, *more = zip(*some, strict=True)
    rows = QueuedRows(range(len(some)), asks, tries, lengths, more[0] if more else [0.0] * len(some))
    if arms.count(arms[0]) == len(arms):
        return {arms[0]: rows}
    return {arm: rows.chosen([one == arm for one in arms]) for arm in dict.fromkeys(arms)}


class _Held:
    """Rows that are to travel together, by columns. `sizes` are those of their lines."""

    def __init__(self) -> None:
        self.asks, self.tries, self.sizes = array("q"), array("q"), array("q")
        self.priorities = array("d")

    def __len__(self) -> int:
        return len(self.asks)

    def add(self, rows: QueuedRows, sizes: Sequence[int], begin: int, end: int) -> None:
        self.asks.extend(rows.asks[begin:end])
        self.tries.extend(rows.tries[begin:end])
        self.sizes.extend(sizes[begin:end])
        self.priorities.extend(rows.priorities[begin:end])

    def lend(self, other: Self, begin: int) -> None:
        """From `begin` on, its rows go before those of the other."""
        for name in ("asks", "tries", "sizes", "priorities"):
            own = getattr(self, name)
            setattr(other, name, own[begin:] + getattr(other, name))
            setattr(self, name, own[:begin])


class OpenShard:
    """An arm's shard while rows are still coming.

    Where a shard must not be too small, the one before it is held as well: it may have to give the last one some rows.
    """

    def __init__(self, db: Database, arm: int, packing: ArmPacking, segments: Iterator[int] | None, at: float) -> None:
        self._db = db
        self._arm = arm
        self._packing = packing
        self._at = at
        self._packer = Packer(packing.room, segments)
        self._rows = _Held()
        self._before = _Held()
        self.taken = 0

    def wanted(self, rows: QueuedRows) -> Wanted:
        packing = self._packing
        return Wanted(packing.stage, self._amounts(self._sizes(rows)), packing.spills)

    def add(self, rows: QueuedRows) -> Iterator[tuple[int, Callable[[], int]]]:
        """Take rows in. For each shard that is full: the place of the row that was too many, and what makes it."""
        density = self._packing.tokens_per_byte
        sizes = self._sizes(rows)
        cuts = self._packer.cuts(sizes, [int(size * density) for size in sizes])
        begin = 0
        for cut in cuts:
            self._rows.add(rows, sizes, begin, cut)
            yield rows.places[cut], self._full()
            begin = cut
        self._rows.add(rows, sizes, begin, len(sizes))

    def _sizes(self, rows: QueuedRows) -> list[int]:
        overhead = self._packing.overhead
        return [length + overhead for length in rows.lengths]

    def _amounts(self, sizes: Sequence[int]) -> list[int | None]:
        """The most that each line can cost; many are of one size."""
        known = {size: self._packing.ceiling(size) for size in set(sizes)}
        return [known[size] for size in sizes]

    def _full(self) -> Callable[[], int]:
        full, self._rows = self._rows, _Held()
        if self._packing.room.least > 1:
            full, self._before = self._before, full
        return lambda: self._make(full)

    def end(self) -> int:
        """Rows that are too few even so stay in the queue."""
        before, last = self._before, self._rows
        before.lend(last, len(before) - lent(before.sizes, last.sizes, self._packing.room))
        return self._make(before) + self._make(last)

    def _make(self, rows: _Held) -> int:
        count = len(rows)
        if not rows or count < self._packing.room.least:
            return 0
        made = (self._arm, count, sum(rows.sizes), self._at, int(self._packing.live), max(rows.priorities))
        number = self._db.execute(
            "INSERT INTO shard(arm, rows, bytes, made_at, live, priority) VALUES(?,?,?,?,?,?) RETURNING id", made
        ).fetchone()[0]
        columns = {"line": range(count), "ask": rows.asks, "tries": rows.tries}
        put_columns(self._db, "shard_row", {"shard": number}, columns)
        self.taken += count
        amounts = self._amounts(rows.sizes)
        known = [amount for amount in amounts if amount is not None]
        ceiling = sum(known) if len(known) == count else None
        Spending(self._db).reserve(number, ceiling, self._packing.tokens_per_byte)
        return 1


def add_rows(coming: Sequence[tuple[OpenShard, QueuedRows]], purse: Purse) -> int:
    """Take rows in as far as the purse allows; returns how many shards were made, in the order of the queue."""
    wanted = [shard.wanted(rows) for shard, rows in coming]
    if not purse.take_all(wanted):
        allowed = _allowed([rows for _, rows in coming], wanted, purse)
        coming = [(shard, rows.chosen(which)) for (shard, rows), which in zip(coming, allowed, strict=True)]
    full = sorted((one for shard, rows in coming for one in shard.add(rows)), key=lambda one: one[0])
    return sum(make() for _, make in full)


def _allowed(coming: Sequence[QueuedRows], wanted: Sequence[Wanted], purse: Purse) -> list[list[bool]]:
    """Which rows of each arm the purse has enough for: in the order of the queue, whatever arm they are of."""
    allowed = [[False] * len(rows.places) for rows in coming]
    order = sorted((place, arm, number) for arm, rows in enumerate(coming) for number, place in enumerate(rows.places))
    for _, arm, number in order:
        stage, amounts, spills = wanted[arm]
        allowed[arm][number] = purse.take(stage, amounts[number], spills=spills)
    return allowed
