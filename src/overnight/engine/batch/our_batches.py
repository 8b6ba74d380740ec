"""What an account has of this run, whatever the ledger believes: taken once a pass, before anything is sent.

A ledger that was restored from a backup knows less than was done. Where batches bear our names, the listing shows it:
a batch under the name of an attempt is that attempt's, and one under a name that no attempt has was made later than
the ledger knows.
"""

import asyncio
from collections.abc import Iterable
from functools import partial

from overnight.core.shard import is_of_run
from overnight.engine.context import RunContext
from overnight.engine.decisions import TIMES_WRONG
from overnight.engine.provider_account import OurBatches, ProviderAccount
from overnight.providers.contract import Batch, Fence

# So many pages of a hundred, and a listing is taken to be without an end.
LISTING_PAGES = 1000
_PAUSE = 30.0


def of_this_run(run_id: str, batches: Iterable[Batch], denied: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """The batches that bear this run's names, without those that the user says are not to count."""
    found: dict[str, tuple[str, ...]] = {}
    for batch in batches:
        if batch.tag is not None and is_of_run(run_id, batch.tag) and batch.id not in denied:
            found[batch.tag] = (*found.get(batch.tag, ()), batch.id)
    return found


async def our_batches_of(context: RunContext, account: ProviderAccount) -> OurBatches:
    """Taken once for each account of a pass: only this process makes batches of this run."""
    async with account.stocktaking:
        if account.our_batches is None:
            account.our_batches = await _take(context, account) if account.batch_format.tags else OurBatches()
        return account.our_batches


async def _take(context: RunContext, account: ProviderAccount) -> OurBatches:
    fence = await asyncio.to_thread(partial(_since, context, account))
    seen = await account.patiently(lambda: account.batches.recent(fence, LISTING_PAGES))
    # One entry that nobody can read stops nobody: it would have to be ours, and the ledger older than it.
    while not seen.complete and not seen.endless and not seen.unread:
        await context.waiting.pause(_PAUSE)
        seen = await account.patiently(lambda: account.batches.recent(fence, LISTING_PAGES))
    denied = await context.ledger.read(lambda view: view.facts.disowned())
    return OurBatches(of_this_run(context.run_id, seen.batches, denied))


def _since(context: RunContext, account: ProviderAccount) -> Fence:
    """Everything newer than what the ledger knows of this account, or than the run itself."""
    view = context.ledger.view()
    known = (a.fence for a in view.attempts.everything() if a.fence is not None and context.account_for(a) is account)
    times = [fence.at for fence in known if fence.at is not None]
    begun = float(view.facts.get("begun_at") or "0")
    return Fence(max(times, default=begun) - TIMES_WRONG)


def strays(context: RunContext, our_batches: OurBatches) -> dict[str, tuple[str, ...]]:
    """Batches under names that no attempt bears: the ledger is older than they are."""
    known = context.ledger.view().attempts.known_tokens(our_batches.listed)
    return {token: ids for token, ids in our_batches.listed.items() if token not in known}


def strays_text(name: str, found: dict[str, tuple[str, ...]]) -> str:
    """Why nothing is sent, and what to type."""
    ids = [batch_id for batches in found.values() for batch_id in batches]
    shown = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
    count = "a batch" if len(ids) == 1 else f"{len(ids)} batches"
    return (
        f"the provider has {count} of this run that its ledger does not know ({shown}): the ledger is older, perhaps "
        f"restored from a backup. Nothing is sent, because their rows would be paid again. Put the newest ledger back; "
        f"or, to let their rows be asked again: overnight resolve {name} --forget {ids[0]}"
    )
