"""A pool: several accounts or replicas that answer for one arm. Who gets what, and what becomes of a dead one's rows.

An attempt belongs to one account from its intent to its end, so all that is promised of an account holds for each
member: its pace, its queue's room, its one create in doubt. Which member answered shows in no row.
"""

import asyncio
import math
from collections.abc import Callable, Collection
from functools import partial

from overnight.core.attempt import Attempt
from overnight.core.errors import OutOfCredit, ProviderError
from overnight.core.shard import Shard
from overnight.engine.batch.outbox import UNSENT, input_file
from overnight.engine.context import RunContext
from overnight.engine.decisions import BREAKING_REFUSALS
from overnight.engine.provider_account import ProviderAccount
from overnight.ledger.transaction import Transaction

PASSED_ON = "its account is of no use; left to the others of the pool"
# An account that turned us away so many seconds ago is asked after the others.
_RECENTLY = 3600.0
# A slice of fewer rows is hardly worth its file; each member gets some of them, so that the quick take more.
_LEAST_SLICE = 20
_SLICES_EACH = 4


def slice_rows(most: int, queued: int, members: int) -> int:
    """Rows in a live slice: few enough that every member of a pool gets some of what waits."""
    if members == 1:
        return most
    return max(_LEAST_SLICE, min(most, math.ceil(queued / (members * _SLICES_EACH))))


def seat_of(
    context: RunContext, shard: Shard, admitted: Callable[[ProviderAccount, Shard], bool]
) -> ProviderAccount | None:
    """The member with the least to do that can take one more; None while none can."""
    pool = context.accounts[shard.arm]
    if len(pool) == 1:
        return pool[0] if admitted(pool[0], shard) else None
    busy = partial(_rows_ahead, context, shard) if shard.live else partial(_rows_at, context)
    late = context.turned_away = _turned_away(context) if context.turned_away is None else context.turned_away
    usable = sorted((one for one in pool if one.halted is None), key=lambda one: (one.number in late, busy(one)))
    return next((account for account in usable if admitted(account, shard)), None)


def _turned_away(context: RunContext) -> frozenset[int]:
    """Accounts whose key or credit a provider would not have. A pass that does not wait begins with this alone."""
    attempts, since = context.ledger.view().attempts.everything(), context.now() - _RECENTLY
    refused = (one for one in attempts if one.last_refusal in BREAKING_REFUSALS and one.intended_at >= since)
    return frozenset(context.account_for(one).number for one in refused)


def _rows_ahead(context: RunContext, shard: Shard, account: ProviderAccount) -> float:
    """How long what waits there will take, as far as its window tells."""
    queue = context.model_queue_of(shard.arm, account)
    return queue.ahead / max(1, queue.size)


def _rows_at(context: RunContext, account: ProviderAccount) -> int:
    return sum(one.rows for one in context.carried.values() if not one.live and context.account_for(one) is account)


def has_others(context: RunContext, account: ProviderAccount) -> bool:
    """Whether every arm that this account answers for has another one that can."""
    pools = [pool for pool in context.accounts.values() if account in pool]
    return all(any(one is not account and one.halted is None for one in pool) for pool in pools)


def left_there(context: RunContext) -> ProviderError | None:
    """Why something is still under way at an account that is of no use any more: somebody has to mend that."""
    halted = (context.account_for(attempt).halted for attempt in context.carried.values())
    return next((error for error in halted if error is not None), None)


def _has_another(context: RunContext, attempt: Attempt) -> bool:
    own = context.account_for(attempt)
    return any(one is not own and one.halted is None for one in context.accounts[attempt.arm])


def goes_on(context: RunContext, attempt: Attempt) -> bool:
    """Whether an attempt at an account that is of no use is still seen to its end.

    What has ended is fetched. Where others of a pool go on, an account without credit is asked for whatever it has, and
    whether a create that it refused has made a batch. With a dead key that cannot be asked: it waits for a good one.
    """
    without_credit = isinstance(context.account_for(attempt).halted, OutOfCredit)
    needs_none = attempt.state not in UNSENT and not attempt.live
    return attempt.state in ("ended", "fetched") or (without_credit and needs_none and _has_another(context, attempt))


def passes_on(context: RunContext, attempt: Attempt) -> bool:
    """Whether its account would not have it, nothing was sent, and another one may."""
    return attempt.last_refusal in BREAKING_REFUSALS and _has_another(context, attempt)


async def hand_over(context: RunContext, under_way: Collection[int]) -> None:
    """Take back what was to go to a dead member and never went: others of its pool ask it."""
    for attempt in list(context.carried.values()):
        dead = context.account_for(attempt).halted is not None
        if dead and attempt.state in UNSENT and attempt.id not in under_way and _has_another(context, attempt):
            await _take_back(context, attempt)


async def _take_back(context: RunContext, attempt: Attempt) -> None:
    at = context.now()

    def fact(tx: Transaction) -> Attempt:
        return tx.attempts.abandon(attempt, at, PASSED_ON)

    context.keep(await context.ledger.commit("handed over", fact))
    await asyncio.to_thread(input_file(context.files, attempt.token).remove)
