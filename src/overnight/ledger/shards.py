"""From the queue into shards."""

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple, overload

from overnight.core.money import Purse
from overnight.core.pack import even
from overnight.core.shard import Shard
from overnight.ledger.connection import Records
from overnight.ledger.open_shard import ArmPacking, OpenShard, add_rows, queued_rows
from overnight.ledger.spending import Spending
from overnight.ledger.team import Team

# Rows of a shard, or of the queue, that are read at once.
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
    """A shard's rows by line, in 12 bytes each: it may have tens of thousands."""

    def __init__(self, rows: Iterable[tuple[int, int, int]]) -> None:
        asks, tries, lengths = array("q"), array("q"), array("q")
        coming = iter(rows)
        while some := array("q", chain.from_iterable(islice(coming, _AT_ONCE))):
            for place, column in enumerate((asks, tries, lengths)):
                column.extend(some[place::3])
        self.asks, self.tries, self.lengths = narrow(asks), narrow(tries), narrow(lengths)

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


def narrow(column: "array[int]") -> "array[int]":
    """In 4 bytes each, if all of them have room there."""
    try:
        return array("i", column)
    except OverflowError:
        return column


_IN_ORDER = (
    "SELECT queue.ask, ask.arm, ask.length, queue.tries FROM queue JOIN ask ON ask.id=queue.ask ORDER BY queue.ask"
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
        open_shards: dict[int, OpenShard] = {}

        def opened(arm: int) -> OpenShard:
            how = packing[arm]
            return OpenShard(self._db, arm, how, self._segments(arm, how.segments, how.room.least), at)

        made = 0
        queue = iter(self._db.each(_URGENT if self._has_priorities() else _IN_ORDER))
        while some := list(islice(queue, _AT_ONCE)):
            coming = {arm: rows for arm, rows in queued_rows(some).items() if arm in ready}
            open_shards |= {arm: opened(arm) for arm in coming if arm not in open_shards}
            made += add_rows([(open_shards[arm], rows) for arm, rows in coming.items()], purse)
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
