"""Results on record: read once, settled once, counted, and found again by their bytes."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from overnight.core.result import Result, Usage
from overnight.ledger.bulk import NO_COUNT, Bulk
from overnight.ledger.threads import reopen_threads


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


class ShardRow(NamedTuple):
    """One question of a shard: how often it was asked before, and the length of its body."""

    ask: int
    tries: int
    length: int


class Fate(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a row: `final` settles it, else it goes back to the queue with so many tries."""

    final: bool
    tries: int


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


_WHERE_AND_USED = "file, offset, length, digest, input, cached, cache_write, output, reasoning, cost"
_RESULT = (
    f"INSERT INTO result(attempt, line, ask, received_at, outcome, {_WHERE_AND_USED}, cause, detail) "
    "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_PLAIN_RESULT = f"result(attempt, line, ask, received_at, outcome, {_WHERE_AND_USED})"


def rows_of(db: sqlite3.Connection, shard: int) -> list[ShardRow]:
    """A shard's rows, by line."""
    rows = db.execute(
        "SELECT shard_row.ask, tries, length FROM shard_row JOIN ask ON ask.id=shard_row.ask "
        "WHERE shard=? ORDER BY line",
        (shard,),
    )
    return list(map(ShardRow._make, rows))


def take_in(
    db: sqlite3.Connection,
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
    db.execute("SAVEPOINT lines")
    try:
        _keep_results(db, attempt, rows, fresh.values(), at)
    except sqlite3.IntegrityError:  # some were here before, which is rare enough to begin anew without them
        db.execute("ROLLBACK TO lines")
        known = _known_lines(db, attempt, fresh)
        fresh = {line: pair for line, pair in fresh.items() if line not in known}
        _keep_results(db, attempt, rows, fresh.values(), at)
    db.execute("RELEASE lines")
    if overtaken:
        _settle_answers(db, attempt, rows, fresh.values())
        return list(fresh.values())
    final = Bulk(db, "settled", 3, verb="INSERT OR IGNORE")
    for line, (_, fate) in fresh.items():
        if fate.final:
            final.add((rows[line].ask, attempt, line))
    final.flush()
    db.executemany(
        "INSERT OR REPLACE INTO queue SELECT ?1, ?2, 0 WHERE ?1 NOT IN (SELECT ask FROM settled WHERE ask=?1)",
        ((rows[line].ask, fate.tries) for line, (_, fate) in fresh.items() if not fate.final),
    )
    return list(fresh.values())


def _settle_answers(
    db: sqlite3.Connection, attempt: int, rows: Sequence[ShardRow], fresh: Iterable[tuple[Landed, Fate]]
) -> None:
    answered = [(rows[one.line].ask, one.line) for one, _ in fresh if one.result.outcome != "failed"]
    db.executemany("INSERT OR IGNORE INTO settled VALUES(?,?,?)", ((ask, attempt, line) for ask, line in answered))
    db.executemany("DELETE FROM queue WHERE ask=?", ((ask,) for ask, _ in answered))


def settled_lines(db: sqlite3.Connection, attempt: int, lines: Iterable[int]) -> set[int]:
    """Those lines of an attempt whose answer is the one that counts."""
    found = (
        (line, db.execute("SELECT 1 FROM settled WHERE attempt=? AND line=?", (attempt, line)).fetchone())
        for line in lines
    )
    return {line for line, row in found if row is not None}


def answered_twice(db: sqlite3.Connection) -> int:
    """Questions that a batch answered after it had been overtaken, and that a live call answered too."""
    row = db.execute(
        "SELECT count(*) FROM result JOIN event ON event.attempt=result.attempt AND event.kind='overtaken' "
        "WHERE result.outcome<>'failed' AND EXISTS (SELECT 1 FROM result AS other JOIN attempt "
        "ON attempt.id=other.attempt JOIN shard ON shard.id=attempt.shard "
        "WHERE other.ask=result.ask AND other.outcome<>'failed' AND shard.live)"
    ).fetchone()
    return int(row[0])


def _keep_results(
    db: sqlite3.Connection, attempt: int, rows: Sequence[ShardRow], fresh: Iterable[tuple[Landed, Fate]], at: float
) -> None:
    """Nearly all rows are in a file and have neither cause nor detail: these go in by the cheapest way there is."""
    plain = Bulk(db, _PLAIN_RESULT, 15, counts=6)
    others: list[tuple[object, ...]] = []
    for one, _ in fresh:
        result = one.result
        # sqlite3 takes a bytearray as it is, but looks for a way to adapt bytes at every single one.
        digest = None if one.digest is None else bytearray(one.digest)
        head = (attempt, one.line, rows[one.line].ask, at, result.outcome, one.file, one.offset, one.length, digest)
        counts = (*_counted(result.usage), one.cost)
        if result.cause is None and result.detail is None and one.file is not None:
            plain.add((*head, *[NO_COUNT if count is None else count for count in counts]))
        else:
            others.append((*head, *counts, result.cause, result.detail))
    plain.flush()
    db.executemany(_RESULT, others)


def addresses_of(db: sqlite3.Connection, asks: Iterable[int]) -> dict[int, int]:
    """How many addresses share each of these questions, where it is more than one."""
    shared = db.execute("SELECT value FROM fact WHERE name='shared'").fetchone()
    if shared is None or shared[0] == "0":
        return {}
    found = ((ask, db.execute("SELECT count(*) FROM slot WHERE ask=?", (ask,)).fetchone()[0]) for ask in asks)
    return {ask: int(count) for ask, count in found if count > 1}


def _known_lines(db: sqlite3.Connection, attempt: int, lines: Collection[int]) -> set[int]:
    rows = db.execute(
        "SELECT line FROM result WHERE attempt=? AND line BETWEEN ? AND ?", (attempt, min(lines), max(lines))
    )
    return {int(row[0]) for row in rows}


def _counted(usage: Usage) -> tuple[int | None, ...]:
    return (usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning)


def unanswered_lines(db: sqlite3.Connection, attempt: int, rows: int) -> list[int]:
    """Lines of an attempt for which no file held anything."""
    if db.execute("SELECT count(*) FROM result WHERE attempt=?", (attempt,)).fetchone()[0] == rows:
        return []
    found = _known_lines(db, attempt, (0, rows))
    return [line for line in range(rows) if line not in found]


def read_offset(db: sqlite3.Connection, attempt: int, file: int) -> int:
    row = db.execute("SELECT offset FROM ingest WHERE attempt=? AND file=?", (attempt, file)).fetchone()
    return 0 if row is None else int(row[0])


def set_read_offset(db: sqlite3.Connection, attempt: int, file: int, offset: int) -> None:
    db.execute("INSERT OR REPLACE INTO ingest VALUES(?,?,?)", (attempt, file, offset))


def unsettle(db: sqlite3.Connection, outcomes: Sequence[str]) -> int:
    """Ask again what ended so: the old result stays on record, the row goes back to the queue."""
    marks = ",".join("?" * len(outcomes))
    chosen = (
        "SELECT settled.ask FROM settled JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
        f"WHERE result.outcome IN ({marks})"
    )
    count = db.execute(f"INSERT OR IGNORE INTO queue SELECT ask, 0, 0 FROM ({chosen})", tuple(outcomes)).rowcount
    db.execute("DELETE FROM settled WHERE ask IN (SELECT ask FROM queue)")
    reopen_threads(db)
    return int(count)


def asks_by_key(db: sqlite3.Connection, keys: Sequence[bytes]) -> list[int]:
    found = (db.execute("SELECT id FROM ask WHERE key=?", (key,)).fetchone() for key in keys)
    return [int(row[0]) for row in found if row is not None]


def settle_again(db: sqlite3.Connection, asks: Sequence[int]) -> int:
    """Put chosen questions back in the queue (their answers could not be read by the task)."""
    db.executemany("INSERT OR IGNORE INTO queue VALUES(?, 0, 0)", ((ask,) for ask in asks))
    db.executemany("DELETE FROM settled WHERE ask=?", ((ask,) for ask in asks))
    reopen_threads(db)
    return len(asks)


def outcome_counts(db: sqlite3.Connection) -> dict[tuple[int, str, str | None], int]:
    """Rows by (arm, outcome or `pending`, cause): every address is in exactly one count."""
    rows = db.execute(
        "SELECT slot.arm, coalesce(result.outcome, 'pending'), result.cause, count(*) FROM slot "
        "LEFT JOIN settled ON settled.ask=slot.ask "
        "LEFT JOIN result ON result.attempt=settled.attempt AND result.line=settled.line GROUP BY 1, 2, 3"
    )
    return {(int(arm), str(outcome), cause): int(count) for arm, outcome, cause, count in rows}


def waiting_rows(db: sqlite3.Connection) -> dict[int, tuple[int, int, bool]]:
    """The queue by arm: how many rows, the fewest tries of any, and whether all of them follow from answers."""
    rows = db.execute(
        "SELECT ask.arm, count(*), min(tries), min(follow) FROM queue JOIN ask ON ask.id=queue.ask GROUP BY ask.arm"
    )
    return {int(arm): (int(count), int(tries), bool(follow)) for arm, count, tries, follow in rows}


def addresses(db: sqlite3.Connection, at_once: int) -> Iterator[Addresses]:
    """Every address in the order of the tables, never the order of arrival: so many at once, and whole threads."""
    rows = db.execute(
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


def tries(db: sqlite3.Connection, at_once: int) -> Iterator[Tries]:
    """Every row of every attempt, by attempt and line, so many at once."""
    # The cross join keeps SQLite to the order in which rows are stored, so that nothing needs sorting.
    rows = db.execute(
        "SELECT attempt.id, shard_row.line, ask.key, result.received_at, result.outcome, result.cause, result.detail, "
        "result.file, result.offset, settled.ask IS NOT NULL "
        "FROM attempt CROSS JOIN shard_row ON shard_row.shard=attempt.shard JOIN ask ON ask.id=shard_row.ask "
        "LEFT JOIN result ON result.attempt=attempt.id AND result.line=shard_row.line "
        "LEFT JOIN settled ON settled.ask=ask.id AND settled.attempt=attempt.id AND settled.line=shard_row.line "
        "ORDER BY attempt.id, shard_row.line"
    )
    while chunk := rows.fetchmany(at_once):
        yield Tries._make(zip(*chunk, strict=True))


def paths(db: sqlite3.Connection) -> dict[int, str]:
    return {int(number): str(path) for number, path in db.execute("SELECT id, path FROM file")}


def item_fields(
    db: sqlite3.Connection, read: Callable[[int, int, int, bytes], bytes], stage: int, item: str
) -> dict[str, Any]:
    """An item's fields as they were when the run began; nothing for an address that is not an item."""
    query = "SELECT file, offset, length, digest FROM item WHERE stage=? AND item_id=?"
    row = db.execute(query, (stage, item)).fetchone()
    return {} if row is None else msgspec.json.decode(read(*row))


def stage_items(
    db: sqlite3.Connection, read: Callable[[int, int, int, bytes], bytes], stage: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A stage's items, id and fields, in the order in which they came."""
    query = "SELECT item_id, file, offset, length, digest FROM item WHERE stage=? ORDER BY file, offset"
    rows = db.execute(query, (stage,))
    for name, *where in rows:
        yield name, msgspec.json.decode(read(*where))


def asked_again(db: sqlite3.Connection) -> dict[str, int]:
    """Failed tries that were not the last word on their question, by cause."""
    rows = db.execute(
        "SELECT cause, count(*) FROM result WHERE outcome='failed' AND NOT EXISTS (SELECT 1 FROM settled "
        "WHERE settled.ask=result.ask AND settled.attempt=result.attempt AND settled.line=result.line) "
        "GROUP BY cause ORDER BY cause"
    )
    return {str(cause): int(count) for cause, count in rows}


def token_sums(db: sqlite3.Connection) -> tuple[int, int]:
    """Input and output tokens of everything that was answered, tries that failed included. A total never overflows."""
    row = db.execute("SELECT total(input), total(output) FROM result").fetchone()
    return int(row[0]), int(row[1])


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


def raw_results(db: sqlite3.Connection) -> Iterator[RawResult]:
    rows = db.execute(
        "SELECT result.attempt, result.line, ask.arm, outcome, cause, cost, result.file, result.offset, "
        "result.length, result.digest, shard.live, settled.ask IS NOT NULL FROM result JOIN ask ON ask.id=result.ask "
        "LEFT JOIN settled ON settled.ask=result.ask AND settled.attempt=result.attempt AND settled.line=result.line "
        "JOIN attempt ON attempt.id=result.attempt JOIN shard ON shard.id=attempt.shard "
        "WHERE result.file IS NOT NULL ORDER BY result.attempt, result.line"
    )
    for *row, live, used in rows:
        known = dict(zip(RawResult.__struct_fields__, row, strict=False))
        yield RawResult(**known, live=bool(live), used=bool(used))


def correct_results(db: sqlite3.Connection, corrections: Sequence[Correction]) -> None:
    """What today's reader makes of the same bytes."""
    db.executemany(
        "UPDATE result SET outcome=?, cause=?, detail=?, input=?, cached=?, cache_write=?, output=?, reasoning=?, "
        "cost=? WHERE attempt=? AND line=?",
        (
            (result.outcome, result.cause, result.detail, *_counted(result.usage), price, attempt, line)
            for attempt, line, result, price in corrections
        ),
    )


def arm_usage(db: sqlite3.Connection) -> dict[int, tuple[int, int, int, int]]:
    """By arm: rows answered or tried, and their input, cached and output tokens."""
    # Summed by attempt first: a shard's rows are all of one arm, so none of them has to be looked up.
    rows = db.execute(
        "SELECT shard.arm, sum(tries), total(told_in), total(told_cached), total(told_out) FROM (SELECT attempt, "
        "count(*) AS tries, total(input) AS told_in, total(cached) AS told_cached, "
        "total(output) AS told_out FROM result GROUP BY attempt) AS told "
        "JOIN attempt ON attempt.id=told.attempt JOIN shard ON shard.id=attempt.shard GROUP BY shard.arm"
    )
    return {
        int(arm): (count, int(told_in), int(cached), int(told_out)) for arm, count, told_in, cached, told_out in rows
    }
