"""Listings, newest first: paged back to a fence, and honest about whether they got there."""

from collections.abc import Awaitable, Callable
from itertools import pairwise

import msgspec

from overnight.core.errors import ProviderError
from overnight.providers._contract import Batch, Fence, Sightings

# How far two of the provider's clocks may be apart before a listing is cut short too early.
_SLACK_SECONDS = 300.0


class Page(msgspec.Struct, frozen=True):
    """One page of a listing. `cursor` asks for the page behind it."""

    batches: tuple[Batch, ...]
    has_more: bool
    cursor: str | None = None
    date: float | None = None


Turn = Callable[[str | None], Awaitable[Page]]


async def back_to(fence: Fence, pages: int, turn: Turn) -> Sightings:
    """Page by page until the fence, the end, or so many pages. Trouble after the first page leaves it incomplete."""
    seen: dict[str, Batch] = {}
    began: float | None = None
    cursor: str | None = None
    for number in range(pages):
        try:
            page = await turn(cursor)
        except ProviderError:
            if number == 0:
                raise
            break
        began = page.date if number == 0 else began
        seen |= {batch.id: batch for batch in page.batches}
        if not page.has_more or reaches(fence, tuple(seen.values())):
            return Sightings(tuple(seen.values()), complete=True, date=began)
        if not page.batches:
            break
        cursor = page.cursor
    return Sightings(tuple(seen.values()), complete=False, date=began)


def reaches(fence: Fence, batches: tuple[Batch, ...]) -> bool:
    """Whether a listing, newest first, goes back past everything that the fence shows to be older.

    The batch at the fence is not enough by itself: times are whole seconds, and one created in the same
    second may be listed after it. A listing in any other order proves nothing before its end.
    """
    if not _newest_first(batches):
        return False
    newest_seen_at: float | None = None
    passed = False
    for batch in batches:
        at = batch.created_at
        if at is not None and at < fence.date - _SLACK_SECONDS:
            return True
        if passed and (at is None or newest_seen_at is None or at < newest_seen_at):
            return True
        if batch.id == fence.newest:
            passed, newest_seen_at = True, at
    return False


def _newest_first(batches: tuple[Batch, ...]) -> bool:
    times = [batch.created_at for batch in batches if batch.created_at is not None]
    return all(earlier >= later for earlier, later in pairwise(times))


def fence_of(newest: Batch | None, date: float | None) -> Fence:
    """Without the server's clock any older time will do: the listing then reaches back further."""
    earliest = (newest.created_at if newest else None) or 0.0
    return Fence(newest.id if newest else None, date if date is not None else earliest)
