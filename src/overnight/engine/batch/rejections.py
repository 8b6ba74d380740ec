"""When the provider will not take a shard: cut it, wait with it, or tell its rows why they failed."""

import math
from collections import Counter

from overnight.core.attempt import Attempt, Closed
from overnight.core.errors import OutOfCredit, Unauthorized
from overnight.core.result import Cause, Result, failed
from overnight.core.wording import number_of
from overnight.engine.context import RunContext
from overnight.engine.decisions import BREAKING_REFUSALS, Learned, backoff, learn_limit, must_be_cut, row_fate
from overnight.ledger.landed import Fate, Landed
from overnight.ledger.transaction import Transaction
from overnight.providers.contract import Refusal

# Files that fail validation on one line after another: after so many, somebody has to look at the study.
_BAD_LINES = 5

_CAUSES: dict[str, Cause] = {
    "unknown_model": "unknown_model",
    "too_large": "too_large",
    "trouble": "server_error",
}


class Rejections:
    def __init__(self, context: RunContext) -> None:
        self._context = context

    async def refuse(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        """Close the attempt and decide over its rows, in one transaction."""
        context = self._context
        if attempt.refused is None:
            context.say(f"shard {attempt.shard}: {refusal.message}")
        in_queue = self.tokens_in_queue(attempt) if attempt.refused is None else attempt.refused.in_queue
        if refusal.kind == "token_limit":
            await self._learn(attempt, refusal, in_queue)
        if not context.can_ask_again:
            # Nothing of it is sent anew, for whatever reason it was refused.
            context.keep(closed := await self._fail_rows(attempt, refusal, how))
            return closed
        if must_be_cut(refusal, attempt.estimate, attempt.rows, in_queue, attempt.n):
            closed = await self._cut(attempt, refusal, how)
        elif refusal.kind in ("token_limit", "file_not_ready", *BREAKING_REFUSALS):
            closed = await self._keep_for_later(attempt, refusal, how)
        elif refusal.kind == "too_few":
            closed = await self._give_back(attempt, refusal, how)
        elif refusal.line is not None:
            closed = await self._drop_line(attempt, refusal, how)
        else:
            closed = await self._fail_rows(attempt, refusal, how)
        context.keep(closed)
        if refusal.kind in BREAKING_REFUSALS:
            raise (OutOfCredit if refusal.kind == "no_credit" else Unauthorized)(refusal.message)
        return closed

    def tokens_in_queue(self, attempt: Attempt) -> int:
        """What this model has waiting at the account besides this attempt."""
        context, model = self._context, self._context.arms[attempt.arm].model.name
        own, pooled = context.account_for(attempt), len(context.accounts[attempt.arm]) > 1
        others = (other for other in context.carried.values() if other.id != attempt.id and other.holds_queue_room)
        others = (other for other in others if not pooled or context.account_for(other) is own)
        return sum(other.estimate for other in others if self._context.arms[other.arm].model.name == model)

    async def _learn(self, attempt: Attempt, refusal: Refusal, in_queue: int) -> None:
        model = self._context.arms[attempt.arm].model.name
        limit = learn_limit(refusal, in_queue, attempt.estimate)
        if limit is not None:
            account = self._context.account_for(attempt)
            account.learned[model] = Learned(token_limit=limit)
            self._context.history.remember_limit(account.provider, model, limit)
            self._context.say(f"{model}: the provider's queue holds about {limit:,} tokens; shards wait for room")

    async def _cut(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        """Half the size from now on for this arm; the rows are packed anew."""
        at, context = self._context.now(), self._context
        if refusal.kind == "too_large":
            cap, value = "bytes", max(1, attempt.bytes // 2)
        else:
            limit = refusal.token_limit or attempt.estimate
            cap, value = "tokens", max(1, min(limit, attempt.estimate // 2))

        def fact(tx: Transaction) -> Attempt:
            tx.facts.keep(f"cap_{cap}:{attempt.arm}", str(value))
            closed = tx.attempts.record(attempt, Closed(how, refusal.message), at)  # type: ignore[arg-type]
            tx.shards.requeue(attempt.shard, at)
            return closed

        context.say(f"shard {attempt.shard}: cut into smaller ones")
        return await context.ledger.commit("cut", fact)

    async def _keep_for_later(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        at, context = self._context.now(), self._context
        if refusal.kind in BREAKING_REFUSALS:
            context.not_before[attempt.shard] = math.inf  # not in this process: somebody has to mend the account first
        elif refusal.kind == "file_not_ready" or not self.tokens_in_queue(attempt):
            context.not_before[attempt.shard] = at + backoff(attempt.n, refusal.retry_after)
        event = Closed(how, refusal.message)  # type: ignore[arg-type]
        return await context.ledger.commit("kept", lambda tx: tx.attempts.record(attempt, event, at))

    async def _give_back(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        """Nothing is wrong with the rows: they wait until the user has said how many this account wants."""
        at, context = self._context.now(), self._context

        def fact(tx: Transaction) -> Attempt:
            closed = tx.attempts.record(attempt, Closed(how, refusal.message), at)  # type: ignore[arg-type]
            tx.shards.requeue(attempt.shard, at)
            return closed

        closed = await context.ledger.commit("given back", fact)
        context.halt_arm(
            attempt.arm,
            f"{number_of(attempt.rows, 'row')} of {context.arms[attempt.arm].name} were too few for this account "
            f"({refusal.message}): write its own floor as `batch: {{min_requests: N}}`",
        )
        return closed

    async def _drop_line(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        """One line spoiled the file: it failed, the others are sent without it."""
        at, context, line = self._context.now(), self._context, (refusal.line or 1) - 1
        counter = f"bad_lines:{attempt.arm}"

        def fact(tx: Transaction) -> tuple[Attempt, int]:
            rows = tx.shards.rows(attempt.shard)
            if 0 <= line < len(rows):
                result = failed(_CAUSES.get(refusal.kind, "invalid_request"), refusal.message)
                tx.answers.take_in(attempt.id, rows, Landed.of([line], [result]), at)
            count = int(tx.facts.get(counter) or "0") + 1
            tx.facts.keep(counter, str(count))
            closed = tx.attempts.record(attempt, Closed(how, refusal.message), at)  # type: ignore[arg-type]
            tx.shards.requeue(attempt.shard, at)
            return closed, count

        closed, count = await context.ledger.commit("line dropped", fact)
        context.tally.landed(Counter(failed=1), 0, 0)
        if count % _BAD_LINES == 0:
            context.halt_arm(attempt.arm, f"{count} lines in a row were refused ({refusal.message}); look at the study")
        return closed

    def _fate(self, result: Result, tries: int) -> Fate:
        return row_fate(result, tries) if self._context.can_ask_again else Fate(final=True, tries=tries + 1)

    async def _fail_rows(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        at, context = self._context.now(), self._context
        result = failed(_CAUSES.get(refusal.kind, "invalid_request"), refusal.message)

        def fact(tx: Transaction) -> tuple[Attempt, int]:
            rows = tx.shards.rows(attempt.shard)
            fates = (self._fate(result, tries) for tries in rows.tries)
            tries = [None if fate.final else fate.tries for fate in fates]
            landed = Landed.of(range(len(rows)), [result] * len(rows), tries=tries)
            fresh = tx.answers.take_in(attempt.id, rows, landed, at)
            closed = tx.attempts.record(attempt, Closed(how, refusal.message), at)  # type: ignore[arg-type]
            tx.shards.finish(attempt.shard, at)
            return closed, fresh.tries.count(None)

        closed, count = await context.ledger.commit("rows failed", fact)
        context.tally.landed(Counter(failed=count), 0, 0)
        return closed
