"""Attempts to send shards: what happened to each, event by event, which is also the audit log."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from overnight.core.attempt import (
    Attempt,
    AttemptEvent,
    Calling,
    Closed,
    Ended,
    Ending,
    Intended,
    Overtaken,
    apply,
)
from overnight.core.errors import LedgerError
from overnight.core.shard import Shard, is_token, token_of
from overnight.core.wording import cancelled_words
from overnight.ledger.answers import AnswersView
from overnight.ledger.connection import Records
from overnight.ledger.database import found_among
from overnight.ledger.files import Files
from overnight.ledger.identity import Facts
from overnight.ledger.shards import REQUEUE, Shards
from overnight.store.contract import Kept

_decode_event = msgspec.json.Decoder(AttemptEvent).decode
_encode = msgspec.json.encode

# What this ledger may have sent something under.
_SENT = (
    "SELECT token FROM attempt JOIN event ON event.attempt=attempt.id "
    "WHERE event.kind IN ('creating', 'calling', 'accepted', 'reopened')"
)


class LogEntry(NamedTuple):
    """One event, and the attempt that it is of, where it is of one."""

    number: int
    at: float
    kind: str
    shard: int | None
    n: int | None
    token: str | None
    data: str


class AttemptsView(Records):
    """Attempts as their events add up."""

    def next_token(self, run_id: str, shard_number: int) -> tuple[int, str]:
        """The number and the name of a shard's next attempt."""
        n = int(self._db.execute("SELECT count(*) FROM attempt WHERE shard=?", (shard_number,)).fetchone()[0]) + 1
        stage, arm = self._db.execute(
            "SELECT stage.name, arm.name FROM shard JOIN arm ON arm.id=shard.arm JOIN stage ON stage.id=arm.stage "
            "WHERE shard.id=?",
            (shard_number,),
        ).fetchone()
        return n, token_of(run_id, stage, arm, shard_number, n, self._content(shard_number))

    def sent_tokens(self) -> set[str]:
        """The names of attempts of which something may have gone out."""
        return {str(token) for (token,) in self._db.execute(_SENT)}

    def sent_among(self, tokens: Iterable[str]) -> set[str]:
        """Those of these names under which something may have gone out."""
        return {str(token) for (token,) in found_among(self._db, f"{_SENT} AND token IN ({{}})", tokens)}

    def batches(self) -> set[str]:
        """Every batch that any attempt of this run has or had."""
        rows = self._db.execute(
            "SELECT json_extract(data, '$.batch_id') FROM event WHERE kind IN ('accepted', 'reopened')"
        )
        return {str(row[0]) for row in rows}

    def _content(self, shard_number: int) -> str:
        """The shard's questions in the order of their lines, as one digest."""
        keys = self._db.each(
            "SELECT ask.key FROM shard_row JOIN ask ON ask.id=shard_row.ask WHERE shard=? ORDER BY shard_row.line",
            (shard_number,),
        )
        digest = hashlib.sha256()
        for (key,) in keys:
            digest.update(key)
        return digest.hexdigest()

    def everything(self) -> list[Attempt]:
        """Every attempt as its events add up, oldest first."""
        return self._added_up(None)

    def named(self, token: str) -> Attempt:
        """The attempt that bears this name."""
        return self._added_up(token)[0]

    def _added_up(self, token: str | None) -> list[Attempt]:
        where, values = ("WHERE attempt.token=?", (token,)) if token else ("", ())
        # Events before attempts: what is written between the two readings is then an attempt that has none yet.
        told = None if token else list(self._events(None))
        rows = self._db.execute(
            "SELECT attempt.id, attempt.shard, n, shard.arm, token, account, shard.rows, shard.bytes, estimate, "
            "sha256, "
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
        for number, event, at in self._events(list(found)) if told is None else told:
            if number not in found:
                raise LedgerError(f"an event is of attempt {number}, which is not on record")
            found[number] = apply(found[number], event, at)
        return list(found.values())

    def _events(self, only: Sequence[int] | None) -> Iterator[tuple[int, AttemptEvent, float]]:
        query = "SELECT attempt, data, at FROM event WHERE attempt IS NOT NULL"
        if only is not None:
            query += f" AND attempt IN ({','.join(str(int(number)) for number in only) or 'NULL'})"
        for number, data, at in self._db.execute(query + " ORDER BY id"):
            yield number, _decode_event(data), at

    def announced_lines(self, attempt: int) -> int:
        row = self._db.execute("SELECT lines FROM announced WHERE attempt=?", (attempt,)).fetchone()
        return 0 if row is None else int(row[0])

    def answers_end(self, attempt: Attempt) -> int:
        """How far a slice's file of answers is on record."""
        return AnswersView(self._db).read_offset(attempt.id, attempt.files[0])

    def came_of(self, attempt: int) -> tuple[int, int]:
        """(rows of an attempt with a result, those of them that the provider has run)."""
        row = self._db.execute(
            "SELECT count(*), count(*) FILTER (WHERE outcome<>'failed' OR cause IN ('unreadable', 'content_filter') "
            "OR input IS NOT NULL) FROM result WHERE attempt=?",
            (attempt,),
        ).fetchone()
        return int(row[0]), int(row[1])

    def log(self) -> list[LogEntry]:
        """Everything that was ever noted about the run, oldest first."""
        rows = self._db.execute(
            "SELECT event.id, event.at, event.kind, attempt.shard, attempt.n, attempt.token, event.data FROM event "
            "LEFT JOIN attempt ON attempt.id=event.attempt ORDER BY event.id"
        )
        return [LogEntry._make(row) for row in rows]


class Attempts(AttemptsView):
    """What happens to attempts; an event that cannot follow is refused."""

    def intend(
        self, shard: Shard, n: int, token: str, account: int, *, estimate: int, sha256: str, at: float
    ) -> Attempt:
        """TX1: the attempt is on record before the provider hears of it."""
        self._insert((shard.id, n, token, account, estimate, sha256, at, 0))
        return self.record(self.named(token), Intended(shard.rows, sha256), at)

    def adopt(self, arm: int, asks: Sequence[int], token: str, at: float, account: int = 0) -> Attempt:
        """For questions that travelled, or travel, under somebody else's names."""
        sizes = self._db.execute(
            "SELECT coalesce(sum(length), 0) FROM ask WHERE id BETWEEN ? AND ?", (min(asks), max(asks))
        )
        (shard,) = self._db.execute(
            "INSERT INTO shard(arm, rows, bytes, made_at) VALUES(?,?,?,?) RETURNING id",
            (arm, len(asks), sizes.fetchone()[0], at),
        ).fetchone()
        lines = self._db.bulk("shard_row", 4)
        lines.add(value for line, ask in enumerate(asks) for value in (shard, line, ask, 0))
        lines.flush()
        self._insert((shard, 1, token, account, 0, "", at, 1))
        return self.named(token)

    def _insert(self, values: tuple[int, int, str, int, int, str, float, int]) -> None:
        self._db.execute(
            "INSERT INTO attempt(shard, n, token, account, estimate, sha256, intended_at, adopted) "
            "VALUES(?,?,?,?,?,?,?,?)",
            values,
        )

    def record(self, attempt: Attempt, event: AttemptEvent, at: float) -> Attempt:
        """Add one fact about an attempt; an illegal one is refused before it is written."""
        after = apply(attempt, event, at)
        self.note(at, type(event).__struct_config__.tag, _encode(event).decode(), attempt.id)  # type: ignore[arg-type]
        return after

    def note(self, at: float, kind: str, data: str = "{}", attempt: int | None = None) -> None:
        """Something for the audit log."""
        self._db.execute("INSERT INTO event(at, attempt, kind, data) VALUES(?,?,?,?)", (at, attempt, kind, data))

    def note_all(self, at: float, kind: str, data: Iterable[str]) -> None:
        for one in data:
            self.note(at, kind, one)

    def end_cancelled(self, attempt: Attempt, event: Ended, at: float) -> Attempt:
        """The user has cancelled a batch, here or at the provider's console: its rows wait until `run` is said."""
        Facts(self._db).call_off(attempt.arm, cancelled_words(attempt.batch_id))
        return self.record(attempt, event, at)

    def overtake(self, attempt: Attempt, at: float) -> Attempt:
        """Ask its rows elsewhere, though it may still answer some. What is set aside for it stays so until its end."""
        after = self.record(attempt, Overtaken(), at)
        self._db.execute(
            f"{REQUEUE} ON CONFLICT DO NOTHING",
            (attempt.shard,),
        )
        self._db.execute("INSERT INTO shard_done VALUES(?,?) ON CONFLICT DO NOTHING", (attempt.shard, at))
        return after

    def abandon(self, attempt: Attempt, at: float, message: str) -> Attempt:
        """The user says that this attempt made no batch: its rows go back."""
        after = self.record(attempt, Closed("abandoned", message), at)
        Shards(self._db).requeue(attempt.shard, at)
        return after

    def begin_calls(self, attempt: Attempt, path: str, lines: int, at: float) -> Attempt:
        """The file of answers is on record, and the first lines are announced, before any of them is asked."""
        file = Files(self._db).begin(path)
        self.announce(attempt.id, lines)
        return self.record(attempt, Calling(file), at)

    def announce(self, attempt: int, lines: int) -> None:
        """The first so many lines may be asked from now on: after a crash, each of them may have been."""
        self._db.execute(
            "INSERT INTO announced VALUES(?,?) ON CONFLICT(attempt) DO UPDATE SET lines=excluded.lines",
            (attempt, lines),
        )

    def close_calls(
        self,
        attempt: Attempt,
        file: Kept,
        how: Ending,
        at: float,
        message: str | None = None,
    ) -> Attempt:
        """The slice is over: its file is whole, and rows that it never asked go back to the queue."""
        Files(self._db).complete(attempt.files[0], *file)
        self._db.execute("DELETE FROM announced WHERE attempt=?", (attempt.id,))
        self._db.execute(
            f"{REQUEUE} AND line NOT IN (SELECT line FROM result WHERE attempt=?) ON CONFLICT DO NOTHING",
            (attempt.shard, attempt.id),
        )
        Shards(self._db).finish(attempt.shard, at)
        return self.record(attempt, Closed(how, message), at)
