"""Counts for people: rows by outcome, tries, tokens."""

from overnight.core.result import UNBILLED
from overnight.ledger.connection import Records


class CountsView(Records):
    """What a run comes to so far."""

    def answered_twice(self) -> int:
        """Questions that a batch answered after it had been overtaken, and that a live call answered too."""
        row = self._db.execute(
            "SELECT count(*) FROM result JOIN event ON event.attempt=result.attempt AND event.kind='overtaken' "
            "WHERE result.outcome<>'failed' AND EXISTS (SELECT 1 FROM result AS other JOIN attempt "
            "ON attempt.id=other.attempt JOIN shard ON shard.id=attempt.shard "
            "WHERE other.ask=result.ask AND other.outcome<>'failed' AND shard.live)"
        ).fetchone()
        return int(row[0])

    def outcomes(self) -> dict[tuple[int, str, str | None], int]:
        """Rows by (arm, outcome or `pending`, cause): every address is in exactly one count."""
        rows = self._db.execute(
            "SELECT slot.arm, coalesce(result.outcome, 'pending'), result.cause, count(*) FROM slot "
            "LEFT JOIN settled ON settled.ask=slot.ask "
            "LEFT JOIN result ON result.attempt=settled.attempt AND result.line=settled.line GROUP BY 1, 2, 3"
        )
        return {(int(arm), str(outcome), cause): int(count) for arm, outcome, cause, count in rows}

    def asked_again(self) -> dict[str, int]:
        """Failed tries that were not the last word on their question, by cause."""
        rows = self._db.execute(
            "SELECT cause, count(*) FROM result WHERE outcome='failed' AND NOT EXISTS (SELECT 1 FROM settled "
            "WHERE settled.ask=result.ask AND settled.attempt=result.attempt AND settled.line=result.line) "
            "GROUP BY cause ORDER BY cause"
        )
        return {str(cause): int(count) for cause, count in rows}

    def tokens(self) -> tuple[int, int]:
        """Input and output tokens of everything that was answered, tries that failed included."""
        row = self._db.execute("SELECT total(input), total(output) FROM result").fetchone()
        return int(row[0]), int(row[1])

    def usage(self) -> dict[int, tuple[int, int, int, int]]:
        """By arm: rows answered or tried, and their input, cached and output tokens."""
        # Summed by attempt first: a shard's rows are all of one arm, so none of them has to be looked up.
        rows = self._db.execute(
            "SELECT shard.arm, sum(tries), total(told_in), total(told_cached), total(told_out) FROM (SELECT attempt, "
            "count(*) AS tries, total(input) AS told_in, total(cached) AS told_cached, "
            "total(output) AS told_out FROM result GROUP BY attempt) AS told "
            "JOIN attempt ON attempt.id=told.attempt JOIN shard ON shard.id=attempt.shard GROUP BY shard.arm"
        )
        return {
            int(arm): (count, int(told_in), int(cached), int(told_out))
            for arm, count, told_in, cached, told_out in rows
        }

    def unbilled(self) -> dict[int, int]:
        """By arm: tries that were run, as far as anybody can tell, and of which nobody said the cost."""
        causes = ", ".join(f"'{cause}'" for cause in sorted(UNBILLED))
        rows = self._db.execute(
            "SELECT shard.arm, count(*) FROM result JOIN attempt ON attempt.id=result.attempt "
            "JOIN shard ON shard.id=attempt.shard WHERE result.cost IS NULL "
            f"AND (result.outcome<>'failed' OR result.cause IN ({causes})) GROUP BY shard.arm"
        )
        return {int(arm): int(count) for arm, count in rows}
