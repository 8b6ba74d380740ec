"""Rows of one attempt as they come in: given their fate, priced, settled and counted."""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from itertools import compress
from typing import NamedTuple

from overnight.core.attempt import Attempt
from overnight.core.result import MOST_TOKENS, Result, was_run_unpriced
from overnight.engine.context import RunContext
from overnight.engine.decisions import row_fate
from overnight.engine.lessons import LessonBook
from overnight.ledger.landed import Fate, Landed, Places, chosen
from overnight.ledger.shards import ShardRows
from overnight.ledger.spending import Charge
from overnight.ledger.transaction import Transaction
from overnight.prices import Processing

_NO_ROWS = ShardRows(())


class Fresh(NamedTuple):
    """What a transaction put on record that was not there, and how many addresses share each question.

    `counts` are the lines whose answer is the one that counts, where another attempt may have been first.
    """

    rows: Landed
    addresses: dict[int, int]
    counts: set[int] | None = None
    # What of them is presumed spent, in nano-dollars.
    presumed: int = 0


class Settlement:
    """Holds nothing that is not in the ledger, but for counts that are worth telling."""

    def __init__(self, context: RunContext, attempt: Attempt, density: float, overhead: int, task: str) -> None:
        self._context = context
        self._attempt = attempt
        self._overhead = overhead
        processing: Processing = "live" if attempt.live else "batch"
        self._cost = context.pricing.costs(attempt.arm, processing)
        self._ceiling = context.pricing.ceilings(attempt.arm, processing, density)
        self._counted_bytes = 0
        self._counted_tokens = 0
        self._lessons = LessonBook(context.arms[attempt.arm].model, task)
        self.rows = _NO_ROWS

    @classmethod
    async def of(cls, context: RunContext, attempt: Attempt, overhead: int) -> "Settlement":
        shard = attempt.shard
        density = await context.ledger.read(lambda view: view.spending.density(shard))
        stage = context.arms[attempt.arm].stage
        task = await context.ledger.read(lambda view: view.stages.task_of(stage))
        return cls(context, attempt, density, overhead, task)

    @asynccontextmanager
    async def holding_rows(self) -> AsyncIterator[None]:
        """Rows are settled while they are held, and only then: many shards wait for their turn at once."""
        shard = self._attempt.shard
        self.rows = await self._context.ledger.read(lambda view: view.shards.rows(shard))
        try:
            yield
        finally:
            self.rows = _NO_ROWS

    def landed(
        self,
        lines: Sequence[int],
        results: Sequence[Result],
        places: Places | None = None,
        *,
        again: Collection[int] = (),
    ) -> Landed:
        """Results of these lines; `places` is where their bytes are. Those of the lines `again` are asked anew."""
        costs = [self._cost(one.usage) for one in results]
        rows = zip(lines, results, strict=True)
        # An answer settles its row, whoever asks, and however often.
        tries = [None if one.outcome != "failed" else self._tries(one, line) for line, one in rows]
        if again:
            known = zip(lines, tries, strict=True)
            tries = [self.rows.tries[line] if line in again else count for line, count in known]
        return Landed.of(lines, results, places, costs, tries)

    def _tries(self, result: Result, line: int) -> int | None:
        """How often a row was asked that goes back to the queue; None for one that is settled."""
        fate = self._fate(result, line)
        return None if fate.final else fate.tries

    def _fate(self, result: Result, line: int) -> Fate:
        tries = self.rows.tries[line]
        context = self._context
        # What the maker of an adopted batch has called off is over: there is no study to say `run` of.
        called_off = self._attempt.adopted and result.cause == "cancelled"
        if not context.can_ask_again or called_off:
            return Fate(final=True, tries=tries + 1)
        return row_fate(result, tries, context.tries, live=self._attempt.live)

    def settle(self, tx: Transaction, landed: Landed, at: float, *, ran: bool = False) -> Fresh:
        """Inside a transaction: results, fates and money together. Doing it twice changes nothing.

        `ran`: the rows were run, as far as anybody can tell, whatever their results say.
        """
        attempt = self._attempt
        fresh = tx.answers.take_in(attempt.id, self.rows, landed, at, overtaken=attempt.overtaken)
        charge = self._charge(fresh, ran=ran)
        tx.spending.book(attempt.shard, attempt.arm, attempt.id, charge)
        # Before the cut, only one attempt at a time asks a question.
        counts = tx.answers.settled_lines(attempt.id, fresh.line) if self._context.spilled else None
        final = (line for line, tries in zip(fresh.line, fresh.tries, strict=True) if tries is None)
        shared = tx.answers.sharing(self.rows.asks[line] for line in final)
        return Fresh(fresh, shared, counts, sum(amount for _, amount in charge.presumed))

    def _charge(self, fresh: Landed, *, ran: bool) -> Charge:
        """What the rows cost, and what was set aside for them: that is presumed spent where nobody says the cost."""
        most, overhead = self._ceiling, self._overhead
        ceilings = [most(length + overhead) or 0 for length in chosen(self.rows.lengths, fresh.line)]
        unpriced = [
            (line, ceiling)
            for line, ceiling, cost, outcome, cause in zip(
                fresh.line, ceilings, fresh.cost, fresh.outcome, fresh.cause, strict=True
            )
            if cost is None and ceiling and (ran or was_run_unpriced(outcome, cause))
        ]
        return Charge(sum(filter(None, fresh.cost)), sum(ceilings), unpriced)

    def count(self, fresh: Fresh) -> None:
        """After the transaction: what people are told."""
        rows, asks = fresh.rows, self.rows.asks
        lengths = chosen(self.rows.lengths, rows.line)
        self._lessons.add(lengths, rows)
        believed = [tokens if tokens and tokens <= MOST_TOKENS else 0 for tokens in rows.input]
        tokens_in = sum(believed)
        self._counted_bytes += sum(length + self._overhead for length in compress(lengths, believed))
        self._counted_tokens += tokens_in
        count = fresh.counts
        counting = [tries is None for tries in rows.tries] if count is None else [line in count for line in rows.line]
        outcomes: Counter[str] = Counter(compress(rows.outcome, counting))
        if fresh.addresses:
            for line, outcome in compress(zip(rows.line, rows.outcome, strict=True), counting):
                outcomes[outcome] += fresh.addresses.get(asks[line], 1) - 1
        tokens_out, spent = sum(filter(None, rows.output)), sum(filter(None, rows.cost))
        self._context.tally.landed(outcomes, tokens_in, tokens_out, spent, fresh.presumed)
        if self._attempt.overtaken and count:
            self._context.answered_elsewhere.update(chosen(asks, list(count)))

    def learn(self, closed: Attempt) -> None:
        """What came back teaches what the next rows will be: how many tokens, how long, and how soon."""
        provider = self._context.account_for(self._attempt).provider
        model = self._context.arms[self._attempt.arm].model.name
        self._context.history.remember_density(provider, model, self._counted_bytes, self._counted_tokens)
        self._context.history.learn(self._lessons.taken(closed))
