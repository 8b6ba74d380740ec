"""Answers taken over from another run's ledger, with the bytes they came in."""

import sqlite3
from collections.abc import Iterator, Sequence

import msgspec

from overnight.core.attempt import Closed
from overnight.ledger.questions import register_pending, settle_pending
from overnight.ledger.shards import adopted_attempt, attempts, finish_shard, note, record
from overnight.store.local import DurableFile
from overnight.store.run_folder import RunFolder

# An attempt whose answers came from another run, and bear the custom ids that they had there.
REUSED = "reused-"


class Reusable(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits here and was answered there."""

    ask: int
    arm: int
    outcome: str
    cause: str | None
    file: int
    offset: int
    length: int
    digest: bytes
    usage: tuple[int | None, ...]


def reusable(here: sqlite3.Connection, there: sqlite3.Connection) -> Iterator[Reusable]:
    """Questions in this queue that the other run has an answer to. Failures are not taken over."""
    waiting = here.execute("SELECT ask.id, ask.arm, ask.key FROM queue JOIN ask ON ask.id=queue.ask ORDER BY ask.id")
    for ask, arm, key in waiting:
        row = there.execute(
            "SELECT result.outcome, result.cause, result.file, result.offset, result.length, result.digest, "
            "result.input, result.cached, result.cache_write, result.output, result.reasoning FROM ask "
            "JOIN settled ON settled.ask=ask.id "
            "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
            "WHERE ask.key=? AND result.outcome != 'failed' AND result.file IS NOT NULL",
            (key,),
        ).fetchone()
        if row is not None:
            outcome, cause, file, offset, length, digest, *usage = row
            yield Reusable(
                ask=ask, arm=arm, outcome=outcome, cause=cause, file=file, offset=offset, length=length,
                digest=digest, usage=tuple(usage),
            )  # fmt: skip


def take_over(
    db: sqlite3.Connection,
    folder: RunFolder,
    file: DurableFile,
    copied: Sequence[tuple[Reusable, int]],
    source: str,
    at: float,
) -> None:
    """Settle the questions with the copied lines: one closed attempt that never travelled."""
    number = register_pending(db, file, folder)
    settle_pending(db, number, file)
    by_arm: dict[int, list[tuple[Reusable, int]]] = {}
    for one, offset in copied:
        by_arm.setdefault(one.arm, []).append((one, offset))
    for arm, answers in by_arm.items():
        token = f"{REUSED}{source}-{arm}"
        shard, attempt = adopted_attempt(db, arm, [one.ask for one, _ in answers], token, at)
        db.executemany(
            "INSERT INTO result VALUES(?,?,?,?,?,NULL,?,?,?,?,?,?,?,?,0,?,?)",
            (
                (attempt, line, one.ask, one.outcome, one.cause, number, offset, one.length, *one.usage, at, one.digest)
                for line, (one, offset) in enumerate(answers)
            ),
        )
        db.executemany(
            "INSERT INTO settled VALUES(?,?,?)", ((one.ask, attempt, line) for line, (one, _) in enumerate(answers))
        )
        db.executemany("DELETE FROM queue WHERE ask=?", ((one.ask,) for one, _ in answers))
        record(db, attempts(db, token)[0], Closed("ingested", f"answers of run '{source}'"), at)
        finish_shard(db, shard, at)
    note(db, at, "reused", msgspec.json.encode({"from": source, "answers": len(copied)}).decode())
