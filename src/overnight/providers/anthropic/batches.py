"""Anthropic's Message Batches, listings and refusals, read into the contract's nouns."""

import re
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.contract import Batch, Counts, Limits, Phase, Refusal, RefusalKind
from overnight.providers.reading.complaints import complaint_of
from overnight.providers.reading.figures import count_of, moment_of
from overnight.providers.reading.listing import Page, readable
from overnight.providers.reading.patient_json import UNREADABLE, fitting
from overnight.providers.reading.responses import Response

# The same for every model. How many requests may be queued depends on the account, and its refusal is a plain 429.
LIMITS = Limits(requests=100_000, bytes=256_000_000, retention_days=29, discount="50%")

_RUNNING = frozenset({"in_progress", "canceling"})
_TOO_LARGE = re.compile(r"too (?:large|big|many)|larger than|exceeds? the maximum", re.IGNORECASE)
_CODES: dict[str, RefusalKind] = {"organization_on_hold": "unauthorized"}
_STATUS_KINDS: dict[int, RefusalKind] = {
    401: "unauthorized",
    402: "no_credit",
    403: "unauthorized",
    413: "too_large",
    429: "throttled",
    529: "throttled",
}


class _Counts(msgspec.Struct):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0


class _Batch(msgspec.Struct):
    id: str
    processing_status: str = ""
    request_counts: _Counts | None = None
    created_at: datetime | None = None
    expires_at: datetime | None = None
    results_url: str | None = None


class _Page(msgspec.Struct):
    data: list[msgspec.Raw]
    has_more: bool | None = None
    last_id: str | None = None


class _Named(msgspec.Struct):
    id: str


def read_batch(body: bytes, base_url: str) -> Batch:
    """A batch object. A field of another kind is not known; without a known status it is taken to be running."""
    try:
        return _batch(fitting(body, _Batch), base_url)
    except UNREADABLE:
        return Batch(id=_named(body), phase="running", status="", known_status=False)


def _named(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Named).id
    except UNREADABLE:
        raise Unavailable("anthropic: the answer is not in Anthropic's format (is the base URL right?)") from None


def read_page(body: bytes, base_url: str, date: float | None = None) -> Page:
    try:
        page = msgspec.json.decode(body, type=_Page)
    except UNREADABLE:
        raise Unavailable("anthropic: the listing is not in Anthropic's format (is the base URL right?)") from None
    # A listing proves absence, so its end must be said, or shown by a page with nothing on it.
    more = page.has_more if page.has_more is not None else bool(page.data)
    batches, unread = readable(page.data, lambda one: read_batch(bytes(one), base_url))
    return Page(batches, more, page.last_id or (batches[-1].id if batches else None), date, unread)


def _batch(found: _Batch, base_url: str) -> Batch:
    told = found.request_counts or _Counts()
    counts = _Counts(*(count_of(getattr(told, name)) or 0 for name in _Counts.__struct_fields__))
    ended = found.processing_status == "ended"
    total = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
    return Batch(
        id=found.id,
        phase=_ending(counts) if ended else "running",
        status=found.processing_status,
        created_at=_moment(found.created_at),
        expires_at=_moment(found.expires_at),
        counts=Counts(total, counts.succeeded, counts.errored + counts.canceled + counts.expired),
        parts=(("output", _results(found, base_url)),) if ended else (),
        known_status=ended or found.processing_status in _RUNNING,
    )


def _moment(at: datetime | None) -> float | None:
    try:
        return moment_of(at.timestamp()) if at is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _ending(counts: _Counts) -> Phase:
    """Batches only end; how they ended shows in what became of their requests."""
    if counts.canceled:
        return "cancelled"
    return "expired" if counts.expired else "completed"


def _results(found: _Batch, base_url: str) -> str:
    """The batch's own id finds its results at our address; results at another one are named in full."""
    here = urlsplit(base_url)
    try:
        there = urlsplit(found.results_url or base_url)
    except ValueError:
        there = here
    same = (there.scheme, there.netloc) == (here.scheme, here.netloc)
    return found.id if same else f"{found.id} {found.results_url}"


def create_refusal(reply: Response, secret: str = "") -> Refusal | None:
    """Why a create was refused; None when the answer leaves open whether it was."""
    if not reply.definitely_refused:
        return None
    said = complaint_of(reply.body, secret)
    kind = _STATUS_KINDS.get(reply.status, "invalid")
    if said.no_credit:
        kind = "no_credit"
    elif kind == "invalid":
        kind = _CODES.get(said.code) or ("too_large" if _TOO_LARGE.search(said.message) else "invalid")
    return Refusal(
        kind=kind,
        message=said.message or said.code or f"HTTP {reply.status}",
        retry_after=reply.retry_after,
    )
