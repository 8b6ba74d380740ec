"""Mistral's batch jobs, listings and refusals, read into the contract's nouns."""

import re
from typing import Any

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.contract import Batch, Counts, Phase, Refusal
from overnight.providers.openai_api.batches import TAG, kind_of
from overnight.providers.openai_api.batches import create_refusal as openai_refusal
from overnight.providers.reading.complaints import Complaint, scrub
from overnight.providers.reading.figures import count_of, moment_of
from overnight.providers.reading.listing import Page, readable
from overnight.providers.reading.patient_json import UNREADABLE, fitting
from overnight.providers.reading.responses import Response

PAGE = 100
PHASES: dict[str, Phase] = {
    "QUEUED": "running",
    "RUNNING": "running",
    "CANCELLATION_REQUESTED": "running",
    "SUCCESS": "completed",
    "FAILED": "failed",
    "TIMEOUT_EXCEEDED": "expired",
    "CANCELLED": "cancelled",
}
_UNKNOWN_MODEL = re.compile(r"\bmodel\b", re.IGNORECASE)


class _Job(msgspec.Struct):
    id: str
    status: str = ""
    created_at: float | None = None
    metadata: dict[str, Any] | None = None
    input_files: list[str] | None = None
    output_file: str | None = None
    error_file: str | None = None
    total_requests: int | float | None = None
    succeeded_requests: int | float | None = None
    failed_requests: int | float | None = None
    errors: list[dict[str, Any]] | None = None


class _Jobs(msgspec.Struct):
    data: list[msgspec.Raw]
    total: int | None = None


class _Named(msgspec.Struct):
    id: str


def read_job(body: bytes) -> Batch:
    """A field of another kind is not known; without a known status a job is taken to be running."""
    try:
        return _batch(fitting(body, _Job))
    except UNREADABLE:
        return Batch(id=_named(body), phase="running", status="", known_status=False)


def _named(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Named).id
    except UNREADABLE:
        raise Unavailable("mistral: the answer is not in Mistral's format (is the base URL right?)") from None


def read_page(body: bytes, number: int, date: float | None = None) -> Page:
    """The page of this number, from nought."""
    try:
        found = msgspec.json.decode(body, type=_Jobs)
    except UNREADABLE:
        raise Unavailable("mistral: the listing is not in Mistral's format (is the base URL right?)") from None
    # A listing proves absence, so its end must be said, or shown by a page with nothing on it.
    more = bool(found.data) if found.total is None else found.total > (number + 1) * PAGE
    batches, unread = readable(found.data, lambda one: read_job(bytes(one)))
    return Page(batches, more, str(number + 1), date, unread)


def _batch(job: _Job) -> Batch:
    phase = PHASES.get(job.status)
    tag = (job.metadata or {}).get(TAG)
    inputs = job.input_files or []
    files = (("output", job.output_file), ("error", job.error_file))
    counts = (job.total_requests, job.succeeded_requests, job.failed_requests)
    return Batch(
        id=job.id,
        phase=phase or "running",
        status=job.status,
        created_at=moment_of(job.created_at),
        tag=tag if isinstance(tag, str) else None,
        input_ref=inputs[0] if len(inputs) == 1 else None,
        counts=Counts(*(count_of(count) or 0 for count in counts)),
        parts=tuple((kind, ref) for kind, ref in files if ref) if phase not in (None, "running") else (),
        refusal=_failure(job.errors or []) if phase == "failed" else None,
        known_status=phase is not None,
    )


def _failure(errors: list[dict[str, Any]]) -> Refusal:
    words = errors[0].get("message") if errors else None
    if not isinstance(words, str) or not words:
        return Refusal(kind="invalid", message="the batch failed and the provider gave no reason")
    said = Complaint(message=scrub(words))
    return Refusal(kind=kind_of(said) or "invalid", message=said.message)


def create_refusal(reply: Response, secret: str = "") -> Refusal | None:
    """An input that is not there is 404, a model that is not there 422."""
    refusal = openai_refusal(reply, secret)
    if refusal is None or refusal.kind != "invalid":
        return refusal
    if reply.status == 404:
        return msgspec.structs.replace(refusal, kind="file_not_ready")
    unknown = reply.status == 422 and _UNKNOWN_MODEL.search(refusal.message)
    return msgspec.structs.replace(refusal, kind="unknown_model") if unknown else refusal
