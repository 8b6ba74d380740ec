"""How far a run is: counts for people, kept up to date as facts land."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec

from overnight.core.attempt import Attempt
from overnight.engine.batch.evidence import pause

# Where the rows are that a provider has worked through.
_DONE_THERE = ("running", "ended")

Priced = Literal["all", "some", "none"]


class BatchLine(msgspec.Struct, frozen=True, kw_only=True):
    """One batch as `status` shows it."""

    shard: int
    attempt: int
    arm: str
    state: str
    status: str | None
    batch_id: str | None
    rows: int
    completed: int
    failed: int
    message: str | None
    submitted_at: float | None
    # Batches at the provider of which only their end will tell whether one is this shard's.
    possible: tuple[str, ...] = ()
    # A slice of live calls.
    live: bool = False
    # Why rows of a batch that has ended are not here, and when they are looked for again.
    doubt: str | None = None
    looks_at: float | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A run at one moment. Every row is in exactly one of the counts."""

    run: str
    total: int
    answered: int
    refused: int
    truncated: int
    failed: int
    pending: int
    # Rows that the provider says it has worked through, in batches that have not landed yet.
    ahead: int
    batches: tuple[BatchLine, ...]
    input_tokens: int
    output_tokens: int
    # What the rows so far have cost, in nano-dollars, and whether all arms have prices.
    spent: int = 0
    # What rows that were run may have cost, where no bill came.
    presumed: int = 0
    priced: Priced = "none"
    seconds_left: float | None = None
    trouble: str | None = None

    @property
    def settled(self) -> int:
        return self.total - self.pending


class Tally:
    """Counts that move with each chunk that lands, so that nobody has to count a million rows again."""

    def __init__(self, run: str, now: Callable[[], float]) -> None:
        self.run = run
        self._now = now
        self._outcomes: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        # Batches that were at a provider before, and have not been looked at since: what they did in the meantime
        # says nothing about how fast it goes now.
        self._unseen: set[int] | None = None
        # From when on, and from how many rows on, the speed is measured.
        self._from = (now(), 0)
        self._spent = 0
        self._presumed = 0
        self._listener: Callable[[], None] | None = None
        self.total = 0
        self.priced: Priced = "none"

    def begin(
        self,
        counts: Mapping[tuple[int, str, str | None], int],
        tokens: tuple[int, int],
        spent: int = 0,
        presumed: int = 0,
    ) -> None:
        self._outcomes = Counter()
        for (_, outcome, _), count in counts.items():
            self._outcomes[outcome] += count
        self.total = sum(self._outcomes.values())
        self._tokens = Counter(input=tokens[0], output=tokens[1])
        self._spent = spent
        self._presumed = presumed
        self._from = (self._now(), self.total - self._outcomes["pending"])
        self._unseen = None
        self.changed()

    def grew(self, addresses: int, settled: Mapping[str, int] = MappingProxyType({})) -> None:
        """More was asked: a next turn, a later stage, another round. Some of it may be settled by answers at hand."""
        self.total += addresses
        self._outcomes.update(settled)
        self._outcomes["pending"] += addresses - sum(settled.values())
        self.changed()

    def landed(
        self,
        outcomes: Mapping[str, int],
        input_tokens: int,
        output_tokens: int,
        spent: int = 0,
        presumed: int = 0,
    ) -> None:
        """So many addresses were settled with these outcomes."""
        self._outcomes.update(outcomes)
        self._outcomes["pending"] -= sum(outcomes.values())
        self._tokens.update(input=input_tokens, output=output_tokens)
        self._spent += spent
        self._presumed += presumed
        self.changed()

    def looked(self, attempt: int) -> None:
        """A batch was looked at, and is not done: from here on its counts tell how fast it goes."""
        if self._unseen is not None:
            self._unseen.discard(attempt)

    @property
    def pending(self) -> int:
        return self._outcomes["pending"]

    def listen(self, listener: Callable[[], None]) -> None:
        self._listener = listener

    def changed(self) -> None:
        if self._listener is not None:
            self._listener()

    def snapshot(
        self, carried: Iterable[Attempt], arm_names: Mapping[int, str], trouble: str | None = None
    ) -> Snapshot:
        found = list(carried)
        lines = tuple(batch_line(attempt, arm_names[attempt.arm]) for attempt in found)
        ahead = sum(line.completed + line.failed for line in lines if line.state in _DONE_THERE)
        pending = self._outcomes["pending"]
        self._catch_up(found, self.total - pending + min(ahead, pending))
        return Snapshot(
            run=self.run,
            total=self.total,
            answered=self._outcomes["answered"],
            refused=self._outcomes["refused"],
            truncated=self._outcomes["truncated"],
            failed=self._outcomes["failed"],
            pending=pending,
            ahead=min(ahead, pending),
            batches=lines,
            input_tokens=self._tokens["input"],
            output_tokens=self._tokens["output"],
            spent=self._spent,
            presumed=self._presumed,
            priced=self.priced,
            seconds_left=self._seconds_left(pending, min(ahead, pending)),
            trouble=trouble,
        )

    def _catch_up(self, carried: Sequence[Attempt], done: int) -> None:
        """Until all that was under way before was looked at or has landed, the measuring begins anew."""
        if self._unseen is None:
            self._unseen = {one.id for one in carried if one.state in _DONE_THERE and one.intended_at < self._from[0]}
        self._unseen &= {one.id for one in carried if one.state in _DONE_THERE}
        if self._unseen:
            self._from = (self._now(), done)

    def _seconds_left(self, pending: int, ahead: int) -> float | None:
        """From the rows done since this process has caught up; no guess before there are any."""
        since, before = self._from
        done = self.total - pending + ahead - before
        elapsed = self._now() - since
        if done <= 0 or elapsed <= 0 or pending <= 0:
            return None
        return elapsed * (pending - ahead) / done


def how_priced(arms: int, with_price: int) -> Priced:
    """Whether a sum of costs is the whole bill."""
    return "none" if with_price == 0 else "all" if with_price == arms else "some"


def batch_line(attempt: Attempt, arm: str) -> BatchLine:
    return BatchLine(
        shard=attempt.shard,
        attempt=attempt.n,
        arm=arm,
        state=attempt.state,
        status=attempt.status,
        batch_id=attempt.batch_id,
        rows=attempt.rows,
        completed=attempt.completed,
        failed=attempt.failed,
        message=attempt.message,
        submitted_at=attempt.submitted_at,
        possible=attempt.possible,
        live=attempt.live,
        doubt=doubt_about(attempt),
        looks_at=attempt.fetches[-1][0] + pause(attempt.fetches) if attempt.state == "fetched" else None,
    )


def doubt_about(attempt: Attempt) -> str | None:
    """What is wrong with the last look at the results of a batch that has ended."""
    if attempt.state != "fetched":
        return None
    last = attempt.fetches[-1][1]
    if last.gone:
        return "the provider says that it no longer has its results"
    return last.doubt or "some of the rows are in no file"
