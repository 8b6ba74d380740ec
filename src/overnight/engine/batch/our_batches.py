"""What the accounts have of this run, whatever the ledger believes: taken once a pass, before anything is sent.

A ledger that was restored from a backup knows less than was done. Where batches bear our names, the listings show it:
a batch under the name of an attempt is that attempt's, and one under a name that no attempt has was made later than
the ledger knows. So does the file `sent`, where it was not set back with the ledger.

A ledger that is older sends nothing, at no account: what it sent would be unknown to the newest one in its turn, and
a row that one account has would be asked at another of its pool.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec

from overnight.core.attempt import Attempt
from overnight.core.errors import ProviderError
from overnight.core.shard import is_of_run
from overnight.engine.context import RunContext
from overnight.engine.decisions import TIMES_WRONG
from overnight.engine.provider_account import OurBatches, ProviderAccount
from overnight.engine.waiting import NotNow, Stopped
from overnight.ledger.transaction import View
from overnight.providers.contract import Batch, Fence
from overnight.providers.provider import takes_batches

# So many pages of a hundred, and a listing is taken to be without an end.
LISTING_PAGES = 1000
_PAUSE = 30.0
# So many batches can be forgotten with the one command that is shown.
_SHOWN = 20


class Named(msgspec.Struct, frozen=True):
    """Batches that bear an attempt's name."""

    batches: tuple[str, ...]
    # The number of the account that lists them, where that is another one of the pool than the attempt's.
    account: int | None = None


class Astray(msgspec.Struct, frozen=True):
    """What was sent and is not on record."""

    # By name.
    batches: dict[str, tuple[str, ...]] = {}
    # Names of attempts of which no account lists a batch.
    unlisted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.batches or self.unlisted)


def of_this_run(run_id: str, batches: Iterable[Batch], denied: frozenset[str]) -> OurBatches:
    """The batches that bear this run's names; those that the user says are not to count stand apart."""
    found: dict[str, tuple[str, ...]] = {}
    disowned: set[str] = set()
    for batch in batches:
        if batch.tag is not None and is_of_run(run_id, batch.tag):
            if batch.id in denied or batch.tag in denied:
                disowned.add(batch.tag)
            else:
                found[batch.tag] = (*found.get(batch.tag, ()), batch.id)
    return OurBatches(found, frozenset(disowned))


async def our_batches_of(context: RunContext, account: ProviderAccount) -> OurBatches:
    """Taken once for each account of a pass: only this process makes batches of this run."""
    async with account.stocktaking:
        return await _kept(context, account)


async def _kept(context: RunContext, account: ProviderAccount) -> OurBatches:
    if account.our_batches is None:
        bears_names = takes_batches(account.provider) and account.batch_format.tags
        account.our_batches = await _take(context, account) if bears_names else OurBatches()
    return account.our_batches


async def _take(context: RunContext, account: ProviderAccount) -> OurBatches:
    fence = await asyncio.to_thread(partial(_since, context, account))
    seen = await account.patiently(lambda: account.batches.recent(fence, LISTING_PAGES))
    # One entry that nobody can read stops nobody: it would have to be ours, and the ledger older than it.
    while not seen.complete and not seen.endless and not seen.unread:
        await context.waiting.pause(_PAUSE)
        seen = await account.patiently(lambda: account.batches.recent(fence, LISTING_PAGES))
    denied = await context.ledger.read(lambda view: view.facts.disowned())
    return of_this_run(context.run_id, seen.batches, denied)


def _since(context: RunContext, account: ProviderAccount) -> Fence:
    """Everything newer than what the ledger knows of this account, or than the run itself."""
    view = context.ledger.view()
    known = (a.fence for a in view.attempts.everything() if a.fence is not None and context.account_for(a) is account)
    times = [fence.at for fence in known if fence.at is not None]
    begun = float(view.facts.get("begun_at") or "0")
    return Fence(max(times, default=begun) - TIMES_WRONG)


def _accounts(context: RunContext) -> list[ProviderAccount]:
    return list({id(one): one for pool in context.accounts.values() for one in pool}.values())


async def take_stock(context: RunContext) -> None:
    """Every account of the run is asked, before anything is sent at any of them.

    One that does not answer holds up no other: where the ledger is older, the names in `sent` that nobody lists do.
    """
    await asyncio.gather(*(_ask(context, account) for account in _accounts(context)))


async def _ask(context: RunContext, account: ProviderAccount) -> None:
    async with account.stocktaking:
        if not account.asked_in_vain:
            try:
                await _kept(context, account)
            except (ProviderError, NotNow, Stopped):
                account.asked_in_vain = True


def named_anywhere(context: RunContext, attempt: Attempt) -> Named | None:
    """What an account of the attempt's pool lists under its name; its own comes first."""
    own = context.account_for(attempt)
    for one in (own, *(other for other in context.accounts[attempt.arm] if other is not own)):
        if one.our_batches is not None and (batches := one.our_batches.named(attempt.token)):
            return Named(batches, None if one is own else one.number)
    return None


async def none_astray(context: RunContext, arm: int) -> bool:
    """Whether something of an arm may be sent: all that was sent of this run, at whatever account, is on record."""
    await take_stock(context)
    carried = list(context.carried.values())
    found = await asyncio.to_thread(lambda: astray(context, context.ledger.view(), carried))
    if found:
        context.halt_arm(arm, astray_text(context.name, found))
    return not found


async def may_be_called(context: RunContext, arm: int) -> bool:
    """Whether rows of an arm may be asked live: not those that a batch of this run has, where there may be one."""
    may_be = context.spilled or context.sent_since
    return not may_be or await none_astray(context, arm)


def astray(context: RunContext, view: View, carried: Sequence[Attempt]) -> Astray:
    """Batches under names that this ledger never sent, and names in `sent` that nobody lists: the ledger is older."""
    listed: dict[str, tuple[str, ...]] = {}
    for account in _accounts(context):
        stock = account.our_batches
        if stock is not None and not account.all_on_record:
            unknown = stock.listed.keys() - view.attempts.sent_among(stock.listed)
            account.all_on_record = not unknown
            # Two keys of one account list the same.
            listed |= {token: stock.listed[token] for token in stock.listed if token in unknown}
    expected = set(_about_to_be_found(context.run_id, view, carried)) if listed else set()
    batches = {token: ids for token, ids in listed.items() if token not in expected}
    return Astray(batches, tuple(_unlisted(context, view)) if context.sent_since else ())


def _about_to_be_found(run_id: str, view: View, carried: Sequence[Attempt]) -> Iterator[str]:
    """The names of what is to be sent, or waits for that."""
    yield from (attempt.token for attempt in carried)
    for shard in view.shards.waiting({attempt.shard for attempt in carried}):
        yield view.attempts.next_token(run_id, shard.id)[1]


def _unlisted(context: RunContext, view: View) -> list[str]:
    stocks = [one.our_batches for one in _accounts(context) if one.our_batches is not None]
    listed = {token for stock in stocks for token in (*stock.listed, *stock.disowned)}
    known = view.attempts.sent_among(context.sent_since) | view.facts.disowned()
    return sorted(context.sent_since - listed - known)


def astray_text(name: str, found: Astray) -> str:
    """Why nothing is sent, and what to type."""
    ids = list(dict.fromkeys(batch_id for batches in found.batches.values() for batch_id in batches))
    told = []
    if ids:
        count = "a batch" if len(ids) == 1 else f"{len(ids)} batches"
        told.append(f"the provider has {count} of this run that its ledger does not know ({_shown(ids, 3)})")
    if names := found.unlisted:
        were = "1 attempt was" if len(names) == 1 else f"{len(names)} attempts were"
        told.append(
            f"{were} sent that its ledger does not know, and no account lists a batch of it ({_shown(names, 3)})"
        )
    return (
        f"{'; '.join(told)}: the ledger is older, perhaps restored from a backup. Nothing is sent, because their rows "
        f"would be paid again. Put the newest ledger back (of two that each know a part, a copy can take over all "
        f"answers: docs/ledger.md); or, to let their rows be asked again: "
        f"overnight resolve {name} --forget {','.join((*ids, *names)[:_SHOWN])}"
    )


def _shown(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
