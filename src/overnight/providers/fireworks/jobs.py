"""Fireworks' batch inference jobs and datasets, read into the contract's nouns."""

from datetime import datetime
from typing import Any

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.contract import Batch, Counts, Phase, Refusal
from overnight.providers.openai_api.batches import kind_of
from overnight.providers.reading.complaints import Complaint, scrub
from overnight.providers.reading.figures import count_of, moment_of
from overnight.providers.reading.listing import Page, foreign_list, readable
from overnight.providers.reading.patient_json import UNREADABLE, fitting

_PREFIX = "JOB_STATE_"
_RUNNING = (
    *("UNSPECIFIED", "CREATING", "RUNNING", "WRITING_RESULTS", "VALIDATING", "PENDING", "RE_QUEUEING"),
    *("CREATING_INPUT_DATASET", "IDLE", "CANCELLING", "PAUSED"),
)
PHASES: dict[str, Phase] = {
    **dict.fromkeys(_RUNNING, "running"),
    "COMPLETED": "completed",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "EARLY_STOPPED": "expired",
    "CANCELLED": "cancelled",
    "DELETING": "cancelled",
    "DELETING_CLEANING_UP": "cancelled",
}


class _Job(msgspec.Struct, rename="camel"):
    name: str
    state: str = ""
    display_name: str | None = None
    create_time: datetime | None = None
    input_dataset_id: str | None = None
    output_dataset_id: str | None = None
    job_progress: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


class _Page(msgspec.Struct, rename="camel"):
    batch_inference_jobs: list[msgspec.Raw] = []
    next_page_token: str | None = None


class _Named(msgspec.Struct):
    name: str


class _Dataset(msgspec.Struct):
    state: str = ""


class _Addresses(msgspec.Struct, rename="camel"):
    filename_to_signed_urls: dict[str, str] = {}


def read_job(body: bytes) -> Batch:
    """A field of another kind is not known; without a known state a job is taken to be running."""
    try:
        return _batch(fitting(body, _Job))
    except UNREADABLE:
        return Batch(id=short(_read(body, _Named, "answer").name), phase="running", status="", known_status=False)


def read_page(body: bytes, date: float | None = None) -> Page:
    found = _read(body, _Page, "listing")
    if not found.batch_inference_jobs and foreign_list(body, "batchInferenceJobs"):
        raise _foreign("listing")
    jobs, unread = readable(found.batch_inference_jobs, lambda one: read_job(bytes(one)))
    return Page(jobs, bool(found.next_page_token), found.next_page_token or None, date, unread)


def is_ready(body: bytes) -> bool:
    """Whether a dataset is whole."""
    return bool(_read(body, _Dataset, "answer").state == "READY")


def signed_addresses(body: bytes) -> dict[str, str]:
    """Where the files of a dataset are, by their names."""
    found: dict[str, str] = _read(body, _Addresses, "answer").filename_to_signed_urls
    return found


def short(name: str) -> str:
    """A resource's own id, without the names that it is below."""
    return name.rsplit("/", 1)[-1]


def _read(body: bytes, kind: Any, what: str) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE:
        raise _foreign(what) from None


def _foreign(what: str) -> Unavailable:
    return Unavailable(f"fireworks: the {what} is not in Fireworks' format (is the base URL right?)")


def _batch(job: _Job) -> Batch:
    state = job.state.removeprefix(_PREFIX)
    phase = PHASES.get(state)
    ended = phase not in (None, "running")
    output = job.output_dataset_id
    counts = _counts(job.job_progress or {})
    # A job that failed half-way has to be paid for as far as it got, and may have written that much.
    wrote = phase != "failed" or counts.completed > 0
    return Batch(
        id=short(job.name),
        phase=phase or "running",
        status=job.state,
        created_at=_moment(job.create_time),
        tag=job.display_name or None,
        input_ref=short(job.input_dataset_id) if job.input_dataset_id else None,
        counts=counts,
        parts=(("output", short(output)),) if ended and output and wrote else (),
        refusal=_refusal(job.status or {}) if phase == "failed" else None,
        known_status=phase is not None,
    )


def _moment(at: datetime | None) -> float | None:
    try:
        return moment_of(at.timestamp()) if at is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _counts(told: dict[str, Any]) -> Counts:
    names = ("totalInputRequests", "successfullyProcessedRequests", "failedRequests")
    return Counts(*(count_of(told.get(name)) or 0 for name in names))


def _refusal(told: dict[str, Any]) -> Refusal:
    words = told.get("message")
    said = Complaint(message=scrub(words) if isinstance(words, str) else "")
    message = said.message or "the batch failed and the provider gave no reason"
    return Refusal(kind=kind_of(said) or "invalid", message=message)
