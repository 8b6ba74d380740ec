"""Rows of one attempt as they come in: given their fate, priced, settled and counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from overnight.core.attempt import Attempt
from overnight.core.result import MOST_TOKENS, Result, was_run_unpriced
from overnight.engine.context import RunContext
from overnight.engine.decisions import row_fate
from overnight.engine.lessons import LessonBook
from overnight.ledger.answers import Fate, Landed
from overnight.ledger.shards import ShardRows
from overnight.ledger.spending import Charge
from overnight.ledger.transaction import Transaction
from overnight.prices import Processing

Settling = tuple[Landed, Fate]
# Of a raw line: its file, offset, length and digest.
Place = tuple[int, int, int, bytes]
_NOWHERE = (None, None, None, None)


@cache
def _settled(tries: int) -> Fate:
    """One for all rows that end alike."""
    return Fate(final=True, tries=tries)


class Fresh(NamedTuple):
    """What a transaction put on record that was not there, and how many addresses share each question.

    `counts` are the lines whose answer is the one that counts, where another attempt may have been first.
    """

    rows: list[Settling]
    addresses: dict[int, int]
    counts: set[int] | None = None
    # What of them is presumed spent, in nano-dollars.
    presumed: int = 0


class Settlement:
    """Holds nothing that is not in the ledger, but for counts that are worth telling."""

    def __init__(
        self, context: RunContext, attempt: Attempt, rows: ShardRows, density: float, overhead: int, task: str
    ) -> None:
        self._context = context
        self._attempt = attempt
        self._overhead = overhead
        processing: Processing = "live" if attempt.live else "batch"
        self._cost = context.pricing.costs(attempt.arm, processing)
        self._ceiling = context.pricing.ceilings(attempt.arm, processing, density)
        self._counted_bytes = 0
        self._counted_tokens = 0
        self._lessons = LessonBook(context.arms[attempt.arm].model, task)
        self.rows = rows

    @classmethod
    async def of(cls, context: RunContext, attempt: Attempt, overhead: int) -> "Settlement":
        shard = attempt.shard
        rows = await context.ledger.read(lambda view: view.shards.rows(shard))
        density = await context.ledger.read(lambda view: view.spending.density(shard))
        stage = context.arms[attempt.arm].stage
        task = await context.ledger.read(lambda view: view.stages.task_of(stage))
        return cls(context, attempt, rows, density, overhead, task)

    def row(self, line: int, result: Result, place: Place | None = None, *, again: bool = False) -> Settling:
        """A result for one line; `place` is where its bytes are. `again`: it is asked anew."""
        file, offset, length, digest = place or _NOWHERE
        landed = Landed(line, result, file, offset, length, digest, self._cost(result.usage))
        if again:
            return landed, Fate(final=False, tries=self.rows.tries[line])
        if result.outcome != "failed":  # whoever asks, and however often: nearly every row
            return landed, _settled(self.rows.tries[line] + 1)
        return landed, self._fate(result, line)

    def _fate(self, result: Result, line: int) -> Fate:
        tries = self.rows.tries[line]
        context = self._context
        # What the maker of an adopted batch has called off is over: there is no study to say `run` of.
        called_off = self._attempt.adopted and result.cause == "cancelled"
        if not context.can_ask_again or called_off:
            return Fate(final=True, tries=tries + 1)
        return row_fate(result, tries, context.tries, live=self._attempt.live)

    def settle(self, tx: Transaction, landed: Sequence[Settling], at: float, *, ran: bool = False) -> Fresh:
        """Inside a transaction: results, fates and money together. Doing it twice changes nothing.

        `ran`: the rows were run, as far as anybody can tell, whatever their results say.
        """
        attempt = self._attempt
        fresh = tx.answers.take_in(attempt.id, self.rows, landed, at, overtaken=attempt.overtaken)
        charge = self._charge(fresh, ran=ran)
        tx.spending.book(attempt.shard, attempt.arm, attempt.id, charge)
        # Before the cut, only one attempt at a time asks a question.
        counts = tx.answers.settled_lines(attempt.id, [one.line for one, _ in fresh]) if self._context.spilled else None
        shared = tx.answers.sharing((self.rows.asks[one.line] for one, fate in fresh if fate.final))
        return Fresh(fresh, shared, counts, sum(amount for _, amount in charge.presumed))

    def _charge(self, fresh: Iterable[Settling], *, ran: bool) -> Charge:
        """What the rows cost, and what was set aside for them: that is presumed spent where nobody says the cost."""
        lengths, most, overhead = self.rows.lengths, self._ceiling, self._overhead
        settled = released = 0
        presumed: list[tuple[int, int]] = []
        for one, _ in fresh:
            ceiling = most(lengths[one.line] + overhead) or 0
            released += ceiling
            if one.cost is not None:
                settled += one.cost
            elif ceiling and (ran or was_run_unpriced(one.result)):
                presumed.append((one.line, ceiling))
        return Charge(settled, released, presumed)

    def count(self, fresh: Fresh) -> None:
        """After the transaction: what people are told."""
        outcomes: Counter[str] = Counter()
        tokens_in = tokens_out = spent = bytes_in = with_tokens = 0
        asks, lengths, counts, addresses = self.rows.asks, self.rows.lengths, fresh.counts, fresh.addresses
        learn = self._lessons.add
        for one, fate in fresh.rows:
            line, result = one.line, one.result
            usage, length = result.usage, lengths[line]
            learn(length, result)
            if usage.input and usage.input <= MOST_TOKENS:
                bytes_in += length
                with_tokens += 1
                tokens_in += usage.input
            tokens_out += usage.output or 0
            spent += one.cost or 0
            if fate.final if counts is None else line in counts:
                outcomes[result.outcome] += addresses.get(asks[line], 1) if addresses else 1
        self._counted_bytes += bytes_in + with_tokens * self._overhead
        self._counted_tokens += tokens_in
        self._context.tally.landed(outcomes, tokens_in, tokens_out, spent, fresh.presumed)
        if self._attempt.overtaken and fresh.counts:
            self._context.answered_elsewhere.update(self.rows.asks[line] for line in fresh.counts)

    def learn(self, closed: Attempt) -> None:
        """What came back teaches what the next rows will be: how many tokens, how long, and how soon."""
        provider = self._context.account_for(self._attempt).provider
        model = self._context.arms[self._attempt.arm].model.name
        self._context.history.remember_density(provider, model, self._counted_bytes, self._counted_tokens)
        self._context.history.learn(self._lessons.taken(closed))
