"""Results on record: read once, settled once, and asked again where the user wants that."""

from array import array
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import NamedTuple
from zlib import crc32

from overnight.core.errors import FileDamaged
from overnight.core.result import was_run_unpriced
from overnight.ledger.connection import Records
from overnight.ledger.counts import Came, Counts
from overnight.ledger.database import found_among, in_rows, put_columns, tell_about
from overnight.ledger.files import FilesView
from overnight.ledger.keys import KeysView
from overnight.ledger.landed import Landed, chosen
from overnight.ledger.raw import RawFiles
from overnight.ledger.shards import ShardRows, narrow
from overnight.ledger.threads import Threads
from overnight.store.contract import Store

_ASK_AGAIN = (
    "INSERT INTO queue SELECT ?1, ?2, 0 WHERE NOT EXISTS (SELECT 1 FROM settled WHERE ask=?1) "
    "ON CONFLICT(ask) DO UPDATE SET tries=excluded.tries, follow=excluded.follow"
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
        of_arm = "FROM result JOIN attempt ON attempt.id=result.attempt JOIN shard ON shard.id=attempt.shard"
        slots = "JOIN slot ON slot.ask=result.ask AND slot.arm=shard.arm"
        # Several addresses may share a question: it was asked, and paid, once.
        first = "slot.id=(SELECT min(other.id) FROM slot AS other WHERE other.ask=ask.id AND other.arm=shard.arm)"
        each, which = (slots, f"{billed} AND {first}") if self._are_shared() else ("", billed)
        counts = self._db.execute(f"SELECT count(*) {of_arm} {each} WHERE {billed} GROUP BY shard.arm")
        every = max((-(-count // most) for (count,) in counts), default=1)
        rows = self._db.each(
            "SELECT shard.arm, slot.item, slot.turn, ask.length, result.input, coalesce(result.cached, 0), "
            f"result.output {of_arm} JOIN ask ON ask.id=result.ask {slots} WHERE {which}"
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
        if not self._are_shared():
            return {}
        query = "SELECT ask, count(*) FROM slot WHERE ask IN ({}) GROUP BY ask HAVING count(*) > 1"
        return {int(ask): int(count) for ask, count in found_among(self._db, query, asks)}

    def _are_shared(self) -> bool:
        shared = self._db.execute("SELECT value FROM fact WHERE name='shared'").fetchone()
        return shared is not None and shared[0] != "0"

    def _known_lines(self, attempt: int, lines: Collection[int]) -> set[int]:
        rows = self._db.execute(
            "SELECT line FROM result WHERE attempt=? AND line BETWEEN ? AND ?", (attempt, min(lines), max(lines))
        )
        return {int(row[0]) for row in rows}

    def unanswered_lines(self, attempt: int, rows: int) -> Sequence[int]:
        """Lines of an attempt for which no file held anything, in order and in few bytes: at first, all of them."""
        (came,) = self._db.execute("SELECT count(*) FROM result WHERE attempt=?", (attempt,)).fetchone()
        if came == rows:
            return ()
        # By the lines that the shard has: a number of rows that somebody altered may be any.
        lines = self._db.execute(
            "SELECT count(*), min(line), max(line) FROM shard_row JOIN attempt ON attempt.shard=shard_row.shard "
            "WHERE attempt.id=?",
            (attempt,),
        ).fetchone()
        if came == 0 and tuple(lines) == (rows, 0, rows - 1):
            return range(rows)
        found = self._db.each(
            "SELECT shard_row.line FROM attempt JOIN shard_row ON shard_row.shard=attempt.shard AND shard_row.line<? "
            "WHERE attempt.id=? AND NOT EXISTS (SELECT 1 FROM result WHERE result.attempt=attempt.id "
            "AND result.line=shard_row.line) ORDER BY shard_row.line",
            (rows, attempt),
        )
        return narrow(array("q", chain.from_iterable(found)))

    def read_offset(self, attempt: int, file: int) -> int:
        row = self._db.execute(
            "SELECT ingest.offset FROM ingest WHERE attempt=? AND file=?", (attempt, file)
        ).fetchone()
        return 0 if row is None else int(row[0])

    def asks_by_key(self, keys: Sequence[bytes]) -> list[int]:
        found: dict[bytes, int] = {}
        for key, ask in KeysView(self._db).asks(set(keys)):
            found[key] = min(ask, found.get(key, ask))
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

    def take_in(self, attempt: int, rows: ShardRows, landed: Landed, at: float, *, overtaken: bool = False) -> Landed:
        """Keep results, settle what is final, queue what is to be asked again. Doing it twice changes nothing.

        Returns what was not on record. `overtaken`: the rows are asked elsewhere too. An answer counts if it is the
        first; a failure decides nothing.
        """
        fresh = landed.in_order()
        self._db.execute("SAVEPOINT lines")
        try:
            came = self._keep_results(attempt, rows, fresh, at)
        except self._db.conflict:  # some were here before, which is rare enough to begin anew without them
            self._db.execute("ROLLBACK TO lines")
            known = self._known_lines(attempt, fresh.line)
            fresh = fresh.chosen([place for place, line in enumerate(fresh.line) if line not in known])
            came = self._keep_results(attempt, rows, fresh, at)
        self._db.execute("RELEASE lines")
        Counts(self._db).came(self._arm(attempt), came)
        if overtaken:
            answered = fresh.where([outcome != "failed" for outcome in fresh.outcome])
            self._settle(attempt, rows, answered)
            tell_about(self._db, "DELETE FROM queue WHERE ask IN ({})", chosen(rows.asks, answered.line))
            return fresh
        self._settle(attempt, rows, fresh.where([tries is None for tries in fresh.tries]))
        lines = zip(fresh.line, fresh.tries, strict=True)
        if again := [(rows.asks[line], tries) for line, tries in lines if tries is not None]:
            self._db.executemany(_ASK_AGAIN, again)
        return fresh

    def _settle(self, attempt: int, rows: ShardRows, final: Landed) -> None:
        """What these say is the last word on their questions, unless there is one already."""
        asks = chosen(rows.asks, final.line)
        settled = self._db.bulk("settled(attempt, ask, line)", 2, same=(attempt,), or_ignore=True)
        settled.add(in_rows((asks, final.line)))
        settled.flush()
        if settled.written < len(final):
            counts = self.settled_lines(attempt, final.line)
            final = final.chosen([place for place, line in enumerate(final.line) if line in counts])
            asks = chosen(rows.asks, final.line)
        Threads(self._db).land(asks)
        Counts(self._db).settled(self._arm(attempt), asks, list(zip(final.outcome, final.cause, strict=True)))

    def _arm(self, attempt: int) -> int:
        query = "SELECT shard.arm FROM attempt JOIN shard ON shard.id=attempt.shard WHERE attempt.id=?"
        return int(self._db.execute(query, (attempt,)).fetchone()[0])

    def _keep_results(self, attempt: int, rows: ShardRows, fresh: Landed, at: float) -> list[Came]:
        """Rows that ended alike go in together: they have most in common. Returns what each kind comes to."""
        came = []
        for (outcome, cause), alike in fresh.by_kind().items():
            same = {"attempt": attempt, "received_at": at, "outcome": outcome, "cause": cause}
            columns: dict[str, Sequence[object]] = {
                "line": alike.line,
                "ask": chosen(rows.asks, alike.line),
                "detail": alike.detail,
                "file": alike.file,
                '"offset"': alike.offset,
                "length": alike.length,
                # sqlite3 takes a bytearray as it is, but looks for a way to adapt bytes at every single one.
                "digest": [None if digest is None else bytearray(digest) for digest in alike.digest],
                "input": alike.input,
                "cached": alike.cached,
                "cache_write": alike.cache_write,
                "output": alike.output,
                "reasoning": alike.reasoning,
                "cost": alike.cost,
            }
            put_columns(self._db, "result", same, columns)
            unbilled = alike.cost.count(None) if was_run_unpriced(outcome, cause) else 0
            tokens = (sum(filter(None, column)) for column in (alike.input, alike.cached, alike.output))
            came.append(Came(outcome, cause, len(alike), unbilled, *tokens))
        return came

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
