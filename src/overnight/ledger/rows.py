"""Rows on record as tables want them: many at once, column by column, in the order of the tables."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from overnight.core.result import Result
from overnight.ledger.answers import counted
from overnight.ledger.connection import Records
from overnight.ledger.threads import Threads


class Addresses(NamedTuple):
    """Addresses with their settled results, column by column, for the tables."""

    arm: Sequence[int]
    item: Sequence[str]
    replicate: Sequence[int]
    turn: Sequence[int]
    key: Sequence[bytes]
    outcome: Sequence[str | None]
    cause: Sequence[str | None]
    file: Sequence[int | None]
    offset: Sequence[int | None]
    length: Sequence[int | None]
    digest: Sequence[bytes | None]
    cost: Sequence[int | None]


class Tries(NamedTuple):
    """Rows of attempts and what came of them so far, column by column."""

    attempt: Sequence[int]
    line: Sequence[int]
    key: Sequence[bytes]
    received_at: Sequence[float | None]
    outcome: Sequence[str | None]
    cause: Sequence[str | None]
    detail: Sequence[str | None]
    file: Sequence[int | None]
    offset: Sequence[int | None]
    used: Sequence[int]


class RawResult(msgspec.Struct, frozen=True, kw_only=True):
    """A result that has its bytes on disk."""

    attempt: int
    line: int
    arm: int
    outcome: str
    cause: str | None
    cost: int | None
    file: int
    offset: int
    length: int
    digest: bytes
    live: bool
    # Whether it is what its question was settled by.
    used: bool


class Correction(NamedTuple):
    """What a row says, and costs, to today's reader."""

    attempt: int
    line: int
    result: Result
    cost: int | None


class RowsView(Records):
    """Addresses, tries and raw lines."""

    def addresses(self, at_once: int) -> Iterator[Addresses]:
        """Every address in the order of the tables, never the order of arrival: so many at once, and whole threads."""
        rows = self._db.execute(
            "SELECT slot.arm, slot.item, slot.replicate, slot.turn, ask.key, result.outcome, result.cause, "
            "result.file, result.offset, result.length, result.digest, result.cost "
            "FROM slot JOIN arm ON arm.id=slot.arm JOIN ask ON ask.id=slot.ask "
            "LEFT JOIN settled ON settled.ask=slot.ask "
            "LEFT JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
            "ORDER BY arm.stage, arm.name, slot.item, slot.replicate, slot.turn"
        )
        turn = Addresses._fields.index("turn")
        chunk = rows.fetchmany(at_once)
        while chunk:
            after = rows.fetchone()
            while after is not None and after[turn] > 0:
                chunk.append(after)
                after = rows.fetchone()
            yield Addresses._make(zip(*chunk, strict=True))
            chunk = [] if after is None else [after, *rows.fetchmany(at_once)]

    def tries(self, at_once: int) -> Iterator[Tries]:
        """Every row of every attempt, by attempt and line, so many at once."""
        # The cross join keeps SQLite to the order in which rows are stored, so that nothing needs sorting.
        rows = self._db.execute(
            "SELECT attempt.id, shard_row.line, ask.key, result.received_at, result.outcome, result.cause, "
            "result.detail, result.file, result.offset, settled.ask IS NOT NULL "
            "FROM attempt CROSS JOIN shard_row ON shard_row.shard=attempt.shard JOIN ask ON ask.id=shard_row.ask "
            "LEFT JOIN result ON result.attempt=attempt.id AND result.line=shard_row.line "
            "LEFT JOIN settled ON settled.ask=ask.id AND settled.attempt=attempt.id AND settled.line=shard_row.line "
            "ORDER BY attempt.id, shard_row.line"
        )
        while chunk := rows.fetchmany(at_once):
            yield Tries._make(zip(*chunk, strict=True))

    def raw_results(self) -> Iterator[RawResult]:
        rows = self._db.execute(
            "SELECT result.attempt, result.line, ask.arm, outcome, cause, cost, result.file, result.offset, "
            "result.length, result.digest, shard.live, settled.ask IS NOT NULL FROM result "
            "JOIN ask ON ask.id=result.ask LEFT JOIN settled ON settled.ask=result.ask "
            "AND settled.attempt=result.attempt AND settled.line=result.line "
            "JOIN attempt ON attempt.id=result.attempt JOIN shard ON shard.id=attempt.shard "
            "WHERE result.file IS NOT NULL ORDER BY result.attempt, result.line"
        )
        for *row, live, used in rows:
            known = dict(zip(RawResult.__struct_fields__, row, strict=False))
            yield RawResult(**known, live=bool(live), used=bool(used))


class Rows(RowsView):
    """Rows that today are read otherwise."""

    def correct(self, corrections: Sequence[Correction]) -> None:
        """What today's reader makes of the same bytes."""
        self._db.executemany(
            "UPDATE result SET outcome=?, cause=?, detail=?, input=?, cached=?, cache_write=?, output=?, reasoning=?, "
            "cost=? WHERE attempt=? AND line=?",
            (
                (result.outcome, result.cause, result.detail, *counted(result.usage), price, attempt, line)
                for attempt, line, result, price in corrections
            ),
        )
        query = "SELECT ask FROM result JOIN settled USING(ask, attempt, line) WHERE attempt=? AND line=?"
        places = ((one.attempt, one.line) for one in corrections)
        Threads(self._db).land([int(row[0]) for place in places for row in self._db.execute(query, place)])


class ItemsView(Records):
    """Items as they were when they were taken in."""

    def fields(self, read: Callable[[int, int, int, bytes], bytes], stage: int, item: str) -> dict[str, Any]:
        """An item's fields as they were when the run began; nothing for an address that is not an item."""
        query = "SELECT file, offset, length, digest FROM item WHERE stage=? AND item_id=?"
        row = self._db.execute(query, (stage, item)).fetchone()
        return {} if row is None else msgspec.json.decode(read(*row))

    def of_stage(
        self, read: Callable[[int, int, int, bytes], bytes], stage: int
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """A stage's items, id and fields, in the order in which they came."""
        query = "SELECT item_id, file, offset, length, digest FROM item WHERE stage=? ORDER BY file, offset"
        rows = self._db.execute(query, (stage,))
        for name, *where in rows:
            yield name, msgspec.json.decode(read(*where))
