"""Listings, newest first: paged back to a fence, and honest about whether they got there."""

from collections.abc import Awaitable, Callable, Iterable
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from overnight.core.errors import ProviderError, Unavailable
from overnight.core.shard import is_token
from overnight.providers.contract import Batch, Fence, Intent, Ours, Sightings
from overnight.providers.reading.patient_json import UNREADABLE

Entry = TypeVar("Entry")
# A server whose clock shows so much less than before has been set back.
_SET_BACK_SECONDS = 60.0


class Page(msgspec.Struct, frozen=True):
    """One page of a listing. `cursor` asks for the page behind it; `unread` are entries that could not be read."""

    batches: tuple[Batch, ...]
    has_more: bool
    cursor: str | None = None
    date: float | None = None
    unread: int = 0


def readable(entries: Iterable[Entry], read: Callable[[Entry], Batch]) -> tuple[tuple[Batch, ...], int]:
    """The entries of a page that can be read, and how many cannot: an odd one hides no other, and proves nothing.

    One that does not say how it stands is known by its id, but may be of any kind.
    """
    batches: list[Batch] = []
    unread = 0
    for entry in entries:
        try:
            batch = read(entry)
        except ProviderError:
            unread += 1
        else:
            batches.append(batch)
            unread += not batch.status
    return tuple(batches), unread


def ours_by_tag(batch: Batch, intent: Intent, file_id: str | None) -> Ours:
    """Where a batch carries our token, or names its input."""
    same_file = file_id is not None and batch.input_ref == file_id
    return "yes" if batch.tag == intent.token or same_file else "no"


def asked_for(batch_id: str, found: Batch) -> Batch:
    """A batch that was asked for by its id. A cache on the way may answer with another: that is no news of this one."""
    if found.id != batch_id.rsplit("/", 1)[-1]:
        raise Unavailable(
            f"asked for batch {batch_id}, and was answered with {found.id}: something on the way is wrong"
        )
    return found


def foreign_list(body: bytes, name: str) -> bool:
    """Whether a page has another list than that of this name: one of files, say, is not an empty one of batches."""
    try:
        found = msgspec.json.decode(body, type=dict[str, Any])
    except UNREADABLE:
        return True
    return name not in found and any(isinstance(value, list) for value in found.values())


def check_name(vendor: str, name: object, token: str) -> None:
    """What an upload is called in its answer. One with another attempt's name is that one's: it would run other rows.

    Gateways give names of their own, so that a name that is none of ours says nothing.
    """
    if isinstance(name, str) and (called := name.removesuffix(".jsonl")) != token and is_token(called):
        raise Unavailable(f"{vendor}: uploaded {token}, and was answered with {called}: something on the way is wrong")


Turn = Callable[[str | None], Awaitable[Page]]


async def first_page(turn: Turn) -> Sightings:
    page = await turn(None)
    complete = not page.has_more and not page.unread
    return Sightings(page.batches, complete=complete, date=page.date, unread=page.unread)


async def back_to(fence: Fence, pages: int, turn: Turn) -> Sightings:
    """Page by page until the fence, the end, or so many pages. Trouble after the first page leaves it incomplete."""
    seen: dict[str, Batch] = {}
    began: float | None = None
    cursor: str | None = None
    last: tuple[Batch, ...] = ()
    trusted = True
    unread = 0
    for number in range(pages):
        try:
            page = await turn(cursor)
        except ProviderError:
            if number == 0:
                raise
            return Sightings(tuple(seen.values()), complete=False, date=began, unread=unread)
        began = page.date if number == 0 else began
        fresh = {batch.id: batch for batch in page.batches if batch.id not in seen}
        seen |= fresh
        unread += page.unread
        trusted = trusted and newest_first((*last, *page.batches)) and not set_back(fence, began)
        if not page.has_more or (trusted and reaches(fence, page.batches)):
            return Sightings(tuple(seen.values()), complete=not unread, date=began, unread=unread)
        if not (fresh or page.unread) or page.cursor is None or page.cursor == cursor:
            break
        cursor, last = page.cursor, page.batches[-1:] or last
    return Sightings(tuple(seen.values()), complete=False, date=began, endless=True, unread=unread)


def reaches(fence: Fence, batches: tuple[Batch, ...]) -> bool:
    """Whether a page shows a batch from before the fence, by the times that batches bear and no other clock."""
    times = (batch.created_at for batch in batches if batch.created_at is not None)
    return fence.at is not None and any(at < fence.at for at in times)


def newest_first(batches: tuple[Batch, ...]) -> bool:
    """A listing in any other order proves nothing before its end."""
    times = [batch.created_at for batch in batches if batch.created_at is not None]
    return all(earlier >= later for earlier, later in pairwise(times))


def set_back(fence: Fence, date: float | None) -> bool:
    """Whether the server's clock shows less than it did at the fence."""
    return date is not None and fence.date is not None and date < fence.date - _SET_BACK_SECONDS
