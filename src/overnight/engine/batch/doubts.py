"""One create of an account at a time; and none, where batches bear no tag, while another one is in doubt.

Lost creates could be taken for one another there. Runs of one database tell each other of theirs.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from overnight.core.attempt import Attempt
from overnight.engine.context import RunContext
from overnight.engine.provider_account import ProviderAccount
from overnight.engine.waiting import NotNow

# While another create of the account is in doubt, look this often whether it still is.
_LOOK_AGAIN = 30.0


@asynccontextmanager
async def only_create(context: RunContext, attempt: Attempt, *, until_sent: bool) -> AsyncIterator[None]:
    """Nobody else creates meanwhile, so that the fence of each one is honest. NotNow for who does not wait for that."""
    account = context.account_for(attempt)
    async with account.creating:
        if account.batch_format.tags:
            yield
            return
        await _none_in_doubt(context, account, attempt, until_sent=until_sent)
        try:
            yield
        finally:
            context.share_doubt(account)  # by now it is on record, or there is none


async def _none_in_doubt(context: RunContext, account: ProviderAccount, attempt: Attempt, *, until_sent: bool) -> None:
    told = False
    while True:
        own = context.in_doubt(account, besides=attempt)
        theirs = context.claim_doubt(account) if own is None else None
        if own is None and theirs is None:
            return
        if account.halted is not None:
            raise account.halted
        if own is not None and own.id in context.left:
            raise NotNow  # nobody here finds out what became of it
        if theirs is not None and not told:
            told = True
            context.say(
                f"shard {attempt.shard}: waits until run '{theirs.run}' knows what became of a create of this account"
            )
        if until_sent and (own.possible if own is not None else theirs is not None and theirs.possible):
            raise NotNow  # what may be its batch can run for a day
        await context.waiting.pause(_LOOK_AGAIN)
