"""Results on record: read once, settled once, and asked again where the user wants that."""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from operator import lt
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from overnight.core.errors import FileDamaged
from overnight.core.result import Outcome, Result, Usage, was_run_unpriced
from overnight.ledger.connection import Records
from overnight.ledger.counts import Came, Counts
from overnight.ledger.database import found_among, put_columns, tell_about
from overnight.ledger.files import FilesView
from overnight.ledger.raw import RawFiles
from overnight.ledger.shards import ShardRows
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


_RESULT = (
    'INSERT INTO result(attempt, line, ask, received_at, outcome, file, "offset", length, digest, input, cached, '
    "cache_write, output, reasoning, cost, cause, detail) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)


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
        # Several addresses may share a question: it was asked, and paid, once.
        first = "slot.id=(SELECT min(other.id) FROM slot AS other WHERE other.ask=ask.id AND other.arm=shard.arm)"
        rows = self._db.each(
            "SELECT shard.arm, slot.item, slot.turn, ask.length, result.input, coalesce(result.cached, 0), "
            f"result.output {of_arm} AND {first}"
        )
        found: dict[int, list[Sized]] = {}
        for arm, item, *row in rows:
            origin = origin_of(item)
            if crc32(origin.encode()) % every == 0:
                found.setdefault(arm, []).append(Sized(origin, *row))
        return found

    def settled_lines(self, attempt: int, lines: Iterable[int]) -> set[int]:
        """Those lines of an attempt whose answer is the one that counts."""
        query = (
            "SELECT result.line FROM result JOIN settled ON settled.ask=result.ask AND settled.attempt=result.attempt "
            "AND settled.line=result.line WHERE result.attempt=? AND result.line IN ({})"
        )
        return {int(line) for (line,) in found_among(self._db, query, lines, attempt)}

    def sharing(self, asks: Iterable[int]) -> dict[int, int]:
        """How many addresses share each of these questions, where it is more than one."""
        shared = self._db.execute("SELECT value FROM fact WHERE name='shared'").fetchone()
        if shared is None or shared[0] == "0":
            return {}
        query = "SELECT ask, count(*) FROM slot WHERE ask IN ({}) GROUP BY ask HAVING count(*) > 1"
        return {int(ask): int(count) for ask, count in found_among(self._db, query, asks)}

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
        row = self._db.execute(
            "SELECT ingest.offset FROM ingest WHERE attempt=? AND file=?", (attempt, file)
        ).fetchone()
        return 0 if row is None else int(row[0])

    def asks_by_key(self, keys: Sequence[bytes]) -> list[int]:
        rows = found_among(self._db, "SELECT key, min(id) FROM ask WHERE key IN ({}) GROUP BY key", set(keys))
        found = {bytes(key): int(number) for key, number in rows}
        return [found[key] for key in keys if key in found]

    def damaged(self, files: Store) -> list[int]:
        """Settled questions whose raw lines are not those on record."""
        rows = self._db.each(
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
        rows: ShardRows,
        landed: Sequence[tuple[Landed, Fate]],
        at: float,
        *,
        overtaken: bool = False,
    ) -> list[tuple[Landed, Fate]]:
        """Keep results, settle what is final, queue what is to be asked again. Doing it twice changes nothing.

        `overtaken`: the rows are asked elsewhere too. An answer counts if it is the first; a failure decides nothing.
        """
        fresh = _in_order(landed)
        self._db.execute("SAVEPOINT lines")
        try:
            came = self._keep_results(attempt, rows, fresh, at)
        except self._db.conflict:  # some were here before, which is rare enough to begin anew without them
            self._db.execute("ROLLBACK TO lines")
            known = self._known_lines(attempt, [one.line for one, _ in fresh])
            fresh = [pair for pair in fresh if pair[0].line not in known]
            came = self._keep_results(attempt, rows, fresh, at)
        self._db.execute("RELEASE lines")
        Counts(self._db).came(self._arm(attempt), came)
        if overtaken:
            answered = [one for one, _ in fresh if one.result.outcome != "failed"]
            self._settle(attempt, rows, answered)
            tell_about(self._db, "DELETE FROM queue WHERE ask IN ({})", (rows.asks[one.line] for one in answered))
            return fresh
        self._settle(attempt, rows, [one for one, fate in fresh if fate.final])
        self._db.executemany(
            "INSERT INTO queue SELECT ?1, ?2, 0 WHERE NOT EXISTS (SELECT 1 FROM settled WHERE ask=?1) "
            "ON CONFLICT(ask) DO UPDATE SET tries=excluded.tries, follow=excluded.follow",
            ((rows.asks[one.line], fate.tries) for one, fate in fresh if not fate.final),
        )
        return fresh

    def _settle(self, attempt: int, rows: ShardRows, final: Sequence[Landed]) -> None:
        """What these say is the last word on their questions, unless there is one already."""
        lines = [one.line for one in final]
        asks = [rows.asks[line] for line in lines]
        settled = self._db.bulk("settled(attempt, ask, line)", 2, same=(attempt,), or_ignore=True)
        settled.add(chain.from_iterable(zip(asks, lines, strict=True)))
        settled.flush()
        if settled.written < len(final):
            counts = self.settled_lines(attempt, lines)
            final = [one for one in final if one.line in counts]
            asks = [rows.asks[one.line] for one in final]
        Threads(self._db).land(asks)
        Counts(self._db).settled(self._arm(attempt), asks, [one.result for one in final])

    def _arm(self, attempt: int) -> int:
        query = "SELECT shard.arm FROM attempt JOIN shard ON shard.id=attempt.shard WHERE attempt.id=?"
        return int(self._db.execute(query, (attempt,)).fetchone()[0])

    def _keep_results(
        self, attempt: int, rows: ShardRows, fresh: Iterable[tuple[Landed, Fate]], at: float
    ) -> list[Came]:
        """Nearly all rows are in a file and have neither cause nor detail: these go in by the cheapest way there is.

        Returns what they come to.
        """
        plain: dict[tuple[Outcome, int], list[Landed]] = {}
        others: list[Landed] = []
        for one, _ in fresh:
            result, file = one.result, one.file
            if file is not None and result.cause is None and result.detail is None and one.digest is not None:
                alike = plain.get((result.outcome, file))
                if alike is None:
                    alike = plain[result.outcome, file] = []
                alike.append(one)
            else:
                others.append(one)
        came = []
        for (outcome, file), alike in plain.items():
            columns = _columns(rows, alike)
            same = {"attempt": attempt, "received_at": at, "outcome": outcome, "file": file}
            put_columns(self._db, "result", same, columns)
            sums = [sum(filter(None, columns[name])) for name in ("input", "cached", "output")]
            unbilled = columns["cost"].count(None) if was_run_unpriced(alike[0].result) else 0
            came.append(Came(outcome, None, len(alike), unbilled, *sums))
        self._db.executemany(_RESULT, (_values(attempt, rows.asks[one.line], one, at) for one in others))
        return came + [_one_came(one) for one in others]

    def set_read_offset(self, attempt: int, file: int, offset: int) -> None:
        self._db.execute(
            'INSERT INTO ingest VALUES(?,?,?) ON CONFLICT(attempt, file) DO UPDATE SET "offset"=excluded.offset',
            (attempt, file, offset),
        )

    def unsettle(self, outcomes: Sequence[str]) -> int:
        """Ask again what ended so: the old result stays on record, the row goes back to the queue."""
        marks = ",".join("?" * len(outcomes))
        chosen = (
            "SELECT settled.ask FROM settled JOIN result ON result.attempt=settled.attempt "
            f"AND result.line=settled.line WHERE result.outcome IN ({marks})"
        )
        count = self._db.execute(
            f"INSERT INTO queue SELECT ask, 0, 0 FROM ({chosen}) AS again WHERE 1=1 ON CONFLICT DO NOTHING",
            tuple(outcomes),
        ).rowcount
        self._db.execute("DELETE FROM settled WHERE ask IN (SELECT ask FROM queue)")
        Threads(self._db).reopen()
        Counts(self._db).recount()
        return int(count)

    def ask_again(self, asks: Sequence[int]) -> int:
        """Put chosen questions back in the queue (their answers could not be read by the task)."""
        self._db.executemany("INSERT INTO queue VALUES(?, 0, 0) ON CONFLICT DO NOTHING", ((ask,) for ask in asks))
        tell_about(self._db, "DELETE FROM settled WHERE ask IN ({})", asks)
        Threads(self._db).reopen()
        Counts(self._db).recount()
        return len(asks)


def _in_order(landed: Sequence[tuple[Landed, Fate]]) -> list[tuple[Landed, Fate]]:
    """By line: neighbours go into the same pages of the ledger. Of a line that came twice, the first counts."""
    lines = [one.line for one, _ in landed]
    if all(map(lt, lines, lines[1:])):
        return list(landed)
    if len(set(lines)) < len(lines):
        landed = list({pair[0].line: pair for pair in reversed(landed)}.values())
        lines = [one.line for one, _ in landed]
    return [landed[place] for place in sorted(range(len(lines)), key=lines.__getitem__)]


def _values(attempt: int, ask: int, one: Landed, at: float) -> tuple[object, ...]:
    """Of one result, in the order in which it is put on record."""
    result = one.result
    place = (one.file, one.offset, one.length, one.digest)
    counts = (*counted(result.usage), one.cost)
    return (attempt, one.line, ask, at, result.outcome, *place, *counts, result.cause, result.detail)


def _one_came(one: Landed) -> Came:
    result, usage = one.result, one.result.usage
    unbilled = one.cost is None and was_run_unpriced(result)
    return Came(result.outcome, result.cause, 1, int(unbilled), usage.input or 0, usage.cached or 0, usage.output or 0)


def _columns(rows: ShardRows, landed: Sequence[Landed]) -> dict[str, list[Any]]:
    """What differs from row to row of results that are in a file."""
    lines = [one.line for one in landed]
    usages = [one.result.usage for one in landed]
    return {
        "line": lines,
        "ask": [rows.asks[line] for line in lines],
        '"offset"': [one.offset for one in landed],
        "length": [one.length for one in landed],
        # sqlite3 takes a bytearray as it is, but looks for a way to adapt bytes at every single one.
        "digest": [bytearray(one.digest or b"") for one in landed],
        "input": [usage.input for usage in usages],
        "cached": [usage.cached for usage in usages],
        "cache_write": [usage.cache_write for usage in usages],
        "output": [usage.output for usage in usages],
        "reasoning": [usage.reasoning for usage in usages],
        "cost": [one.cost for one in landed],
    }


def counted(usage: Usage) -> tuple[int | None, ...]:
    return (usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning)
