"""Before anything is sent: are we who we were? Another account can neither see nor disprove our batches."""

from collections.abc import Callable, Collection
from functools import partial

from overnight.core.ask import Model
from overnight.core.attempt import Attempt
from overnight.core.errors import AccountChanged, Unavailable
from overnight.engine.context import RunContext
from overnight.engine.provider_account import ProviderAccount
from overnight.engine.waiting import NotNow
from overnight.ledger.identity import Account, fingerprint
from overnight.ledger.transaction import Transaction, View
from overnight.providers.provider import Provider


def account_identity(run_id: str, provider: Provider) -> Account:
    """Who asks, as this run keeps it: never the key itself."""
    endpoint = provider.endpoint
    return Account(
        provider=provider.name,
        place=endpoint.identity or endpoint.base_url,
        organization=endpoint.organization or "",
        project=endpoint.project or "",
        fingerprint=fingerprint(run_id, endpoint.key),
    )


async def check_accounts(context: RunContext, *, accept: bool, until: float) -> None:
    """Every open attempt must be reachable with today's key and address, or the user must say so; by `until`."""
    view = context.ledger.view()
    known = view.accounts.everything()
    root = view.accounts.root
    strangers: dict[tuple[int, tuple[ProviderAccount, ...]], list[Attempt]] = {}
    used: set[int] = set()
    for attempt in view.attempts.everything():
        pool = context.accounts[attempt.arm]
        used.add(attempt.account)
        if _at_stake(attempt) and root(attempt.account) not in {root(account.number) for account in pool}:
            strangers.setdefault((attempt.account, pool), []).append(attempt)
    for (old, pool), open_attempts in strangers.items():
        # Of a pool, those that nothing was sent with yet are the likelier ones.
        for account in sorted(pool, key=lambda one: one.number in used):
            changed = " and ".join(known[account.number].differs_from(known[old]))
            if accept or await _proved(context, account, open_attempts, changed, until):
                await context.ledger.commit("account", partial(_same, new=account.number, old=old))
                context.forget_seats()
                how = "as you say" if accept else "it sees our batches"
                context.say(f"the {changed} changed since the batches were sent; same account: {how}")
                await context.note("account", f"{changed} changed; taken as the same account: {how}")
                break
        else:
            changed = " and ".join(known[pool[0].number].differs_from(known[old]))
            raise AccountChanged(_message(context, known[old], changed, open_attempts))


def same_accounts(view: View, number: int) -> frozenset[Account]:
    """An account on record, and all that were shown to be the same."""
    root = view.accounts.root
    return frozenset(one for other, one in view.accounts.everything().items() if root(other) == root(number))


async def sent_with(
    run_id: str, model: Model, same: Collection[Account], connect: Callable[[Model], Provider]
) -> Provider:
    """The member of a pool that something was sent with; the first where none of today's is."""
    for one in model.members if len(model.members) > 1 else ():
        provider = connect(one)
        if account_identity(run_id, provider) in same:
            return provider
        await provider.connection.close()
    return connect(model.members[0])


def _same(tx: Transaction, new: int, old: int) -> None:
    tx.accounts.take_as_same(new, old)


def _at_stake(attempt: Attempt) -> bool:
    """Whether something of it is at the provider, or may be."""
    if attempt.live:
        return False
    if attempt.state == "uploaded":
        return bool(attempt.file_id)
    return attempt.state not in ("intended", "fetched", "closed")


async def _proved(
    context: RunContext, account: ProviderAccount, open_attempts: list[Attempt], changed: str, until: float
) -> bool:
    """Unavailable when it could not be asked: a pass that does not wait asks once, any other until its time is over."""
    asked = await context.waiting.before(until, _sees_one_of(account, open_attempts))
    if asked is not None and not isinstance(asked.exception(), NotNow):
        return asked.result()
    raise Unavailable(
        f"the {changed} changed since batches were sent, and whether this is the same account could not be asked: "
        f"{account.trouble or 'no answer'}"
    )


async def _sees_one_of(account: ProviderAccount, open_attempts: list[Attempt]) -> bool:
    """Batches and files are visible to their own account only: seeing one proves whose key this is.

    So does the batch at the fence, which the account had listed just before a create.
    """
    for attempt in open_attempts:
        file_id = attempt.file_id
        at_fence = attempt.fence.newest if attempt.fence is not None else None
        for batch_id in (attempt.batch_id, *attempt.possible, at_fence):
            if (
                batch_id is not None
                and await account.patiently(partial(account.batches.retrieve, batch_id)) is not None
            ):
                return True
        if file_id is not None and await account.patiently(partial(account.batches.knows_file, file_id)):
            return True
    return False


def _message(context: RunContext, old: Account, changed: str, open_attempts: list[Attempt]) -> str:
    count = len(open_attempts)
    name = context.name
    batches = "1 open batch was" if count == 1 else f"{count} open batches were"
    return (
        f"run '{name}': {batches} sent with another {changed} ({old.provider} at {old.place}), and this account does "
        f"not know of them. Nothing was sent. Put the old one back, or, if you are sure that it is the same account: "
        f"overnight resume {name} --accept-account"
    )
