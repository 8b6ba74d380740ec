"""Answers taken over from another run's ledger, with the bytes they came in."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath

import msgspec

from overnight.core.attempt import Closed
from overnight.ledger.attempts import Attempts
from overnight.ledger.connection import Records
from overnight.ledger.counts import Counts
from overnight.ledger.database import found_among
from overnight.ledger.files import Files
from overnight.ledger.keys import KeysView
from overnight.ledger.shards import Shards
from overnight.ledger.threads import Threads
from overnight.store.contract import Writer

# Questions that are looked for at once.
_AT_ONCE = 2_000
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


class CopiesView(Records):
    """What another run may be asked for, and what it has."""

    def wanted(self) -> Iterator[tuple[int, int, bytes]]:
        """(question, arm, key) of everything in the queue."""
        return self._db.each("SELECT ask.id, ask.arm, ask.key FROM queue JOIN ask ON ask.id=queue.ask ORDER BY ask.id")

    def answered(self, wanted: Sequence[tuple[int, int, bytes]]) -> Iterator[Reusable]:
        """This run's answers to another run's questions, in their order. Failures are not taken over."""
        query = (
            "SELECT ask.key, result.outcome, result.cause, result.file, result.offset, result.length, result.digest, "
            "result.input, result.cached, result.cache_write, result.output, result.reasoning FROM ask "
            "JOIN settled ON settled.ask=ask.id "
            "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
            "WHERE result.outcome != 'failed' AND result.file IS NOT NULL AND ask.id IN ({}) ORDER BY ask.id DESC"
        )
        # Of questions that are the same, the first.
        asked = sorted((ask for _, ask in KeysView(self._db).asks({key for _, _, key in wanted})), reverse=True)
        found = {row[0]: row[1:] for row in found_among(self._db, query, asked)}
        for ask, arm, key in wanted:
            if key in found:
                outcome, cause, file, offset, length, digest, *usage = found[key]
                yield Reusable(
                    ask=ask, arm=arm, outcome=outcome, cause=cause, file=file, offset=offset, length=length,
                    digest=digest, usage=tuple(usage),
                )  # fmt: skip


def reusable(here: CopiesView, there: CopiesView) -> Iterator[Reusable]:
    """Questions in this queue that the other run has an answer to."""
    waiting = here.wanted()
    while wanted := list(islice(waiting, _AT_ONCE)):
        yield from there.answered(wanted)


class Copies(CopiesView):
    """Answers of other runs that are put on record here."""

    def take_over(self, file: Writer, copied: Sequence[tuple[Reusable, int]], source: str, at: float) -> None:
        """Settle the questions with the copied lines: one closed attempt that never travelled."""
        number = Files(self._db).keep(file.name, file.size, file.sha256)
        attempts = Attempts(self._db)
        by_arm: dict[int, list[tuple[Reusable, int]]] = {}
        for one, offset in copied:
            by_arm.setdefault(one.arm, []).append((one, offset))
        for arm, answers in by_arm.items():
            token = f"{PurePosixPath(file.name).stem}-{arm}"  # `reused-night-1`; as new as its file
            attempt = attempts.adopt(arm, [one.ask for one, _ in answers], token, at)
            self._db.executemany(
                "INSERT INTO result VALUES(?,?,?,?,?,NULL,?,?,?,?,?,?,?,?,0,?,?)",
                (
                    (
                        attempt.id,
                        line,
                        one.ask,
                        one.outcome,
                        one.cause,
                        number,
                        offset,
                        one.length,
                        *one.usage,
                        at,
                        one.digest,
                    )
                    for line, (one, offset) in enumerate(answers)
                ),
            )
            self._db.executemany(
                "INSERT INTO settled VALUES(?,?,?)",
                ((one.ask, attempt.id, line) for line, (one, _) in enumerate(answers)),
            )
            self._db.executemany("DELETE FROM queue WHERE ask=?", ((one.ask,) for one, _ in answers))
            Threads(self._db).land((one.ask for one, _ in answers))
            attempts.record(attempt, Closed("ingested", f"answers of run '{source}'"), at)
            Shards(self._db).finish(attempt.shard, at)
        Counts(self._db).recount()
        attempts.note(at, "reused", msgspec.json.encode({"from": source, "answers": len(copied)}).decode())
