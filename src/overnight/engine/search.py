"""Looking at the provider for an attempt's batch: before it is sent, after its fate was lost, and when it is denied."""

import asyncio
import sqlite3
from collections.abc import Iterable

import msgspec

from overnight.core.attempt import Attempt, Closed, Looked, Reopened
from overnight.engine.decisions import how_far, may_follow
from overnight.engine.desk import Desk
from overnight.engine.patience import NotNow
from overnight.engine.scene import Scene
from overnight.engine.stock import LISTING_PAGES, stock_of, strays, strays_text
from overnight.ledger.shards import attempts, batches_on_record, record
from overnight.providers._contract import Batch, Intent


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Batches that bear this attempt's name; or an earlier attempt of the shard that has one, and goes on instead."""

    batches: tuple[str, ...] = ()
    instead: Attempt | None = None


def listed_as_ours(desk: Desk, intent: Intent, attempt: Attempt, batches: Iterable[Batch]) -> tuple[str, ...]:
    """The batches that are surely this attempt's."""
    told = (batch.id for batch in batches if desk.batches.ours(batch, intent, attempt.file_id) == "yes")
    return tuple(dict.fromkeys(told))


async def found_before(scene: Scene, desk: Desk, attempt: Attempt) -> Found:
    """What the provider has of a shard that is about to be sent. NotNow when nothing may be sent at all."""
    stock = await stock_of(scene, desk)
    if not stock.listed:
        return Found()
    if batches := stock.named(attempt.token):
        return Found(batches=batches)
    if attempt.n > 1:
        earlier = await asyncio.to_thread(lambda: _given_up(scene.db.reader(), attempt))
        for one in earlier:
            if batches := stock.named(one.token):
                return Found(instead=await _reopen(scene, attempt, one, batches[0]))
    unknown = await asyncio.to_thread(lambda: strays(scene, stock))
    if unknown:
        scene.halt_arm(attempt.arm, strays_text(scene.folder.name, unknown))
        raise NotNow
    return Found()


def _given_up(db: sqlite3.Connection, attempt: Attempt) -> list[Attempt]:
    """Earlier attempts of the same shard that were thought to have made no batch."""
    same = (one for one in attempts(db) if one.shard == attempt.shard and one.id != attempt.id)
    return [one for one in same if one.closed is not None and one.closed.how in ("absent", "refused")]


async def _reopen(scene: Scene, present: Attempt, earlier: Attempt, batch_id: str) -> Attempt:
    at = scene.now()

    def fact(db: sqlite3.Connection) -> tuple[Attempt, Attempt]:
        why = f"attempt {earlier.n} has made a batch after all"
        return record(db, present, Closed("abandoned", why), at), record(db, earlier, Reopened(batch_id), at)

    closed, reopened = await scene.db.commit("reopened", fact)
    scene.keep(closed)
    scene.keep(reopened)
    scene.say(f"shard {present.shard}: found batch {batch_id} of attempt {earlier.n}, which was thought not to be made")
    return reopened


async def look(scene: Scene, desk: Desk, attempt: Attempt, intent: Intent) -> Looked:
    """One look through the listing for a batch that may have been made."""
    provider, fence = desk.batches, how_far(attempt.fence)
    seen = await desk.patiently(lambda: provider.recent(fence, LISTING_PAGES))
    found = listed_as_ours(desk, intent, attempt, seen.batches)
    if provider.tags:
        return Looked(seen.complete, found, endless=seen.endless)
    known = await asyncio.to_thread(lambda: batches_on_record(scene.db.reader()))
    young = (batch for batch in may_follow(attempt.fence, seen.batches) if batch.id not in known)
    possible = tuple(batch.id for batch in young if provider.ours(batch, intent, attempt.file_id) == "maybe")
    return Looked(seen.complete, found, possible, seen.endless)


async def as_listed(desk: Desk, attempt: Attempt, batch_id: str) -> Batch | None:
    """A batch as the listing shows it, which may know what is denied to whoever asks by name."""
    fence = how_far(attempt.fence)
    seen = await desk.patiently(lambda: desk.batches.recent(fence, LISTING_PAGES))
    return next((batch for batch in seen.batches if batch.id == batch_id), None)
