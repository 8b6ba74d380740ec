"""What an account has of this run, whatever the ledger believes: taken once a pass, before anything is sent.

A ledger that was restored from a backup knows less than was done. Where batches bear our names, the listing shows it:
a batch under the name of an attempt is that attempt's, and one under a name that no attempt has was made later than
the ledger knows.
"""

import asyncio
from collections.abc import Iterable
from functools import partial

from overnight.core.shard import is_of_run
from overnight.engine.decisions import TIMES_WRONG
from overnight.engine.desk import Desk, Stock
from overnight.engine.scene import Scene
from overnight.ledger.identity import disowned, get_fact
from overnight.ledger.shards import attempts, tokens_on_record
from overnight.providers._contract import Batch, Fence

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


async def stock_of(scene: Scene, desk: Desk) -> Stock:
    """Taken once for each account of a pass: only this process makes batches of this run."""
    async with desk.stocktaking:
        if desk.stock is None:
            desk.stock = await _take(scene, desk) if desk.batches.tags else Stock()
        return desk.stock


async def _take(scene: Scene, desk: Desk) -> Stock:
    fence = await asyncio.to_thread(partial(_since, scene, desk))
    seen = await desk.patiently(lambda: desk.batches.recent(fence, LISTING_PAGES))
    while not seen.complete and not seen.endless:
        await scene.patience.pause(_PAUSE)
        seen = await desk.patiently(lambda: desk.batches.recent(fence, LISTING_PAGES))
    denied = await asyncio.to_thread(lambda: disowned(scene.db.reader()))
    return Stock(of_this_run(scene.run_id, seen.batches, denied))


def _since(scene: Scene, desk: Desk) -> Fence:
    """Everything newer than what the ledger knows of this account, or than the run itself."""
    reader = scene.db.reader()
    known = (a.fence for a in attempts(reader) if a.fence is not None and scene.desk_of(a.arm) is desk)
    times = [fence.at for fence in known if fence.at is not None]
    begun = float(get_fact(reader, "begun_at") or "0")
    return Fence(max(times, default=begun) - TIMES_WRONG)


def strays(scene: Scene, stock: Stock) -> dict[str, tuple[str, ...]]:
    """Batches under names that no attempt bears: the ledger is older than they are."""
    known = tokens_on_record(scene.db.reader(), stock.listed)
    return {token: ids for token, ids in stock.listed.items() if token not in known}


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
