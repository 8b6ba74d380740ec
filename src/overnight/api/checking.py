"""What providers say of a run's open batches, asked once: nothing is fetched or sent, and nothing is put on record."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from overnight.api.foreground import run_engine
from overnight.api.work import connector, silent
from overnight.core.attempt import Attempt
from overnight.core.errors import LedgerError, OvernightError
from overnight.emulation import emulator
from overnight.engine.account_check import same_accounts, sent_with
from overnight.ledger.ledger import look_at
from overnight.providers import batches_of
from overnight.providers.provider import Provider
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder

Reach = Callable[[Attempt], Awaitable[Provider]]
# So many are asked for at once.
_AT_ONCE = 8


class BatchCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One batch as its provider has it now, in the provider's own word for its status."""

    batch_id: str
    status: str
    rows: int
    completed: int = 0
    failed: int = 0
    # Whether it has ended, so that its rows can be fetched.
    ended: bool = False
    # Why the provider could not be asked.
    trouble: str | None = None


def check_batches(folder: RunFolder, place: Settings) -> tuple[BatchCheck, ...]:
    """Every batch that is not done, in the order of its shards. The run's lock is not needed."""
    with suppress(LedgerError), look_at(folder) as view:
        known = view.stages.arms()
        there = [one for one in view.attempts.everything() if one.batch_id is not None and one.state != "closed"]
        run_id, senders = view.facts.get("run_id") or "", {one.id: same_accounts(view, one.account) for one in there}
        if there:
            with emulator(place) as emulated:
                connect = connector(place, emulated)

                def reach(attempt: Attempt) -> Awaitable[Provider]:
                    return sent_with(run_id, known[attempt.arm].model, senders[attempt.id], connect)

                return run_engine(lambda: _check_all(there, reach), lambda: None, silent).value
    return ()


async def _check_all(there: Sequence[Attempt], reach: Reach) -> tuple[BatchCheck, ...]:
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def one(attempt: Attempt) -> BatchCheck:
        async with at_once:
            return await _check(attempt, reach)

    return tuple(await asyncio.gather(*map(one, there)))


async def _check(attempt: Attempt, reach: Reach) -> BatchCheck:
    batch_id = attempt.batch_id or ""
    try:
        batches = batches_of(await reach(attempt))
        try:
            found = await batches.retrieve(batch_id)
        finally:
            await batches.close()
    except OvernightError as error:
        return BatchCheck(batch_id=batch_id, rows=attempt.rows, status="unknown", trouble=str(error))
    if found is None:
        return BatchCheck(batch_id=batch_id, rows=attempt.rows, status="not known to the provider")
    return BatchCheck(
        batch_id=batch_id,
        rows=attempt.rows,
        status=found.status,
        completed=found.counts.completed,
        failed=found.counts.failed,
        ended=found.phase != "running",
    )
