"""xAI's batches and pages of results, read into the contract's nouns. A batch has no word for its state."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.contract import Batch, Counts, Phase, Refusal
from overnight.providers.openai_api.batches import create_refusal as openai_refusal
from overnight.providers.openai_api.batches import kind_of
from overnight.providers.reading.complaints import Complaint, scrub
from overnight.providers.reading.figures import count_of, moment_of
from overnight.providers.reading.listing import Page, check_name, foreign_list, readable
from overnight.providers.reading.patient_json import UNREADABLE, fitting
from overnight.providers.reading.responses import Response

# Seen to take twenty seconds.
_SETTLING_SECONDS = 120.0


class _Batch(msgspec.Struct):
    batch_id: str
    name: str | None = None
    create_time: str | None = None
    expire_time: str | None = None
    cancel_time: str | None = None
    cancel_by_xai_message: str | None = None
    state: dict[str, Any] | None = None


class _Batches(msgspec.Struct):
    batches: list[msgspec.Raw] = []
    pagination_token: str | None = None


class Results(msgspec.Struct):
    """A page of results, each as it is, and what asks for the next."""

    results: list[msgspec.Raw] = []
    pagination_token: str | None = None


def read_batch(body: bytes, now: float | None = None) -> Batch:
    """`now` is the server's own time."""
    try:
        return _batch(fitting(body, _Batch), now)
    except UNREADABLE:
        raise _foreign("answer") from None


def read_opened(body: bytes, token: str) -> str:
    """The id of the empty batch that was made under this name."""
    batch = read_batch(body)
    check_name("xai", fitting(body, _Batch).name, token)
    return batch.id


def check_added(body: bytes) -> None:
    """The answer to added requests tells nothing, but a web page in its place tells that nobody has added them."""
    try:
        known = not body.strip() or "error" not in msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        known = False
    if not known:
        raise _foreign("answer")


def read_page(body: bytes, now: float | None = None) -> Page:
    try:
        found = msgspec.json.decode(body, type=_Batches)
    except UNREADABLE:
        raise _foreign("listing") from None
    if not found.batches and foreign_list(body, "batches"):
        raise _foreign("listing")
    token = found.pagination_token or None
    batches, unread = readable(found.batches, lambda one: read_batch(bytes(one), now))
    return Page(batches, token is not None, token, now, unread)


def read_results(body: bytes) -> Results:
    try:
        return msgspec.json.decode(body, type=Results)
    except UNREADABLE:
        raise _foreign("page of results") from None


def _foreign(what: str) -> Unavailable:
    return Unavailable(f"xai: the {what} is not in xAI's format (is the base URL right?)")


def _batch(found: _Batch, now: float | None) -> Batch:
    told = found.state or {}
    names = ("num_requests", "num_pending", "num_success", "num_error", "num_cancelled")
    total, pending, done, failed, cancelled = (count_of(told.get(name)) or 0 for name in names)
    phase = _phase(found, total, pending, now)
    # One that xAI itself gave up has to be paid for as far as it got.
    wrote = done > 0 if phase == "failed" else phase != "running" and total > 0
    return Batch(
        id=found.batch_id,
        phase=phase,
        status=phase if total else "empty",
        created_at=_moment(found.create_time),
        # One that is empty may still be filled: it is no batch yet, whatever its name.
        tag=found.name if found.name and total else None,
        input_ref=found.batch_id,
        counts=Counts(total, done, failed + cancelled, cancelled),
        parts=(("output", found.batch_id),) if wrote else (),
        refusal=_refusal(found.cancel_by_xai_message or "") if phase == "failed" else None,
    )


def _phase(found: _Batch, total: int, pending: int, now: float | None) -> Phase:
    expires_at = _moment(found.expire_time)
    if found.cancel_by_xai_message:
        return "failed"
    if now is not None and expires_at is not None and now > expires_at:
        return "expired"
    if pending or (not total and not found.cancel_time) or (total and _just_cancelled(found, now)):
        return "running"
    return "cancelled" if found.cancel_time else "completed"


def _just_cancelled(found: _Batch, now: float | None) -> bool:
    """Whether its counts may still change: rows that count as cancelled at first turn out to be answered."""
    at = _moment(found.cancel_time)
    return at is not None and now is not None and now < at + _SETTLING_SECONDS


def _moment(text: str | None) -> float | None:
    """A time; a day alone is the end of that day."""
    try:
        if text and "T" not in text:
            midnight = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
            return moment_of((midnight + timedelta(days=1)).timestamp())
        return moment_of(datetime.fromisoformat(text).timestamp()) if text else None
    except (ValueError, OverflowError, OSError):
        return None


def _refusal(words: str) -> Refusal:
    said = Complaint(message=scrub(words))
    return Refusal(kind=kind_of(said) or "invalid", message=said.message)


def add_refusal(reply: Response, secret: str = "") -> Refusal | None:
    """A batch that is gone, or takes no more requests, is an input that is not there."""
    refusal = openai_refusal(reply, secret)
    if refusal is not None and refusal.kind == "invalid" and reply.status in (404, 412):
        return msgspec.structs.replace(refusal, kind="file_not_ready")
    return refusal
