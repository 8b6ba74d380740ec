"""Batch objects, listings and refusals of OpenAI and its look-alikes, read into the contract's nouns."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.contract import Batch, Counts, Intent, Phase, Refusal, RefusalKind
from overnight.providers.reading.complaints import Complaint, complaint_of, scrub
from overnight.providers.reading.figures import count_of, moment_of
from overnight.providers.reading.listing import Page, check_name, readable
from overnight.providers.reading.patient_json import UNREADABLE, fitting
from overnight.providers.reading.responses import Response

PHASES: dict[str, Phase] = {
    "validating": "running",
    "in_progress": "running",
    "finalizing": "running",
    "cancelling": "running",
    "completed": "completed",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}
TAG = "overnight"
_LONGEST_METADATA = 512

_LIMIT = re.compile(r"limit(?::| of)\s*(\d{1,3}(?:[,._' \u00a0\u202f]\d{3})+|\d+)", re.IGNORECASE)
_TOO_LARGE = re.compile(
    r"too (?:large|big|many)|larger than|exceeds? the maximum|maximum (?:size|number)", re.IGNORECASE
)
_NO_FILE = re.compile(r"no such file|\bfile\b.*(?:not found|not exist|could not be found)", re.IGNORECASE | re.DOTALL)
_NO_MODEL = re.compile(
    r"\bmodel\b.{0,200}(?:does not exist|not found|not available|non-serverless)", re.IGNORECASE | re.DOTALL
)
_KINDS: dict[str, RefusalKind] = {
    "token_limit_exceeded": "token_limit",
    "model_not_found": "unknown_model",
    "rate_limit_exceeded": "throttled",
    "invalid_api_key": "unauthorized",
    "file_too_large": "too_large",
    "too_many_tasks": "too_large",
    "request_too_large": "too_large",
}
_STATUS_KINDS: dict[int, RefusalKind] = {
    401: "unauthorized",
    403: "unauthorized",
    413: "too_large",
    429: "throttled",
    529: "throttled",
}


class _Fault(msgspec.Struct):
    code: str | None = None
    message: str | None = None
    param: str | None = None
    line: int | None = None


class _Faults(msgspec.Struct):
    """Azure calls the list `value`."""

    data: list[_Fault] | None = None
    value: list[_Fault] | None = None

    @property
    def first(self) -> _Fault | None:
        listed = self.data or self.value
        return listed[0] if listed else None


class _Counts(msgspec.Struct):
    total: int | float | None = None
    completed: int | float | None = None
    failed: int | float | None = None


class _Batch(msgspec.Struct):
    id: str
    object: str | None = None
    status: str = ""
    created_at: float | datetime | None = None
    expires_at: float | None = None
    metadata: dict[str, Any] | None = None
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: _Counts | None = None
    errors: _Faults | None = None
    # Together's words for a batch that failed.
    error: str | None = None


class _Page(msgspec.Struct):
    data: list[msgspec.Raw]
    has_more: bool | None = None


class _Named(msgspec.Struct):
    id: str


class _File(msgspec.Struct):
    bytes: int | None = None
    filename: str | None = None


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Whose batch objects they are, and in what they differ from OpenAI's."""

    name: str
    title: str
    # The words for states that are not OpenAI's.
    phases: Mapping[str, Phase] = {}
    # The field that the answer to a create has the batch in, where it is not the answer itself.
    created_in: str | None = None
    # Whether a listing is one bare list of all there are.
    bare_listing: bool = False

    def phase(self, status: str) -> Phase | None:
        return self.phases.get(status) or PHASES.get(status)


def read_batch(shape: Shape, body: bytes) -> Batch:
    """A batch object. A field of another kind is not known; without a known status it is taken to be running."""
    try:
        found = fitting(body, _Batch)
    except UNREADABLE:
        return Batch(id=named(shape, body), phase="running", status="", known_status=False)
    if isinstance(found.object, str) and "batch" not in found.object:
        # A file or a model has an id too.
        raise Unavailable(f"{shape.name}: a {scrub(found.object)[:40]} came in the place of a batch")
    return _batch(shape, found)


def read_created(shape: Shape, body: bytes) -> Batch:
    """The batch in the answer to a create."""
    if shape.created_in is None:
        return read_batch(shape, body)
    try:
        inner = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).get(shape.created_in)
    except UNREADABLE:
        inner = None
    return read_batch(shape, body if inner is None else bytes(inner))


def named(shape: Shape, body: bytes) -> str:
    """The id of any object."""
    try:
        return msgspec.json.decode(body, type=_Named).id
    except UNREADABLE:
        message = f"{shape.name}: the answer is not in {shape.title} format (is the base URL right?)"
        raise Unavailable(message) from None


def received_bytes(body: bytes) -> int | None:
    """How much of an upload arrived, where the file object says it."""
    try:
        return msgspec.json.decode(body, type=_File).bytes
    except UNREADABLE:
        return None


def checked_upload(shape: Shape, body: bytes, intent: Intent) -> str:
    """The id of the file that was uploaded, if it is that file as far as the answer says. Unavailable if it is not."""
    file_id, received = named(shape, body), received_bytes(body)
    if received not in (None, intent.bytes):
        # Half a file is a valid file of fewer lines: it must not become a batch.
        raise Unavailable(f"{shape.name}: {received} of {intent.bytes} bytes of the upload arrived")
    check_name(shape.name, fitting(body, _File).filename, intent.token)
    return file_id


def read_page(shape: Shape, body: bytes, date: float | None = None) -> Page:
    try:
        if shape.bare_listing:
            page = _Page(msgspec.json.decode(body, type=list[msgspec.Raw]), has_more=False)
        else:
            page = msgspec.json.decode(body, type=_Page)
    except UNREADABLE:
        message = f"{shape.name}: the listing is not in {shape.title} format (is the base URL right?)"
        raise Unavailable(message) from None
    # A listing proves absence, so its end must be said, or shown by a page with nothing on it.
    more = page.has_more if page.has_more is not None else bool(page.data)
    batches, unread = readable(page.data, lambda one: read_batch(shape, bytes(one)))
    return Page(batches, more, batches[-1].id if batches else None, date, unread)


def _batch(shape: Shape, found: _Batch) -> Batch:
    phase = shape.phase(found.status)
    tag = (found.metadata or {}).get(TAG)
    counts = found.request_counts or _Counts()
    # The provider writes null, or sometimes an empty string, for a file that does not exist.
    files = (("output", found.output_file_id), ("error", found.error_file_id))
    return Batch(
        id=found.id,
        phase=phase or "running",
        status=found.status,
        created_at=_moment(found.created_at),
        expires_at=moment_of(found.expires_at),
        tag=tag if isinstance(tag, str) else None,
        input_ref=found.input_file_id or None,
        counts=Counts(*(count_of(count) or 0 for count in (counts.total, counts.completed, counts.failed))),
        parts=tuple((kind, ref) for kind, ref in files if ref),
        refusal=_validation_refusal(found.errors, found.error) if phase == "failed" else None,
        known_status=phase is not None,
    )


def _moment(at: float | datetime | None) -> float | None:
    try:
        return moment_of(at.timestamp() if isinstance(at, datetime) else at)
    except (ValueError, OverflowError, OSError):
        return None


def _validation_refusal(faults: _Faults | None, words: str | None = None) -> Refusal:
    first = faults.first if faults is not None else _Fault(message=words) if words else None
    if first is None:
        return Refusal(kind="invalid", message="the batch failed and the provider gave no reason")
    said = Complaint(message=scrub(first.message or ""), code=first.code or "", param=first.param or "")
    return _refusal(said, kind_of(said) or "invalid", line=count_of(first.line))


def create_refusal(reply: Response, secret: str = "") -> Refusal | None:
    """Why a create was refused; None when the answer leaves open whether it was."""
    if not reply.definitely_refused:
        return None
    said = complaint_of(reply.body, secret)
    kind = kind_of(said) or _STATUS_KINDS.get(reply.status, "invalid")
    return _refusal(said, kind, status=reply.status, retry_after=reply.retry_after)


def kind_of(said: Complaint) -> RefusalKind | None:
    """What a complaint comes down to, by its code, else by its words; None when it tells neither way."""
    if said.no_credit:
        return "no_credit"
    if said.dead_key:
        return "unauthorized"
    if said.code in _KINDS:
        return _KINDS[said.code]
    if "enqueued token limit" in said.message.lower():
        return "token_limit"
    if said.param in ("file_id", "input_file_id") or _NO_FILE.search(said.message):
        return "too_large" if _TOO_LARGE.search(said.message) else "file_not_ready"
    if _TOO_LARGE.search(said.message):
        return "too_large"
    return "unknown_model" if _NO_MODEL.search(said.message) else None


def _refusal(
    said: Complaint,
    kind: RefusalKind,
    *,
    status: int | None = None,
    retry_after: float | None = None,
    line: int | None = None,
) -> Refusal:
    limit = _LIMIT.search(said.message) if kind == "token_limit" else None
    fallback = said.code or (f"HTTP {status}" if status else "the provider gave no reason")
    return Refusal(
        kind=kind,
        message=said.message or fallback,
        retry_after=retry_after,
        token_limit=count_of(re.sub(r"\D", "", limit[1])) if limit else None,
        line=line,
    )


def metadata_of(intent: Intent) -> dict[str, str]:
    """What a batch carries so that it can be found again, and recognised by a person."""
    tags = {TAG: intent.token, "run": intent.run, "description": intent.description or ""}
    return {key: value[:_LONGEST_METADATA] for key, value in tags.items() if value}
