"""Counts for people: rows by outcome, tries, tokens. They are kept, and move in the transaction that moves the rows.

What is kept can be counted again from the rows; `verify` does, and holds the one against the other.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from overnight.core.result import UNBILLED, Cause, Outcome
from overnight.ledger.connection import Records
from overnight.ledger.database import found_among

# Sums stay below what SQLite can hold, whatever a provider claims to have counted.
_MOST = 2**62
_CAUSES = ", ".join(f"'{cause}'" for cause in sorted(UNBILLED))
_PENDING = "pending"


class Count(NamedTuple):
    """Of one arm, outcome and cause: addresses that ended so, tries that did, and questions that were settled so.

    `unbilled` are tries that were run, as far as anybody can tell, and of which nobody said the cost; the tokens are
    those of the tries.
    """

    addresses: int = 0
    tries: int = 0
    settled: int = 0
    unbilled: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0


class Came(NamedTuple):
    """Tries that ended alike: how many, how many of them were run without a bill, and their tokens."""

    outcome: Outcome
    cause: Cause | None
    tries: int
    unbilled: int
    input: int
    cached: int
    output: int


# (arm, outcome or `pending`, cause or nothing)
Kind = tuple[int, str, str]
_ADDRESSES = (
    "SELECT slot.arm, coalesce(result.outcome, 'pending'), coalesce(result.cause, ''), count(*) FROM slot "
    "LEFT JOIN settled ON settled.ask=slot.ask "
    "LEFT JOIN result ON result.attempt=settled.attempt AND result.line=settled.line {which} GROUP BY 1, 2, 3"
)
_SUMS = ", ".join(f"{field}=min(counted.{field}, {_MOST}-excluded.{field})+excluded.{field}" for field in Count._fields)
_MOVE = (
    f"INSERT INTO counted VALUES(?,?,?,{','.join('?' * len(Count._fields))}) "
    f"ON CONFLICT(arm, outcome, cause) DO UPDATE SET {_SUMS}"
)
_TOKENS = ("input", "cached", "output")
# In two halves, whose sums are exact and never too large for SQLite, whatever numbers a provider has told.
_HALF = 31
_TRIES = (
    "SELECT shard.arm, outcome, coalesce(cause, ''), count(*), "
    f"count(*) FILTER (WHERE cost IS NULL AND (outcome<>'failed' OR coalesce(cause, '') IN ({_CAUSES}))), "
    + ", ".join(
        f"coalesce(sum({column} >> {_HALF}), 0), coalesce(sum({column} & {2**_HALF - 1}), 0)" for column in _TOKENS
    )
    + " FROM result JOIN attempt ON attempt.id=result.attempt JOIN shard ON shard.id=attempt.shard GROUP BY 1, 2, 3"
)
_SETTLED = (
    "SELECT shard.arm, result.outcome, coalesce(result.cause, ''), count(*) FROM settled "
    "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
    "JOIN attempt ON attempt.id=result.attempt JOIN shard ON shard.id=attempt.shard GROUP BY 1, 2, 3"
)


class CountsView(Records):
    """What a run comes to so far."""

    def kept(self) -> dict[Kind, Count]:
        rows = self._db.execute(f"SELECT arm, outcome, cause, {', '.join(Count._fields)} FROM counted ORDER BY 1, 2, 3")
        counts = {(arm, outcome, cause): Count._make(numbers) for arm, outcome, cause, *numbers in rows}
        return {kind: count for kind, count in counts.items() if any(count)}

    def counted(self) -> dict[Kind, Count]:
        """The same from the rows, which takes a look at each of them."""
        found: dict[Kind, Count] = {}
        for *kind, addresses in self._db.execute(_ADDRESSES.format(which="")):
            found[tuple(kind)] = Count(addresses=addresses)
        for arm, outcome, cause, tries, unbilled, *halves in self._db.execute(_TRIES):
            told = (min((high << _HALF) + low, _MOST) for high, low in zip(halves[::2], halves[1::2], strict=True))
            found[arm, outcome, cause] = found.get((arm, outcome, cause), Count())._replace(
                tries=tries, unbilled=unbilled, **dict(zip(_TOKENS, told, strict=True))
            )
        for arm, outcome, cause, settled in self._db.execute(_SETTLED):
            found[arm, outcome, cause] = found.get((arm, outcome, cause), Count())._replace(settled=settled)
        return dict(sorted(found.items()))

    def outcomes(self) -> dict[tuple[int, str, str | None], int]:
        """Rows by (arm, outcome or `pending`, cause): every address is in exactly one count."""
        return {
            (arm, outcome, cause or None): count.addresses
            for (arm, outcome, cause), count in self.kept().items()
            if count.addresses
        }

    def asked_again(self) -> dict[str, int]:
        """Failed tries that were not the last word on their question, by cause."""
        again: Counter[str] = Counter()
        for (_, outcome, cause), count in self.kept().items():
            if outcome == "failed":
                again[cause] += count.tries - count.settled
        return {cause: count for cause, count in sorted(again.items()) if count}

    def tokens(self) -> tuple[int, int]:
        """Input and output tokens of everything that was answered, tries that failed included."""
        kept = self.kept().values()
        return sum(count.input for count in kept), sum(count.output for count in kept)

    def by_arm(self) -> dict[int, Count]:
        """All outcomes of an arm together."""
        found: dict[int, Count] = {}
        for (arm, _, _), count in self.kept().items():
            both = zip(found.get(arm, Count()), count, strict=True)
            found[arm] = Count._make(min(one + other, _MOST) for one, other in both)
        return found

    def answered_twice(self) -> int:
        """Questions that a batch answered after it had been overtaken, and that a live call answered too."""
        row = self._db.execute(
            "SELECT count(*) FROM event CROSS JOIN result ON result.attempt=event.attempt "
            "WHERE event.kind='overtaken' AND result.outcome<>'failed' AND result.ask IN (SELECT ask FROM shard "
            "JOIN attempt ON attempt.shard=shard.id JOIN result AS other ON other.attempt=attempt.id "
            "WHERE shard.live<>0 AND other.outcome<>'failed')"
        ).fetchone()
        return int(row[0])


class Counts(CountsView):
    """Counts that move with the rows."""

    def came(self, arm: int, told: Iterable[Came]) -> None:
        """Tries of an arm that are on record now."""
        for one in told:
            tokens = (min(count, _MOST) for count in (one.input, one.cached, one.output))
            self._add((arm, one.outcome, one.cause or ""), Count(0, one.tries, 0, one.unbilled, *tokens))

    def settled(self, arm: int, asks: Sequence[int], kinds: Sequence[tuple[Outcome, Cause | None]]) -> None:
        """Questions that were open until now, asked in a shard of this arm, and how each has ended."""
        ended = Counter(kinds)
        for (outcome, cause), count in ended.items():
            self._add((arm, outcome, cause or ""), Count(settled=count))
        moved: Counter[Kind] = Counter()
        if self._shared():
            query = "SELECT ask, arm, count(*) FROM slot WHERE ask IN ({}) GROUP BY ask, arm"
            told = dict(zip(asks, kinds, strict=True))
            for ask, place, count in found_among(self._db, query, told):
                outcome, cause = told[ask]
                moved[place, outcome, cause or ""] += count
        else:  # each has one address, which is of the arm that asked
            moved.update({(arm, outcome, cause or ""): count for (outcome, cause), count in ended.items()})
        for kind, count in moved.items():
            self._add(kind, Count(addresses=count))
            self._add((kind[0], _PENDING, ""), Count(addresses=-count))

    def asked(self, after: int) -> None:
        """Addresses that came after this one; some may share a question that was settled before."""
        which = "WHERE slot.id > ?"
        # `+arm`: all addresses of the run lie in the order of their arms, and would be read for the sake of that order.
        query = (
            _ADDRESSES.format(which=which)
            if self._shared()
            else f"SELECT +arm, '{_PENDING}', '', count(*) FROM slot {which} GROUP BY 1"
        )
        for arm, outcome, cause, count in self._db.execute(query, (after,)).fetchall():
            self._add((arm, outcome, cause), Count(addresses=count))

    def recount(self) -> None:
        """From the rows: after many of them have changed at once."""
        self._db.execute("DELETE FROM counted")
        for kind, count in self.counted().items():
            self._add(kind, count)

    def _shared(self) -> bool:
        row = self._db.execute("SELECT value FROM fact WHERE name='shared'").fetchone()
        return row is not None and row[0] != "0"

    def _add(self, kind: Kind, count: Count) -> None:
        self._db.execute(_MOVE, (*kind, *count))
