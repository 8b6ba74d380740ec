"""From the queue into shards, and the attempts to send them."""

import hashlib
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from overnight.core.attempt import Attempt, AttemptEvent, Closed, Ended, Overtaken, apply
from overnight.core.errors import LedgerError
from overnight.core.money import Purse
from overnight.core.pack import Packer, Room, even
from overnight.core.shard import Shard, is_token, token_of
from overnight.ledger.bulk import Bulk
from overnight.ledger.identity import call_off
from overnight.ledger.money import release_all, reserve

_decode_event = msgspec.json.Decoder(AttemptEvent).decode
_encode = msgspec.json.encode


class Body(NamedTuple):
    """Where a shard's row finds its question."""

    line: int
    ask: int
    file: int
    offset: int
    length: int
    digest: bytes


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


def pack_queue(
    db: sqlite3.Connection, packing: Mapping[int, ArmPacking], at: float, ready: Container[int], purse: Purse
) -> int:
    """Empty the queue of the ready arms into shards, as far as the purse allows; returns how many were made."""
    last_before = db.execute("SELECT coalesce(max(id), 0) FROM shard").fetchone()[0]
    open_shards: dict[int, _OpenShard] = {}
    made = 0
    rows = db.execute(
        "SELECT queue.ask, ask.arm, ask.length, queue.tries FROM queue JOIN ask ON ask.id=queue.ask ORDER BY queue.ask"
    )
    for ask, arm, length, tries in rows:
        if arm not in ready:
            continue
        if arm not in open_shards:
            open_shards[arm] = _OpenShard(db, arm, packing[arm], _segments(db, arm, packing[arm].segments), at)
        made += open_shards[arm].add(ask, length, tries, purse)
    made += sum(shard.close() for shard in open_shards.values())
    (waiting,) = db.execute("SELECT count(*) FROM queue").fetchone()
    if sum(shard.taken for shard in open_shards.values()) == waiting:
        db.execute("DELETE FROM queue")  # nothing stays behind, which SQLite does without a look at the rows
    elif made:
        db.execute("DELETE FROM queue WHERE ask IN (SELECT ask FROM shard_row WHERE shard > ?)", (last_before,))
    return made


def _segments(db: sqlite3.Connection, arm: int, wanted: int | None) -> Iterator[int] | None:
    """The user's segments are for the first sending: a few rows asked again travel together."""
    if not wanted:
        return None
    count, tries = db.execute(
        "SELECT count(*), max(queue.tries) FROM queue JOIN ask ON ask.id=queue.ask WHERE ask.arm=?", (arm,)
    ).fetchone()
    return None if tries else even(count, wanted)


class _OpenShard:
    """An arm's shard while rows are still coming."""

    def __init__(
        self, db: sqlite3.Connection, arm: int, packing: ArmPacking, segments: Iterator[int] | None, at: float
    ) -> None:
        self._db = db
        self._arm = arm
        self._packing = packing
        self._at = at
        self._packer = Packer(packing.room, segments)
        self._rows: list[tuple[int, int]] = []
        self._bytes = 0
        self._ceiling: int | None = 0
        self.taken = 0

    def add(self, ask: int, length: int, tries: int, purse: Purse) -> int:
        """Take a row in, unless the purse is too light; returns how many shards that completed."""
        packing = self._packing
        size = length + packing.overhead
        amount = packing.ceiling(size)
        if not purse.take(packing.stage, amount, spills=packing.spills):
            return 0
        made = self.close() if self._packer.starts_new(size, int(size * packing.tokens_per_byte)) else 0
        self._rows.append((ask, tries))
        self._bytes += size
        self._ceiling = None if amount is None or self._ceiling is None else self._ceiling + amount
        return made

    def close(self) -> int:
        if not self._rows:
            return 0
        made = (self._arm, len(self._rows), self._bytes, self._at, int(self._packing.live))
        number = self._db.execute(
            "INSERT INTO shard(arm, rows, bytes, made_at, live) VALUES(?,?,?,?,?) RETURNING id", made
        ).fetchone()[0]
        rows = Bulk(self._db, "shard_row", 4)
        rows.add([value for line, row in enumerate(self._rows) for value in (number, line, *row)])
        rows.flush()
        self.taken += rows.rows
        reserve(self._db, number, self._ceiling, self._packing.tokens_per_byte)
        self._rows, self._bytes, self._ceiling = [], 0, 0
        return 1


def shard(db: sqlite3.Connection, number: int) -> Shard:
    row = db.execute("SELECT id, arm, rows, bytes, live FROM shard WHERE id=?", (number,)).fetchone()
    return Shard(id=row[0], arm=row[1], rows=row[2], bytes=row[3], live=bool(row[4]))


def waiting_shards(db: sqlite3.Connection, carried: Container[int]) -> list[Shard]:
    """Shards whose rows are still theirs and that no open attempt carries, oldest first."""
    rows = db.execute(
        "SELECT id, arm, rows, bytes, live FROM shard WHERE id NOT IN (SELECT shard FROM shard_done) ORDER BY id"
    )
    return [Shard(id=i, arm=a, rows=r, bytes=b, live=bool(v)) for i, a, r, b, v in rows if i not in carried]


def bodies(db: sqlite3.Connection, shard_number: int) -> Iterator[Body]:
    """In the order of their lines."""
    rows = db.execute(
        "SELECT shard_row.line, ask.id, ask.file, ask.offset, ask.length, ask.digest FROM shard_row "
        "JOIN ask ON ask.id=shard_row.ask WHERE shard_row.shard=? ORDER BY shard_row.line",
        (shard_number,),
    )
    return map(Body._make, rows)


def next_token(db: sqlite3.Connection, run_id: str, shard_number: int) -> tuple[int, str]:
    """The number and the name of a shard's next attempt."""
    n = int(db.execute("SELECT count(*) FROM attempt WHERE shard=?", (shard_number,)).fetchone()[0]) + 1
    stage, arm = db.execute(
        "SELECT stage.name, arm.name FROM shard JOIN arm ON arm.id=shard.arm JOIN stage ON stage.id=arm.stage "
        "WHERE shard.id=?",
        (shard_number,),
    ).fetchone()
    return n, token_of(run_id, stage, arm, shard_number, n, _content(db, shard_number))


def tokens_on_record(db: sqlite3.Connection, tokens: Iterable[str]) -> set[str]:
    """Those of these names that an attempt bears."""
    found = (db.execute("SELECT token FROM attempt WHERE token=?", (token,)).fetchone() for token in tokens)
    return {str(row[0]) for row in found if row is not None}


def batches_on_record(db: sqlite3.Connection) -> set[str]:
    """Every batch that any attempt of this run has or had."""
    rows = db.execute("SELECT json_extract(data, '$.batch_id') FROM event WHERE kind IN ('accepted', 'reopened')")
    return {str(row[0]) for row in rows}


def _content(db: sqlite3.Connection, shard_number: int) -> str:
    """The shard's questions in the order of their lines, as one digest."""
    keys = db.execute(
        "SELECT ask.key FROM shard_row JOIN ask ON ask.id=shard_row.ask WHERE shard=? ORDER BY shard_row.line",
        (shard_number,),
    )
    digest = hashlib.sha256()
    for (key,) in keys:
        digest.update(key)
    return digest.hexdigest()


def intend(
    db: sqlite3.Connection,
    shard_number: int,
    n: int,
    token: str,
    account: int,
    estimate: int,
    sha256: str,
    at: float,
) -> int:
    """TX1: the attempt is on record before the provider hears of it."""
    row = db.execute(
        "INSERT INTO attempt(shard, n, token, account, estimate, sha256, intended_at) VALUES(?,?,?,?,?,?,?) "
        "RETURNING id",
        (shard_number, n, token, account, estimate, sha256, at),
    ).fetchone()
    return int(row[0])


def adopted_attempt(
    db: sqlite3.Connection, arm: int, asks: Sequence[int], token: str, at: float, account: int = 0
) -> tuple[int, int]:
    """(shard, attempt) for questions that travelled, or travel, under somebody else's names."""
    marks = db.execute("SELECT coalesce(sum(length), 0) FROM ask WHERE id BETWEEN ? AND ?", (min(asks), max(asks)))
    shard_number = db.execute(
        "INSERT INTO shard(arm, rows, bytes, made_at) VALUES(?,?,?,?) RETURNING id",
        (arm, len(asks), marks.fetchone()[0], at),
    ).fetchone()[0]
    db.executemany(
        "INSERT INTO shard_row VALUES(?,?,?,0)", ((shard_number, line, ask) for line, ask in enumerate(asks))
    )
    attempt = intend(db, shard_number, 1, token, account, 0, "", at)
    db.execute("UPDATE attempt SET adopted=1 WHERE id=?", (attempt,))
    return shard_number, attempt


def take_queue(db: sqlite3.Connection) -> list[int]:
    """Everything that waits, taken out of the queue."""
    asks = [int(row[0]) for row in db.execute("SELECT ask FROM queue ORDER BY ask")]
    db.execute("DELETE FROM queue")
    return asks


def foreign_lines(db: sqlite3.Connection, shard_number: int) -> dict[str, int]:
    """The line of each custom id in an adopted batch: there, the ids are the items."""
    rows = db.execute(
        "SELECT slot.item, shard_row.line FROM shard_row JOIN slot ON slot.ask=shard_row.ask WHERE shard_row.shard=?",
        (shard_number,),
    )
    return {str(item): int(line) for item, line in rows}


def record(db: sqlite3.Connection, attempt: Attempt, event: AttemptEvent, at: float) -> Attempt:
    """Add one fact about an attempt; an illegal one is refused before it is written."""
    after = apply(attempt, event, at)
    note(db, at, type(event).__struct_config__.tag, _encode(event).decode(), attempt.id)  # type: ignore[arg-type]
    return after


def note(db: sqlite3.Connection, at: float, kind: str, data: str = "{}", attempt: int | None = None) -> None:
    db.execute("INSERT INTO event(at, attempt, kind, data) VALUES(?,?,?,?)", (at, attempt, kind, data))


def finish_shard(db: sqlite3.Connection, shard_number: int, at: float) -> None:
    """The shard's rows are settled or back in the queue: it is not sent again."""
    db.execute("INSERT OR IGNORE INTO shard_done VALUES(?,?)", (shard_number, at))
    release_all(db, shard_number)


def requeue_shard(db: sqlite3.Connection, shard_number: int, at: float) -> None:
    """Give every row back to the queue, to be packed anew."""
    db.execute(
        "INSERT OR IGNORE INTO queue SELECT ask, tries, 0 FROM shard_row WHERE shard=? "
        "AND ask NOT IN (SELECT ask FROM settled)",
        (shard_number,),
    )
    finish_shard(db, shard_number, at)


def end_cancelled(db: sqlite3.Connection, attempt: Attempt, event: Ended, at: float) -> Attempt:
    """The user has cancelled a batch, here or at the provider's console: its rows wait until `run` is said."""
    call_off(db, attempt.arm, f"batch {attempt.batch_id} was cancelled; `run` asks its rows again")
    return record(db, attempt, event, at)


def overtake(db: sqlite3.Connection, attempt: Attempt, at: float) -> Attempt:
    """Ask its rows elsewhere, though it may still answer some. What is set aside for it stays so until it is closed."""
    after = record(db, attempt, Overtaken(), at)
    db.execute(
        "INSERT OR IGNORE INTO queue SELECT ask, tries, 0 FROM shard_row WHERE shard=? "
        "AND ask NOT IN (SELECT ask FROM settled)",
        (attempt.shard,),
    )
    db.execute("INSERT OR IGNORE INTO shard_done VALUES(?,?)", (attempt.shard, at))
    return after


def attempts(db: sqlite3.Connection, token: str | None = None) -> list[Attempt]:
    """Every attempt as its events add up, oldest first."""
    where, values = ("WHERE attempt.token=?", (token,)) if token else ("", ())
    # Events before attempts: what is written between the two readings is then an attempt that has none yet.
    told = None if token else list(_events(db, None))
    rows = db.execute(
        "SELECT attempt.id, attempt.shard, n, shard.arm, token, account, shard.rows, shard.bytes, estimate, sha256, "
        f"intended_at, adopted, live FROM attempt JOIN shard ON shard.id=attempt.shard {where} ORDER BY attempt.id",
        values,
    )
    fields = (
        "id",
        "shard",
        "n",
        "arm",
        "token",
        "account",
        "rows",
        "bytes",
        "estimate",
        "sha256",
        "intended_at",
    )
    found = {
        row[0]: Attempt(**dict(zip(fields, row[:-2], strict=True)), adopted=bool(row[-2]), live=bool(row[-1]))
        for row in rows
    }
    for attempt in found.values():
        if not is_token(attempt.token):
            raise LedgerError(f"attempt {attempt.id} has the token {attempt.token!r}, which none of ours can be")
    for number, event, at in _events(db, list(found)) if told is None else told:
        if number not in found:
            raise LedgerError(f"an event is of attempt {number}, which is not on record")
        found[number] = apply(found[number], event, at)
    return list(found.values())


def _events(db: sqlite3.Connection, only: Sequence[int] | None) -> Iterator[tuple[int, AttemptEvent, float]]:
    query = "SELECT attempt, data, at FROM event WHERE attempt IS NOT NULL"
    if only is not None:
        query += f" AND attempt IN ({','.join(str(int(number)) for number in only)})"
    for number, data, at in db.execute(query + " ORDER BY id"):
        yield number, _decode_event(data), at


def abandon(db: sqlite3.Connection, attempt: Attempt, at: float, message: str) -> Attempt:
    """The user says that this attempt made no batch: its rows go back."""
    after = record(db, attempt, Closed("abandoned", message), at)
    requeue_shard(db, attempt.shard, at)
    return after
