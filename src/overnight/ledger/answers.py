"""Results on record: read once, settled once, and asked again where the user wants that."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple
from zlib import crc32

import msgspec

from overnight.core.errors import FileDamaged
from overnight.core.result import Result, Usage
from overnight.ledger.bulk_insert import NO_COUNT, BulkInsert
from overnight.ledger.connection import Records
from overnight.ledger.counts import Counts
from overnight.ledger.files import FilesView
from overnight.ledger.raw import RawFiles
from overnight.ledger.shards import ShardRow
from overnight.ledger.threads import Threads
from overnight.store.contract import Store


class Landed(msgspec.Struct, frozen=True, gc=False):
    """One row's result and where its raw bytes are; no file for a row that is in none."""

    line: int
    result: Result
    file: int | None = None
    offset: int | None = None
    length: int | None = None
    digest: bytes | None = None
    # What the row cost, in nano-dollars; None where nobody can say.
    cost: int | None = None


class Fate(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a row: `final` settles it, else it goes back to the queue with so many tries."""

    final: bool
    tries: int


_WHERE_AND_USED = "file, offset, length, digest, input, cached, cache_write, output, reasoning, cost"
_RESULT = (
    f"INSERT INTO result(attempt, line, ask, received_at, outcome, {_WHERE_AND_USED}, cause, detail) "
    "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_PLAIN_RESULT = f"result(attempt, line, ask, received_at, outcome, {_WHERE_AND_USED})"


class Sized(NamedTuple):
    """A row that was billed: its item and turn, the bytes of its request, and the tokens in, of a cache, and out."""

    item: str
    turn: int
    bytes: int
    input: int
    cached: int
    output: int


def origin_of(item: str) -> str:
    """What a row of a later stage goes back to: its id begins with that of its item."""
    return item.partition("@")[0]


class AnswersView(Records):
    """What came of each question."""

    def sizes(self, most: int) -> dict[int, list[Sized]]:
        """By arm: rows that were billed, of the same items in every arm, and about `most` of an arm where it has more.

        An item of a later stage counts as the one that it goes back to.
        """
        billed = "result.outcome<>'failed' AND result.input IS NOT NULL AND result.output IS NOT NULL"
        of_arm = (
            "FROM shard JOIN attempt ON attempt.shard=shard.id JOIN result ON result.attempt=attempt.id "
            f"JOIN ask ON ask.id=result.ask JOIN slot ON slot.ask=ask.id AND slot.arm=shard.arm WHERE {billed}"
        )
        counts = self._db.execute(f"SELECT count(*) {of_arm} GROUP BY shard.arm")
        every = max((-(-count // most) for (count,) in counts), default=1)
        self._db.create_function("origin", 1, origin_of, deterministic=True)
        self._db.create_function("drawn", 1, lambda item: crc32(origin_of(item).encode()) % every == 0)
        found: dict[int, list[Sized]] = {}
        for arm, *row in self._db.execute(
            "SELECT shard.arm, origin(slot.item), slot.turn, ask.length, result.input, coalesce(result.cached, 0), "
            # Several addresses may share a question: it was asked, and paid, once.
            f"result.output {of_arm} AND drawn(slot.item) GROUP BY result.attempt, result.line HAVING min(slot.id)"
        ):
            found.setdefault(arm, []).append(Sized._make(row))
        return found

    def settled_lines(self, attempt: int, lines: Iterable[int]) -> set[int]:
        """Those lines of an attempt whose answer is the one that counts."""
        query = (
            "SELECT 1 FROM result JOIN settled ON settled.ask=result.ask AND settled.attempt=result.attempt "
            "AND settled.line=result.line WHERE result.attempt=? AND result.line=?"
        )
        found = ((line, self._db.execute(query, (attempt, line)).fetchone()) for line in lines)
        return {line for line, row in found if row is not None}

    def sharing(self, asks: Iterable[int]) -> dict[int, int]:
        """How many addresses share each of these questions, where it is more than one."""
        shared = self._db.execute("SELECT value FROM fact WHERE name='shared'").fetchone()
        if shared is None or shared[0] == "0":
            return {}
        found = ((ask, self._db.execute("SELECT count(*) FROM slot WHERE ask=?", (ask,)).fetchone()[0]) for ask in asks)
        return {ask: int(count) for ask, count in found if count > 1}

    def _known_lines(self, attempt: int, lines: Collection[int]) -> set[int]:
        rows = self._db.execute(
            "SELECT line FROM result WHERE attempt=? AND line BETWEEN ? AND ?", (attempt, min(lines), max(lines))
        )
        return {int(row[0]) for row in rows}

    def unanswered_lines(self, attempt: int, rows: int) -> list[int]:
        """Lines of an attempt for which no file held anything."""
        if self._db.execute("SELECT count(*) FROM result WHERE attempt=?", (attempt,)).fetchone()[0] == rows:
            return []
        # By the lines that the shard has: a number of rows that somebody altered may be any.
        found = self._db.execute(
            "SELECT shard_row.line FROM attempt JOIN shard_row ON shard_row.shard=attempt.shard AND shard_row.line<? "
            "WHERE attempt.id=? AND NOT EXISTS (SELECT 1 FROM result WHERE result.attempt=attempt.id "
            "AND result.line=shard_row.line) ORDER BY shard_row.line",
            (rows, attempt),
        )
        return [int(line) for (line,) in found]

    def read_offset(self, attempt: int, file: int) -> int:
        row = self._db.execute("SELECT offset FROM ingest WHERE attempt=? AND file=?", (attempt, file)).fetchone()
        return 0 if row is None else int(row[0])

    def asks_by_key(self, keys: Sequence[bytes]) -> list[int]:
        found = (self._db.execute("SELECT id FROM ask WHERE key=?", (key,)).fetchone() for key in keys)
        return [int(row[0]) for row in found if row is not None]

    def damaged(self, files: Store) -> list[int]:
        """Settled questions whose raw lines are not those on record."""
        rows = self._db.execute(
            "SELECT settled.ask, result.file, result.offset, result.length, result.digest FROM settled "
            "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
            "WHERE result.file IS NOT NULL ORDER BY result.file, result.offset"
        )
        found = []
        with RawFiles(files, FilesView(self._db).paths()) as raw:
            for ask, *place in rows:
                try:
                    raw.read(*place)
                except FileDamaged:
                    found.append(int(ask))
        return found


class Answers(AnswersView):
    """Answers that come, count, and stop counting."""

    def take_in(
        self,
        attempt: int,
        rows: Sequence[ShardRow],
        landed: Sequence[tuple[Landed, Fate]],
        at: float,
        *,
        overtaken: bool = False,
    ) -> list[tuple[Landed, Fate]]:
        """Keep results, settle what is final, queue what is to be asked again. Doing it twice changes nothing.

        `overtaken`: the rows are asked elsewhere too. An answer counts if it is the first; a failure decides nothing.
        """
        # Of a line that came twice, the first counts. In order, neighbours go into the same pages of the ledger.
        fresh = dict(sorted({pair[0].line: pair for pair in reversed(landed)}.items(), key=itemgetter(0)))
        self._db.execute("SAVEPOINT lines")
        try:
            self._keep_results(attempt, rows, fresh.values(), at)
        except sqlite3.IntegrityError:  # some were here before, which is rare enough to begin anew without them
            self._db.execute("ROLLBACK TO lines")
            known = self._known_lines(attempt, fresh)
            fresh = {line: pair for line, pair in fresh.items() if line not in known}
            self._keep_results(attempt, rows, fresh.values(), at)
        self._db.execute("RELEASE lines")
        Counts(self._db).came(self._arm(attempt), ((one.result, one.cost) for one, _ in fresh.values()))
        if overtaken:
            answered = [one for one, _ in fresh.values() if one.result.outcome != "failed"]
            self._settle(attempt, rows, answered)
            self._db.executemany("DELETE FROM queue WHERE ask=?", ((rows[one.line].ask,) for one in answered))
            return list(fresh.values())
        self._settle(attempt, rows, [one for one, fate in fresh.values() if fate.final])
        self._db.executemany(
            "INSERT OR REPLACE INTO queue SELECT ?1, ?2, 0 WHERE ?1 NOT IN (SELECT ask FROM settled WHERE ask=?1)",
            ((rows[line].ask, fate.tries) for line, (_, fate) in fresh.items() if not fate.final),
        )
        return list(fresh.values())

    def _settle(self, attempt: int, rows: Sequence[ShardRow], final: Sequence[Landed]) -> None:
        """What these say is the last word on their questions, unless there is one already."""
        before = self._db.total_changes
        settled = BulkInsert(self._db, "settled", 3, verb="INSERT OR IGNORE")
        for one in final:
            settled.add((rows[one.line].ask, attempt, one.line))
        settled.flush()
        if self._db.total_changes - before < len(final):
            counts = self.settled_lines(attempt, [one.line for one in final])
            final = [one for one in final if one.line in counts]
        Threads(self._db).land(rows[one.line].ask for one in final)
        Counts(self._db).settled(self._arm(attempt), [(rows[one.line].ask, one.result) for one in final])

    def _arm(self, attempt: int) -> int:
        query = "SELECT shard.arm FROM attempt JOIN shard ON shard.id=attempt.shard WHERE attempt.id=?"
        return int(self._db.execute(query, (attempt,)).fetchone()[0])

    def _keep_results(
        self, attempt: int, rows: Sequence[ShardRow], fresh: Iterable[tuple[Landed, Fate]], at: float
    ) -> None:
        """Nearly all rows are in a file and have neither cause nor detail: these go in by the cheapest way there is."""
        plain = BulkInsert(self._db, _PLAIN_RESULT, 15, counts=6)
        others: list[tuple[object, ...]] = []
        for one, _ in fresh:
            result = one.result
            # sqlite3 takes a bytearray as it is, but looks for a way to adapt bytes at every single one.
            digest = None if one.digest is None else bytearray(one.digest)
            head = (attempt, one.line, rows[one.line].ask, at, result.outcome, one.file, one.offset, one.length, digest)
            counts = (*counted(result.usage), one.cost)
            if result.cause is None and result.detail is None and one.file is not None:
                plain.add((*head, *[NO_COUNT if count is None else count for count in counts]))
            else:
                others.append((*head, *counts, result.cause, result.detail))
        plain.flush()
        self._db.executemany(_RESULT, others)

    def set_read_offset(self, attempt: int, file: int, offset: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO ingest VALUES(?,?,?)", (attempt, file, offset))

    def unsettle(self, outcomes: Sequence[str]) -> int:
        """Ask again what ended so: the old result stays on record, the row goes back to the queue."""
        marks = ",".join("?" * len(outcomes))
        chosen = (
            "SELECT settled.ask FROM settled JOIN result ON result.attempt=settled.attempt "
            f"AND result.line=settled.line WHERE result.outcome IN ({marks})"
        )
        count = self._db.execute(
            f"INSERT OR IGNORE INTO queue SELECT ask, 0, 0 FROM ({chosen})", tuple(outcomes)
        ).rowcount
        self._db.execute("DELETE FROM settled WHERE ask IN (SELECT ask FROM queue)")
        Threads(self._db).reopen()
        Counts(self._db).recount()
        return int(count)

    def ask_again(self, asks: Sequence[int]) -> int:
        """Put chosen questions back in the queue (their answers could not be read by the task)."""
        self._db.executemany("INSERT OR IGNORE INTO queue VALUES(?, 0, 0)", ((ask,) for ask in asks))
        self._db.executemany("DELETE FROM settled WHERE ask=?", ((ask,) for ask in asks))
        Threads(self._db).reopen()
        Counts(self._db).recount()
        return len(asks)


def counted(usage: Usage) -> tuple[int | None, ...]:
    return (usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning)
