"""Looking at the provider for an attempt's batch: before it is sent, after its fate was lost, and when it is denied."""

import asyncio
from collections.abc import Iterable

import msgspec

from overnight.core.attempt import Attempt, Closed, Looked, Reopened
from overnight.engine.batch.our_batches import (
    LISTING_PAGES,
    Named,
    named_anywhere,
    none_astray,
    our_batches_of,
    take_stock,
)
from overnight.engine.batch.outbox import input_file
from overnight.engine.context import RunContext
from overnight.engine.decisions import LOOKS, how_far, may_follow
from overnight.engine.provider_account import ProviderAccount
from overnight.engine.waiting import NotNow
from overnight.ledger.transaction import Transaction, View
from overnight.providers.contract import Batch, CreateAnswer, Intent
from overnight.providers.provider import chooses_ids


def listed_as_ours(
    account: ProviderAccount, intent: Intent, attempt: Attempt, batches: Iterable[Batch]
) -> tuple[str, ...]:
    """The batches that are surely this attempt's."""
    told = (batch.id for batch in batches if account.batch_format.ours(batch, intent, attempt.file_id) == "yes")
    return tuple(dict.fromkeys(told))


async def found_before(context: RunContext, account: ProviderAccount, attempt: Attempt) -> Named | Attempt | None:
    """What the providers have of a shard that is about to be sent. NotNow when nothing may be sent at all.

    Batches that bear the attempt's name; or an earlier attempt of the shard that has one, and goes on instead.
    """
    await our_batches_of(context, account)  # one that cannot be asked is sent nothing
    await take_stock(context)
    if found := named_anywhere(context, attempt):
        return found
    if attempt.n > 1:
        earlier = await asyncio.to_thread(lambda: _given_up(context.ledger.view(), attempt))
        for one in earlier:
            stock = context.account_for(one).our_batches
            if stock is not None and (batches := stock.named(one.token)):
                return await _reopen(context, attempt, one, batches)
    if not await none_astray(context, attempt.arm):
        raise NotNow
    return None


def _given_up(view: View, attempt: Attempt) -> list[Attempt]:
    """Earlier attempts of the same shard that were thought to have made no batch."""
    same = (one for one in view.attempts.everything() if one.shard == attempt.shard and one.id != attempt.id)
    return [one for one in same if one.closed is not None and one.closed.how in ("absent", "refused")]


async def _reopen(context: RunContext, present: Attempt, earlier: Attempt, batches: tuple[str, ...]) -> Attempt:
    at, batch_id = context.now(), batches[0]

    def fact(tx: Transaction) -> tuple[Attempt, Attempt]:
        why = f"attempt {earlier.n} has made a batch after all"
        tx.spending.presume_whole(earlier.shard, earlier.arm, earlier.id, len(batches) - 1)
        return tx.attempts.record(present, Closed("abandoned", why), at), tx.attempts.record(
            earlier, Reopened(batch_id), at
        )

    closed, reopened = await context.ledger.commit("reopened", fact)
    context.keep(closed)
    context.keep(reopened)
    await asyncio.to_thread(input_file(context.files, closed.token).remove)
    context.say(
        f"shard {present.shard}: found batch {batch_id} of attempt {earlier.n}, which was thought not to be made"
    )
    return reopened


async def own_answer(
    context: RunContext, account: ProviderAccount, attempt: Attempt, intent: Intent, answer: CreateAnswer
) -> CreateAnswer:
    """The answer to a create; one with another batch in it, as a cache on the way gives, tells nothing of ours."""
    batch = answer.batch
    if batch is None:
        return answer
    known = await context.ledger.read(lambda view: view.attempts.batches())
    # Some servers tell neither a tag nor an input.
    says_whose = batch.tag is not None or (batch.input_ref is not None and bool(attempt.file_id))
    of_another = says_whose and account.batch_format.ours(batch, intent, attempt.file_id) == "no"
    if batch.id not in known and not of_another:
        return answer
    problem = f"the provider answered the create with another batch ({batch.id})"
    return msgspec.structs.replace(answer, batch=None, problem=problem)


async def look(context: RunContext, account: ProviderAccount, attempt: Attempt, intent: Intent) -> Looked:
    """One look for a batch that may have been made: by its id where we chose it, else through the listing."""
    provider, fence, its_format = account.batches, how_far(attempt.fence), account.batch_format
    if chooses_ids(its_format):
        batch_id = its_format.batch_id(attempt.token)
        if await account.patiently(lambda: provider.retrieve(batch_id)) is not None:
            return Looked(complete=True, candidates=(batch_id,))
    seen = await account.patiently(lambda: provider.recent(fence, LISTING_PAGES))
    found = listed_as_ours(account, intent, attempt, seen.batches)
    # An entry that nobody can read may be this one. If it stays so, only the user can tell.
    hidden = seen.unread > 0 and context.now() >= (attempt.unsure_since or context.now()) + LOOKS[-1]
    endless = seen.endless or hidden
    if account.batch_format.tags:
        return Looked(seen.complete, found, endless=endless)
    known = await context.ledger.read(lambda view: view.attempts.batches())
    # One that does not say how it stands is among the unread.
    young = (batch for batch in may_follow(attempt.fence, seen.batches) if batch.id not in known and batch.status)
    ours = account.batch_format.ours
    possible = tuple(batch.id for batch in young if ours(batch, intent, attempt.file_id) == "maybe")
    return Looked(seen.complete, found, possible, endless)


async def as_listed(account: ProviderAccount, attempt: Attempt, intent: Intent, batch_id: str) -> Batch | None:
    """A batch as the listing shows it, which may know what is denied to whoever asks by name.

    Where it does not, the one other batch that is surely this attempt's: then the name was wrong.
    """
    fence = how_far(attempt.fence)
    seen = await account.patiently(lambda: account.batches.recent(fence, LISTING_PAGES))
    listed = {batch.id: batch for batch in seen.batches}
    if batch_id in listed or attempt.adopted or attempt.state != "running":
        return listed.get(batch_id)
    ours = listed_as_ours(account, intent, attempt, seen.batches)
    return listed[ours[0]] if len(ours) == 1 else None
