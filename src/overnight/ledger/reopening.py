"""An attempt that was given up, and of which the user says that it made a batch: its rows wait for that batch again.

Rows that were asked elsewhere meanwhile stay as they are. The batch has run them too, and its bill for them will not
be read: it is presumed.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from overnight.core.attempt import Attempt, Reopened
from overnight.core.errors import StudyError
from overnight.ledger.attempts import Attempts
from overnight.ledger.connection import Records
from overnight.ledger.counts import Counts
from overnight.ledger.spending import Spending
from overnight.ledger.threads import Threads

_ELSEWHERE = "asked elsewhere before its batch was found"


class _Row(NamedTuple):
    line: int
    ask: int
    length: int
    # Nobody else has it: it was settled by this attempt's failure, or waits in the queue.
    free: bool


class Reopening(Records):
    """Attempts whose batch was found after all."""

    def reopen(self, attempt: Attempt, batch_id: str, ceiling: Callable[[int], int | None], at: float) -> int:
        """How many rows wait for the batch from now on. `ceiling`: what a row with a body of that length costs at most.

        StudyError when there is no row that the batch could still bring.
        """
        (done,) = self._db.execute("SELECT count(*) FROM shard_done WHERE shard=?", (attempt.shard,)).fetchone()
        if not done:  # its rows are still the shard's, and nothing was decided about them
            Attempts(self._db).record(attempt, Reopened(batch_id), at)
            return attempt.rows
        rows = self._unanswered(attempt)
        free, taken = [row for row in rows if row.free], [row for row in rows if not row.free]
        if not free:
            raise StudyError(
                f"shard {attempt.shard}: all its rows are answered, or asked again elsewhere; "
                "`overnight adopt PROVIDER BATCH_ID` brings a batch's answers into a run of their own"
            )
        Attempts(self._db).record(attempt, Reopened(batch_id), at)
        self._forget_failures(attempt, rows)
        self._unsettle(free)
        self._db.execute("DELETE FROM shard_done WHERE shard=?", (attempt.shard,))
        Spending(self._db).hold_again(attempt.shard, sum(ceiling(row.length) or 0 for row in free))
        self._leave(attempt, taken, ceiling, at)
        Counts(self._db).recount()
        return len(free)

    def _unanswered(self, attempt: Attempt) -> list[_Row]:
        """The attempt's rows of which the provider has said nothing in any file."""
        rows = self._db.execute(
            "SELECT shard_row.line, shard_row.ask, ask.length, "
            "settled.ask IS NOT NULL OR shard_row.ask IN (SELECT ask FROM queue) "
            "FROM shard_row JOIN ask ON ask.id=shard_row.ask "
            "LEFT JOIN result ON result.attempt=:attempt AND result.line=shard_row.line "
            "LEFT JOIN settled ON settled.ask=shard_row.ask AND settled.attempt=:attempt "
            "AND settled.line=shard_row.line WHERE shard_row.shard=:shard "
            "AND (result.ask IS NULL OR (result.outcome='failed' AND result.file IS NULL)) ORDER BY shard_row.line",
            {"attempt": attempt.id, "shard": attempt.shard},
        )
        return [_Row(line, ask, length, bool(free)) for line, ask, length, free in rows]

    def _forget_failures(self, attempt: Attempt, rows: Iterable[_Row]) -> None:
        """What was concluded from silence, and the money with it."""
        lines = [row.line for row in rows]
        self._db.executemany("DELETE FROM result WHERE attempt=? AND line=?", ((attempt.id, line) for line in lines))
        Spending(self._db).take_back(attempt.arm, attempt.id, lines)

    def _unsettle(self, rows: Iterable[_Row]) -> None:
        """By way of the queue: what followed from their failure is open again, as after any row that is asked anew."""
        asks = [(row.ask,) for row in rows]
        self._db.executemany("INSERT INTO queue VALUES(?, 0, 0) ON CONFLICT DO NOTHING", asks)
        self._db.executemany("DELETE FROM settled WHERE ask=?", asks)
        Threads(self._db).reopen()
        self._db.executemany("DELETE FROM queue WHERE ask=?", asks)

    def _leave(
        self,
        attempt: Attempt,
        rows: Collection[_Row],
        ceiling: Callable[[int], int | None],
        at: float,
    ) -> None:
        self._db.executemany(
            "INSERT INTO result(attempt, line, ask, outcome, cause, detail, received_at) "
            "VALUES(?,?,?,'failed','gone',?,?)",
            ((attempt.id, row.line, row.ask, _ELSEWHERE, at) for row in rows),
        )
        amounts = ((row.line, ceiling(row.length)) for row in rows)
        Spending(self._db).presume(attempt.arm, attempt.id, [(line, amount) for line, amount in amounts if amount])
