"""Rows on record as tables want them: many at once, column by column, in the order of the tables."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from overnight.core.result import Result
from overnight.ledger.connection import Records
from overnight.ledger.database import Row, found_among
from overnight.ledger.landed import counted
from overnight.ledger.raw import Place
from overnight.ledger.threads import Threads


class Addresses(NamedTuple):
    """Addresses of one arm with their settled results, column by column, for the tables."""

    arm: int
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
    round: Sequence[int]


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


class Exchange(NamedTuple):
    """One question at one address as it was sent, and what settled it: where both are, and when the answer came."""

    arm: int
    replicate: int
    turn: int
    request: Place
    # None while the question is open, and where no file holds a line for it.
    answer: Place | None
    detail: str | None
    attempt: int | None
    received_at: float | None


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


_COLUMNS = (
    "SELECT slot.item, slot.replicate, slot.turn, ask.key, result.outcome, result.cause, "
    "result.file, result.offset, result.length, result.digest, result.cost, slot.round"
)
# After the addresses: what was asked, and what settled it.
_SETTLED = (
    "JOIN ask ON ask.id=slot.ask LEFT JOIN settled ON settled.ask=slot.ask "
    "LEFT JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
)
# The addresses of one arm in the order of the tables, with their settled results.
OF_ARM = f"{_COLUMNS} FROM slot {_SETTLED} WHERE slot.arm=? ORDER BY slot.item, slot.replicate, slot.turn"
# All addresses about one item: the index of addresses is by arm.
_ABOUT = f"FROM arm CROSS JOIN slot ON slot.arm=arm.id AND slot.item=? {_SETTLED}"
_LAST_CHARACTER = "\U0010ffff"
_MARKED_AT_ONCE = 5_000
# Of an item that was taken in before digests were kept.
_NO_DIGEST = bytes(16)
_IN_ORDER = "ORDER BY arm.stage, arm.name, slot.replicate, slot.turn"


class RowsView(Records):
    """Addresses, tries and raw lines."""

    def addresses(self, at_once: int) -> Iterator[Addresses]:
        """Every address in the order of the tables, never the order of arrival: so many at once, and whole threads."""
        # Arm by arm along the index of addresses: nothing is sorted, so that memory does not grow with the rows.
        for (arm,) in self._db.execute("SELECT id FROM arm ORDER BY stage, name").fetchall():
            for values in _whole_threads(self._db.each(OF_ARM, (arm,)), at_once):
                yield Addresses(arm, *_by_column(values, len(Addresses._fields) - 1))

    def of_item(self, item: str) -> list[Addresses]:
        """The addresses about one item, of all stages and arms."""
        rows = self._db.execute(f"{_COLUMNS}, slot.arm {_ABOUT} {_IN_ORDER}", (item,))
        found = []
        for arm, of_arm in groupby(rows, itemgetter(-1)):
            *columns, _ = zip(*of_arm, strict=True)
            found.append(Addresses(arm, *columns))
        return found

    def exchanges(self, item: str) -> list[Exchange]:
        """What was asked about one item, and what came: in the order of the tables."""
        rows = self._db.execute(
            "SELECT slot.arm, slot.replicate, slot.turn, ask.file, ask.offset, ask.length, ask.digest, result.file, "
            "result.offset, result.length, result.digest, result.detail, result.attempt, result.received_at "
            f"{_ABOUT} {_IN_ORDER}",
            (item,),
        )
        return [
            Exchange(
                arm=row[0],
                replicate=row[1],
                turn=row[2],
                request=(row[3], row[4], row[5], row[6]),
                answer=None if row[7] is None else (row[7], row[8], row[9], row[10]),
                detail=row[11],
                attempt=row[12],
                received_at=row[13],
            )
            for row in rows
        ]

    def names_from(self, beginning: str, most: int) -> list[str]:
        """What was asked about under a name that begins like this: so many at most, by name."""
        query = (
            "SELECT DISTINCT slot.item FROM arm CROSS JOIN slot ON slot.arm=arm.id AND slot.item>=? AND slot.item<? "
            "ORDER BY slot.item LIMIT ?"
        )
        return [row[0] for row in self._db.execute(query, (beginning, beginning + _LAST_CHARACTER, most))]

    def neighbours(self, item: str) -> tuple[str | None, str | None]:
        """The items before and after this one, by name."""
        of_arms = (
            "SELECT {one}(found) FROM "
            "(SELECT (SELECT {one}(item) FROM slot WHERE slot.arm=arm.id AND item {than} ?) AS found FROM arm) AS one"
        )
        found = [
            self._db.execute(of_arms.format(one=one, than=than), (item,)).fetchone()[0]
            for one, than in (("max", "<"), ("min", ">"))
        ]
        return found[0], found[1]

    def tries(self, at_once: int) -> Iterator[Tries]:
        """Every row of every attempt, by attempt and line, so many at once."""
        # The cross join keeps SQLite to the order in which rows are stored, so that nothing needs sorting.
        rows = self._db.each(
            "SELECT attempt.id, shard_row.line, ask.key, result.received_at, result.outcome, result.cause, "
            "result.detail, result.file, result.offset, settled.ask IS NOT NULL "
            "FROM attempt CROSS JOIN shard_row ON shard_row.shard=attempt.shard JOIN ask ON ask.id=shard_row.ask "
            "LEFT JOIN result ON result.attempt=attempt.id AND result.line=shard_row.line "
            "LEFT JOIN settled ON settled.ask=ask.id AND settled.attempt=attempt.id AND settled.line=shard_row.line "
            "ORDER BY attempt.id, shard_row.line"
        )
        while values := list(chain.from_iterable(islice(rows, at_once))):
            yield Tries._make(_by_column(values, len(Tries._fields)))

    def raw_results(self) -> Iterator[RawResult]:
        rows = self._db.each(
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


def _whole_threads(rows: Iterator[Row], at_once: int) -> Iterator[list[Any]]:
    """The values of so many rows at once, one row after another, and of what belongs to the last of them.

    Rows are not kept: thousands of them at a time are much for Python's garbage collector to look at.
    """
    turn = Addresses._fields.index("turn") - 1
    values = list(chain.from_iterable(islice(rows, at_once)))
    while values:
        after = next(rows, None)
        while after is not None and after[turn] > 0:
            values += after
            after = next(rows, None)
        yield values
        values = [] if after is None else [*after, *chain.from_iterable(islice(rows, at_once))]


def _by_column(values: list[Any], width: int) -> Iterator[list[Any]]:
    return (values[at::width] for at in range(width))


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
        query = "SELECT ask FROM result JOIN settled USING(ask, attempt, line) WHERE attempt=? AND line IN ({})"
        by_attempt: dict[int, list[int]] = {}
        for one in corrections:
            by_attempt.setdefault(one.attempt, []).append(one.line)
        found = (found_among(self._db, query, lines, attempt) for attempt, lines in by_attempt.items())
        Threads(self._db).land([int(ask) for (ask,) in chain.from_iterable(found)])


class ItemsView(Records):
    """Items as they were when they were taken in."""

    def fields(self, read: Callable[[int, int, int, bytes], bytes], stage: int, item: str) -> dict[str, Any]:
        """An item's fields as they were when the run began; nothing for an address that is not an item."""
        place = self.places(stage, [item]).get(item)
        return {} if place is None else msgspec.json.decode(read(*place))

    def places(self, stage: int, items: Iterable[str]) -> dict[str, Place]:
        """Where these items' lines are; of an address that is no item there is none."""
        query = "SELECT item_id, file, item.offset, length, digest FROM item WHERE stage=? AND item_id IN ({})"
        return {row[0]: row[1:] for row in found_among(self._db, query, items, stage)}

    def mark(self, stage: int) -> tuple[int, str]:
        """How many items a stage has, and a hash of all of them, whatever the order in which they came."""
        digest, count = sha256(), 0
        rows = self._db.each("SELECT item_id, digest FROM item WHERE stage=? ORDER BY item_id", (stage,))
        while some := list(islice(rows, _MARKED_AT_ONCE)):
            count += len(some)
            names, marks = zip(*some, strict=True)
            # No name has the character that ends each of them here, and all digests are of one length.
            digest.update("\0".join((*names, "")).encode(errors="surrogatepass"))
            digest.update(b"".join(mark or _NO_DIGEST for mark in marks))
        return count, digest.hexdigest()

    def of_stage(
        self, read: Callable[[int, int, int, bytes], bytes], stage: int
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """A stage's items, id and fields, in the order in which they came."""
        query = "SELECT item_id, file, item.offset, length, digest FROM item WHERE stage=? ORDER BY file, item.offset"
        for name, *where in self._db.each(query, (stage,)):
            yield name, msgspec.json.decode(read(*where))
