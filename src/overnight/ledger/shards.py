"""From the queue into shards."""

from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, overload

import msgspec

from overnight.core.money import Purse
from overnight.core.pack import Packer, Room, even, lent
from overnight.core.shard import Shard
from overnight.ledger.connection import Records
from overnight.ledger.database import Database
from overnight.ledger.spending import Spending
from overnight.ledger.team import Team

# Rows of a shard that are read at once.
_AT_ONCE = 5_000


class Body(NamedTuple):
    """Where a shard's row finds its question."""

    line: int
    ask: int
    file: int
    offset: int
    length: int
    digest: bytes


class ShardRow(NamedTuple):
    """One question of a shard: how often it was asked before, and the length of its body."""

    ask: int
    tries: int
    length: int


class ShardRows(Sequence[ShardRow]):
    """A shard's rows by line, in 24 bytes each: many shards may come in at once, and each has tens of thousands."""

    def __init__(self, rows: Iterable[tuple[int, int, int]]) -> None:
        self.asks, self.tries, self.lengths = array("q"), array("q"), array("q")
        coming = iter(rows)
        while some := list(islice(coming, _AT_ONCE)):
            for column, values in zip((self.asks, self.tries, self.lengths), zip(*some, strict=True), strict=True):
                column.extend(values)

    def __len__(self) -> int:
        return len(self.asks)

    @overload
    def __getitem__(self, line: int) -> ShardRow: ...
    @overload
    def __getitem__(self, line: slice) -> list[ShardRow]: ...
    def __getitem__(self, line: int | slice) -> ShardRow | list[ShardRow]:
        if isinstance(line, slice):
            return [self[one] for one in range(*line.indices(len(self)))]
        return ShardRow(self.asks[line], self.tries[line], self.lengths[line])


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


_IN_ORDER = (
    "SELECT queue.ask, ask.arm, ask.length, queue.tries, 0.0 FROM queue JOIN ask ON ask.id=queue.ask ORDER BY queue.ask"
)
# A question that several items share is as urgent as the most urgent of them.
_URGENT = (
    "SELECT queue.ask, ask.arm, ask.length, queue.tries, coalesce((SELECT max(item.priority) FROM slot "
    "JOIN arm ON arm.id=slot.arm JOIN item ON item.stage=arm.stage AND item.item_id=slot.item "
    "WHERE slot.ask=queue.ask), 0.0) AS urgency FROM queue JOIN ask ON ask.id=queue.ask "
    "ORDER BY urgency DESC, queue.ask"
)


# The rows of a shard that nothing has settled, back in the queue.
REQUEUE = (
    "INSERT INTO queue SELECT ask, tries, 0 FROM shard_row WHERE shard=? "
    "AND NOT EXISTS (SELECT 1 FROM settled WHERE settled.ask=shard_row.ask)"
)


class ShardsView(Records):
    """The queue, and the shards that were cut from it."""

    def _segments(self, arm: int, wanted: int | None, least: int) -> Iterator[int] | None:
        """The user's segments are for the first sending: a few rows asked again travel together."""
        if not wanted:
            return None
        count, tries = self._db.execute(
            "SELECT count(*), max(queue.tries) FROM queue JOIN ask ON ask.id=queue.ask WHERE ask.arm=?", (arm,)
        ).fetchone()
        return None if tries else even(count, wanted, least)

    def one(self, number: int) -> Shard:
        row = self._db.execute("SELECT id, arm, rows, bytes, live FROM shard WHERE id=?", (number,)).fetchone()
        return Shard(id=row[0], arm=row[1], rows=row[2], bytes=row[3], live=bool(row[4]))

    def waiting(self, carried: Container[int]) -> list[Shard]:
        """Shards whose rows are still theirs and that no open attempt carries: most urgent first, then oldest."""
        rows = self._db.execute(
            "SELECT id, arm, rows, bytes, live FROM shard WHERE id NOT IN (SELECT shard FROM shard_done) "
            "ORDER BY priority DESC, id"
        )
        return [Shard(id=i, arm=a, rows=r, bytes=b, live=bool(v)) for i, a, r, b, v in rows if i not in carried]

    def bodies(self, shard_number: int) -> Iterator[Body]:
        """In the order of their lines."""
        rows = self._db.each(
            "SELECT shard_row.line, ask.id, ask.file, ask.offset, ask.length, ask.digest FROM shard_row "
            "JOIN ask ON ask.id=shard_row.ask WHERE shard_row.shard=? ORDER BY shard_row.line",
            (shard_number,),
        )
        return map(Body._make, rows)

    def places(self, shard_number: int) -> Iterator[tuple[int, int, int, int, bytes]]:
        """Of each line its number, and where its body is: file, offset, length, digest."""
        return self._db.each(
            "SELECT shard_row.line, ask.file, ask.offset, ask.length, ask.digest FROM shard_row "
            "JOIN ask ON ask.id=shard_row.ask WHERE shard_row.shard=? ORDER BY shard_row.line",
            (shard_number,),
        )

    def foreign_lines(self, shard_number: int) -> dict[str, int]:
        """The line of each custom id in an adopted batch: there, the ids are the items."""
        rows = self._db.execute(
            "SELECT slot.item, shard_row.line FROM shard_row JOIN slot ON slot.ask=shard_row.ask WHERE "
            "shard_row.shard=?",
            (shard_number,),
        )
        return {str(item): int(line) for item, line in rows}

    def rows(self, shard: int) -> ShardRows:
        """A shard's rows, by line."""
        return ShardRows(
            self._db.each(
                "SELECT shard_row.ask, tries, length FROM shard_row JOIN ask ON ask.id=shard_row.ask "
                "WHERE shard=? ORDER BY line",
                (shard,),
            )
        )

    def queued(self) -> dict[int, tuple[int, int, bool]]:
        """The queue by arm: how many rows, the fewest tries of any, and whether all of them follow from answers."""
        rows = self._db.execute(
            "SELECT ask.arm, count(*), min(tries), min(follow) FROM queue JOIN ask ON ask.id=queue.ask GROUP BY ask.arm"
        )
        return {int(arm): (int(count), int(tries), bool(follow)) for arm, count, tries, follow in rows}


class Shards(ShardsView):
    """What becomes of shards and of the queue."""

    def pack(self, packing: Mapping[int, ArmPacking], at: float, ready: Container[int], purse: Purse) -> int:
        """Empty the queue of the ready arms into shards, as far as the purse allows; returns how many were made."""
        last_before = self._db.execute("SELECT coalesce(max(id), 0) FROM shard").fetchone()[0]
        open_shards: dict[int, _OpenShard] = {}
        made = 0
        for ask, arm, length, tries, priority in self._db.each(_URGENT if self._has_priorities() else _IN_ORDER):
            if arm not in ready:
                continue
            if arm not in open_shards:
                how = packing[arm]
                segments = self._segments(arm, how.segments, how.room.least)
                open_shards[arm] = _OpenShard(self._db, arm, how, segments, at)
            made += open_shards[arm].add(ask, length, tries, priority, purse)
        made += sum(shard.end() for shard in open_shards.values())
        (waiting,) = self._db.execute("SELECT count(*) FROM queue").fetchone()
        if sum(shard.taken for shard in open_shards.values()) == waiting:
            self._db.execute("DELETE FROM queue")  # nothing stays behind, which SQLite does without a look at the rows
        elif made:
            self._db.execute(
                "DELETE FROM queue WHERE ask IN (SELECT ask FROM shard_row WHERE shard > ?)", (last_before,)
            )
        return made

    def _has_priorities(self) -> bool:
        return self._db.execute("SELECT 1 FROM item WHERE priority<>0 LIMIT 1").fetchone() is not None

    def take_queue(self) -> list[int]:
        """Everything that waits, taken out of the queue."""
        asks = [int(row[0]) for row in self._db.execute("SELECT ask FROM queue ORDER BY ask")]
        self._db.execute("DELETE FROM queue")
        return asks

    def finish(self, shard_number: int, at: float) -> None:
        """The shard's rows are settled or back in the queue: it is not sent again."""
        self._db.execute("INSERT INTO shard_done VALUES(?,?) ON CONFLICT DO NOTHING", (shard_number, at))
        Spending(self._db).release(shard_number)
        Team(self._db).note()

    def requeue_all(self, shards: Iterable[int], at: float) -> None:
        for shard in shards:
            self.requeue(shard, at)

    def requeue(self, shard_number: int, at: float) -> None:
        """Give every row back to the queue, to be packed anew."""
        self._db.execute(
            f"{REQUEUE} ON CONFLICT DO NOTHING",
            (shard_number,),
        )
        self.finish(shard_number, at)


class _QueuedRow(NamedTuple):
    """A question, how often it was asked before, the size of its line, how urgent it is, and the most it can cost."""

    ask: int
    tries: int
    size: int
    priority: float
    amount: int | None


class _OpenShard:
    """An arm's shard while rows are still coming.

    Where a shard must not be too small, the one before it is held as well: it may have to give the last one some rows.
    """

    def __init__(self, db: Database, arm: int, packing: ArmPacking, segments: Iterator[int] | None, at: float) -> None:
        self._db = db
        self._arm = arm
        self._packing = packing
        self._at = at
        self._packer = Packer(packing.room, segments)
        self._rows: list[_QueuedRow] = []
        self._before: list[_QueuedRow] = []
        self.taken = 0

    def add(self, ask: int, length: int, tries: int, priority: float, purse: Purse) -> int:
        """Take a row in, unless the purse is too light; returns how many shards that completed."""
        packing = self._packing
        size = length + packing.overhead
        amount = packing.ceiling(size)
        if not purse.take(packing.stage, amount, spills=packing.spills):
            return 0
        made = self._full() if self._packer.starts_new(size, int(size * packing.tokens_per_byte)) else 0
        self._rows.append(_QueuedRow(ask, tries, size, priority, amount))
        return made

    def _full(self) -> int:
        if self._packing.room.least <= 1:
            made, self._rows = self._make(self._rows), []
        else:
            made, self._before, self._rows = self._make(self._before), self._rows, []
        return made

    def end(self) -> int:
        """Rows that are too few even so stay in the queue."""
        before, last = self._before, self._rows
        moved = len(before) - lent([row.size for row in before], [row.size for row in last], self._packing.room)
        return self._make(before[:moved]) + self._make(before[moved:] + last)

    def _make(self, rows: list[_QueuedRow]) -> int:
        if not rows or len(rows) < self._packing.room.least:
            return 0
        size, urgency = sum(row.size for row in rows), max(row.priority for row in rows)
        made = (self._arm, len(rows), size, self._at, int(self._packing.live), urgency)
        number = self._db.execute(
            "INSERT INTO shard(arm, rows, bytes, made_at, live, priority) VALUES(?,?,?,?,?,?) RETURNING id", made
        ).fetchone()[0]
        lines = self._db.bulk("shard_row", 4)
        lines.add([value for line, row in enumerate(rows) for value in (number, line, row.ask, row.tries)])
        lines.flush()
        self.taken += lines.rows
        known = [row.amount for row in rows if row.amount is not None]
        ceiling = sum(known) if len(known) == len(rows) else None
        Spending(self._db).reserve(number, ceiling, self._packing.tokens_per_byte)
        return 1
