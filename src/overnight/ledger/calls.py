"""Live slices on record: their segments, and how many of their lines may have been asked."""

import sqlite3

from overnight.core.attempt import Attempt, Calling, Closed, Ending
from overnight.ledger.answers import read_offset
from overnight.ledger.shards import finish_shard, record


def begin_calls(db: sqlite3.Connection, attempt: Attempt, path: str, lines: int, at: float) -> Attempt:
    """The segment is on record, and the first lines are announced, before any of them is asked."""
    db.execute("DELETE FROM file WHERE path=?", (path,))
    row = db.execute("INSERT INTO file(path, bytes, sha256) VALUES(?,0,'') RETURNING id", (path,)).fetchone()
    announce(db, attempt.id, lines)
    return record(db, attempt, Calling(int(row[0])), at)


def announce(db: sqlite3.Connection, attempt: int, lines: int) -> None:
    """The first so many lines may be asked from now on: after a crash, each of them may have been."""
    db.execute("INSERT OR REPLACE INTO announced VALUES(?,?)", (attempt, lines))


def announced_lines(db: sqlite3.Connection, attempt: int) -> int:
    row = db.execute("SELECT lines FROM announced WHERE attempt=?", (attempt,)).fetchone()
    return 0 if row is None else int(row[0])


def close_calls(
    db: sqlite3.Connection,
    attempt: Attempt,
    segment: tuple[int, str],
    how: Ending,
    at: float,
    message: str | None = None,
) -> Attempt:
    """The slice is over: its segment is whole, and rows that it never asked go back to the queue."""
    db.execute("UPDATE file SET bytes=?, sha256=? WHERE id=?", (*segment, attempt.files[0]))
    db.execute("DELETE FROM announced WHERE attempt=?", (attempt.id,))
    db.execute(
        "INSERT OR IGNORE INTO queue SELECT ask, tries, 0 FROM shard_row WHERE shard=?1 "
        "AND line NOT IN (SELECT line FROM result WHERE attempt=?2) AND ask NOT IN (SELECT ask FROM settled)",
        (attempt.shard, attempt.id),
    )
    finish_shard(db, attempt.shard, at)
    return record(db, attempt, Closed(how, message), at)


def segment_end(db: sqlite3.Connection, attempt: Attempt) -> int:
    """How far a slice's segment is on record."""
    return read_offset(db, attempt.id, attempt.files[0])
