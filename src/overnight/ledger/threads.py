"""Landed answers that turns and later stages follow from.

`landed` holds the answers that a stage has still to look at. They are put there in the transaction that settles them,
and taken out in the one that keeps what follows from them. So what is to be done next is found without a look at what
was done before, however many rows there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from overnight.core.result import Cause, Outcome
from overnight.ledger.connection import Records
from overnight.ledger.database import found_among, tell_about
from overnight.ledger.raw import Place


class Follower(NamedTuple):
    """A stage that looks at the answers of `source`: itself, for its next turns, or a later stage.

    `every_turn`: at each settled turn; else only at the last one of a conversation that is over.
    """

    source: int
    stage: int
    every_turn: bool


class Settled(msgspec.Struct, frozen=True, gc=False):
    """Where a settled answer is, and the ledger's word for it."""

    outcome: Outcome
    cause: Cause | None
    # None where no file holds a line for it.
    place: Place | None


class LandedThread(msgspec.Struct, frozen=True, gc=False):
    """An address whose question is settled, where its item is, and its thread's turns up to this one, in order."""

    slot: int
    arm: int
    item: str
    replicate: int
    turn: int
    # None for an address that is not an item.
    item_place: Place | None
    turns: tuple[Settled, ...]


class LeftOut(NamedTuple):
    """Rows that are missing in the groups a stage was given, and rows that came when theirs had been handed on."""

    stage: str
    missing: int
    late: int


class GroupedSlot(NamedTuple):
    """An address of a group: whether it is settled, and whether its conversation ended with it.

    `marked`: the later stage has looked at it; `gone`: the group has been handed on.
    """

    item: str
    slot: int
    arm: int
    replicate: int
    settled: bool
    ended: bool
    marked: bool
    gone: bool


_TO_FOLLOWERS = (
    "INSERT INTO landed SELECT follower.stage, slot.id FROM slot JOIN arm ON arm.id=slot.arm "
    "JOIN follower ON follower.source=arm.stage AND follower.every_turn<>0 JOIN settled ON settled.ask=slot.ask "
    "WHERE {which} AND NOT EXISTS "
    "(SELECT 1 FROM passed_on WHERE passed_on.stage=follower.stage AND passed_on.slot=slot.id) ON CONFLICT DO NOTHING"
)
_ADDRESSES_OF_ASKS = _TO_FOLLOWERS.format(which="slot.ask IN ({})")
_ADDRESSES_SINCE = _TO_FOLLOWERS.format(which="slot.id>?")
_OVER = (
    "INSERT INTO landed SELECT {stage}, slot.id FROM slot WHERE slot.id IN ({these}) AND NOT EXISTS "
    "(SELECT 1 FROM passed_on WHERE passed_on.stage={stage} AND passed_on.slot=slot.id) ON CONFLICT DO NOTHING"
)
_SLOT = "last.id, last.arm, last.item, last.replicate, last.turn"
_ITEM = "item.file, item.offset, item.length, item.digest"
_RESULT = "result.outcome, result.cause, result.file, result.offset, result.length, result.digest"
# After a table `due` of addresses and their order. The cross joins keep SQLite to this order: each table is looked
# into by its key.
THREADS = (
    f"SELECT {_SLOT}, {_ITEM}, {_RESULT} FROM due CROSS JOIN slot AS last ON last.id=due.slot "
    "LEFT JOIN item ON item.stage=:source AND item.item_id=last.item "
    "CROSS JOIN slot AS turn ON turn.item=last.item AND turn.arm=last.arm AND turn.replicate=last.replicate "
    "AND turn.turn<=last.turn CROSS JOIN settled ON settled.ask=turn.ask "
    "CROSS JOIN result ON result.attempt=settled.attempt AND result.line=settled.line ORDER BY due.n, turn.turn"
)
_LANDED = "WITH due AS MATERIALIZED (SELECT slot, slot AS n FROM landed WHERE stage=:stage ORDER BY slot LIMIT :limit) "


# The slots of all groups that the first landed ones are of: whole conversations, in the order of the tables.
_GROUPED = (
    "WITH due AS MATERIALIZED (SELECT slot FROM landed WHERE stage=:stage ORDER BY slot LIMIT :limit), "
    "name AS MATERIALIZED (SELECT DISTINCT slot.item AS item FROM due CROSS JOIN slot ON slot.id=due.slot) "
    "SELECT slot.item, slot.id, slot.arm, slot.replicate, settled.ask IS NOT NULL, coalesce(own.asks, 1)=0, "
    "given.slot IS NOT NULL, item.item_id IS NOT NULL FROM name CROSS JOIN arm ON arm.stage=:source "
    "CROSS JOIN slot ON slot.arm=arm.id AND slot.item=name.item LEFT JOIN settled ON settled.ask=slot.ask "
    "LEFT JOIN passed_on AS own ON own.stage=:source AND own.slot=slot.id "
    "LEFT JOIN passed_on AS given ON given.stage=:stage AND given.slot=slot.id "
    "LEFT JOIN item ON item.stage=:stage AND item.item_id=slot.item "
    "ORDER BY slot.item, arm.name, slot.replicate, slot.turn"
)
_LAST_ABOUT = (
    "WITH due AS MATERIALIZED (SELECT slot.id AS slot, 0 AS n FROM slot CROSS JOIN arm ON arm.id=slot.arm "
    "CROSS JOIN settled ON settled.ask=slot.ask WHERE slot.item=:item AND arm.stage=:source "
    "ORDER BY arm.id, slot.replicate, slot.turn DESC LIMIT 1) "
)
_THESE = "WITH due(slot, n) AS MATERIALIZED (VALUES {}) "


class ThreadsView(Records):
    """What turns and later stages have to look at, and what they have been given."""

    def landed(self, source: int, stage: int, limit: int) -> list[LandedThread]:
        """The first answers of `source` that `stage` has to look at: their items, and where all their turns are."""
        rows = self._db.execute(_LANDED + THREADS, {"source": source, "stage": stage, "limit": limit})
        return list(threads_of(rows))

    def of_slots(self, source: int, slots: Sequence[int]) -> list[LandedThread]:
        """The threads that end with these settled addresses of `source`, in this order."""
        if not slots:
            return []
        these = _THESE.format(",".join(f"({int(slot)},{n})" for n, slot in enumerate(slots)))
        return list(threads_of(self._db.execute(these + THREADS, {"source": source})))

    def last_about(self, source: int, item: str) -> list[LandedThread]:
        """The thread about an item, up to its last settled turn; of several, the first."""
        return list(threads_of(self._db.execute(_LAST_ABOUT + THREADS, {"source": source, "item": item})))

    def grouped(self, source: int, stage: int, limit: int) -> tuple[int | None, list[GroupedSlot]]:
        """The last of the first addresses that have landed, and all addresses about the same items as these."""
        values = {"source": source, "stage": stage, "limit": limit}
        (last,) = self._db.execute(
            "SELECT max(slot) FROM (SELECT slot FROM landed WHERE stage=:stage ORDER BY slot LIMIT :limit) AS due",
            values,
        ).fetchone()
        if last is None:
            return None, []
        return int(last), [
            GroupedSlot(item, slot, arm, replicate, *map(bool, told))
            for item, slot, arm, replicate, *told in self._db.execute(_GROUPED, values)
        ]

    def is_item(self, stage: int, name: str) -> bool:
        query = "SELECT 1 FROM item WHERE stage=? AND item_id=?"
        return self._db.execute(query, (stage, name)).fetchone() is not None

    def left_out(self) -> list[LeftOut]:
        """Stages that were given groups in which rows are missing, in the study's order."""
        rows = self._db.execute(
            "SELECT stage.name, missing, late FROM left_out JOIN stage ON stage.id=left_out.stage ORDER BY stage.id"
        )
        return [LeftOut._make(row) for row in rows]

    def anything_landed(self, stage: int, outcomes: Sequence[str]) -> bool:
        """Whether a stage has yet to look at an answer with one of these outcomes."""
        marks = ",".join("?" * len(outcomes))
        row = self._db.execute(
            "SELECT 1 FROM landed JOIN slot ON slot.id=landed.slot JOIN settled ON settled.ask=slot.ask "
            "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
            f"WHERE landed.stage=? AND result.outcome IN ({marks}) LIMIT 1",
            (stage, *outcomes),
        ).fetchone()
        return row is not None

    def handed_on(self, outcomes: Sequence[str]) -> int:
        """How many settled rows with these outcomes later turns and stages have been given."""
        marks = ",".join("?" * len(outcomes))
        row = self._db.execute(
            "SELECT count(*) FROM passed_on JOIN slot ON slot.id=passed_on.slot JOIN settled ON settled.ask=slot.ask "
            "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
            f"WHERE passed_on.asks > 0 AND result.outcome IN ({marks})",
            tuple(outcomes),
        ).fetchone()
        return int(row[0])

    def handed_on_asks(self, asks: list[int]) -> int:
        """How many of these questions' answers have been given to later turns or stages."""
        query = (
            "SELECT DISTINCT slot.ask FROM passed_on JOIN slot ON slot.id=passed_on.slot "
            "WHERE passed_on.asks > 0 AND slot.ask IN ({})"
        )
        given = {ask for (ask,) in found_among(self._db, query, asks)}
        return sum(ask in given for ask in asks)

    def stage_is_quiet(self, stage: int) -> bool:
        """Whether every address of the stage is settled: nothing queued, nothing on the way."""
        if self.is_under_way(stage):
            return False
        row = self._db.execute(
            "SELECT 1 FROM slot JOIN arm ON arm.id=slot.arm LEFT JOIN settled ON settled.ask=slot.ask "
            "WHERE arm.stage=? AND settled.ask IS NULL LIMIT 1",
            (stage,),
        ).fetchone()
        return row is None

    def is_under_way(self, stage: int) -> bool:
        """Whether a shard of the stage is not done, or rows of it wait for one: told without a look at the rows.

        Where not, its rows may still share questions of another stage.
        """
        row = self._db.execute(
            "SELECT 1 FROM shard JOIN arm ON arm.id=shard.arm LEFT JOIN shard_done ON shard_done.shard=shard.id "
            "WHERE arm.stage=:stage AND shard_done.shard IS NULL UNION ALL "
            "SELECT 1 FROM queue JOIN ask ON ask.id=queue.ask JOIN arm ON arm.id=ask.arm "
            "WHERE arm.stage=:stage LIMIT 1",
            {"stage": stage},
        ).fetchone()
        return row is not None


class Threads(ThreadsView):
    """What is put before turns and later stages, and what has been passed on to them."""

    def set_followers(self, wanted: Iterable[Follower]) -> None:
        """A stage that was not there before looks at all that has landed so far."""
        rows = self._db.execute("SELECT source, stage, every_turn FROM follower")
        known = {Follower(source, stage, bool(every)) for source, stage, every in rows}
        for new in wanted:
            if new not in known:
                self._db.execute(
                    "INSERT INTO follower VALUES(?,?,?) ON CONFLICT(source, stage) "
                    "DO UPDATE SET every_turn=excluded.every_turn",
                    (new.source, new.stage, int(new.every_turn)),
                )
                self._land_all(new)

    def _land_all(self, new: Follower) -> None:
        over = "EXISTS (SELECT 1 FROM passed_on WHERE passed_on.stage=:source AND passed_on.slot=slot.id AND asks=0)"
        self._db.execute(
            "INSERT INTO landed SELECT :stage, slot.id FROM slot JOIN arm ON arm.id=slot.arm "
            f"JOIN settled ON settled.ask=slot.ask WHERE arm.stage=:source AND (:every_turn<>0 OR {over}) "
            "AND NOT EXISTS (SELECT 1 FROM passed_on WHERE passed_on.stage=:stage AND passed_on.slot=slot.id) "
            "ON CONFLICT DO NOTHING",
            {"source": new.source, "stage": new.stage, "every_turn": int(new.every_turn)},
        )

    def land(self, asks: Iterable[int]) -> None:
        """These questions have just been settled: whoever follows their stages is to look."""
        if self._db.execute("SELECT 1 FROM follower LIMIT 1").fetchone() is not None:
            tell_about(self._db, _ADDRESSES_OF_ASKS, asks)

    def land_new(self, after: int) -> None:
        """The same for addresses that came after this one and share an answer that was here before."""
        self._db.execute(_ADDRESSES_SINCE, (after,))

    def reopen(self) -> None:
        """Nothing followed from what is asked again: once it is answered, its conversation goes on."""
        again = "slot IN (SELECT id FROM slot WHERE ask IN (SELECT ask FROM queue))"
        self._db.execute(f"DELETE FROM passed_on WHERE asks=0 AND {again}")
        self._db.execute(f"DELETE FROM landed WHERE {again}")

    def looked_at(self, stage: int, last: int) -> None:
        """All that was handed out up to this address has been dealt with."""
        self._db.execute("DELETE FROM landed WHERE stage=? AND slot<=?", (stage, last))

    def pass_on(self, stage: int, slots: Iterable[tuple[int, int]]) -> None:
        """(slot, asks that followed): each is passed on to a stage once."""
        passed = self._db.bulk("passed_on", 2, same=(stage,))
        passed.add(chain.from_iterable(slots))
        passed.flush()

    def use(self, stage: int, slots: Iterable[int]) -> None:
        """These answers went with rows that a stage was given: as such they are passed on to it too."""
        self._db.executemany(
            "INSERT INTO passed_on VALUES(?,?,1) ON CONFLICT DO NOTHING", ((stage, slot) for slot in slots)
        )

    def land_again(self, follower: Follower) -> None:
        """What a stage has looked at and not taken: there may be by now what it lacked."""
        self._land_all(follower)

    def leave_out(self, stage: int, missing: int, late: int) -> None:
        """So many more rows are not in the groups that a stage was given."""
        if missing or late:
            self._db.execute(
                "INSERT INTO left_out VALUES(?,?,?) ON CONFLICT(stage) DO UPDATE SET "
                "missing=left_out.missing+excluded.missing, late=left_out.late+excluded.late",
                (stage, missing, late),
            )

    def end(self, source: int, slots: Sequence[int]) -> None:
        """Conversations that are over with these turns: later stages are to look at them."""
        later = self._db.execute("SELECT stage FROM follower WHERE source=? AND every_turn=0", (source,)).fetchall()
        for (stage,) in later:
            tell_about(self._db, _OVER.format(stage=int(stage), these="{}"), slots)


def threads_of(rows: Iterable[tuple[Any, ...]]) -> Iterator[LandedThread]:
    """What the query THREADS gives, one by one."""
    for _, together in groupby(rows, itemgetter(0)):
        turns = list(together)
        slot, arm, item, replicate, turn, *place = turns[0][:9]
        settled = tuple(Settled(row[9], row[10], None if row[11] is None else row[11:]) for row in turns)
        kept = None if place[0] is None else (place[0], place[1], place[2], place[3])
        yield LandedThread(slot, arm, item, replicate, turn, kept, settled)
