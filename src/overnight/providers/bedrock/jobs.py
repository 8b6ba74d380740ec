"""Bedrock's model invocation jobs, listings and refusals, read into the contract's nouns."""

import re
from datetime import datetime
from typing import Any

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.buckets import OwnBuckets, Place
from overnight.providers.contract import Batch, Counts, Intent, Phase, Refusal, RefusalKind
from overnight.providers.openai_api.batches import create_refusal as worded_refusal
from overnight.providers.openai_api.batches import kind_of
from overnight.providers.reading.complaints import Complaint, scrub
from overnight.providers.reading.figures import count_of, moment_of
from overnight.providers.reading.listing import Page, foreign_list, readable
from overnight.providers.reading.patient_json import UNREADABLE, fitting
from overnight.providers.reading.responses import Response

BUCKETS = OwnBuckets(provider="bedrock", scheme="s3")
PHASES: dict[str, Phase] = {
    **dict.fromkeys(("Submitted", "Validating", "Scheduled", "InProgress", "Stopping"), "running"),
    "Completed": "completed",
    "PartiallyCompleted": "completed",
    "Failed": "failed",
    "Expired": "expired",
    "Stopped": "cancelled",
}
_KINDS: dict[str, RefusalKind] = {
    "ServiceQuotaExceededException": "throttled",
    "ThrottlingException": "throttled",
    "ResourceNotFoundException": "unknown_model",
}

# The floor is a quota of the account and the model, and not the same for all.
_TOO_FEW = re.compile(r"(?:fewer|less) records|minimum of\b.*\brecords|required minimum", re.IGNORECASE | re.DOTALL)


class _Job(msgspec.Struct, rename="camel"):
    job_arn: str
    job_name: str | None = None
    status: str = ""
    message: str | None = None
    submit_time: datetime | None = None
    job_expiration_time: datetime | None = None
    input_data_config: dict[str, Any] | None = None
    output_data_config: dict[str, Any] | None = None
    total_record_count: int | None = None
    processed_record_count: int | None = None
    success_record_count: int | None = None
    error_record_count: int | None = None


class _Page(msgspec.Struct, rename="camel"):
    invocation_job_summaries: list[msgspec.Raw] = []
    next_token: str | None = None


class _Created(msgspec.Struct, rename="camel"):
    job_arn: str


def job_body(intent: Intent, role: str, input_uri: str, output: Place, window: dict[str, str | int]) -> bytes:
    """What is asked for. The token is the name, and what makes two creates one."""
    return msgspec.json.encode(
        {
            "jobName": intent.token,
            "clientRequestToken": intent.token,
            "roleArn": role,
            "modelId": intent.model.name,
            "modelInvocationType": "Converse",
            "inputDataConfig": {"s3InputDataConfig": {"s3Uri": input_uri, "s3InputFormat": "JSONL"}},
            "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": output.below(intent.token).uri + "/"}},
            **window,
        }
    )


def read_created(body: bytes, token: str, input_uri: str) -> Batch:
    """The answer to a create is a name, and no more."""
    try:
        arn = msgspec.json.decode(body, type=_Created).job_arn
    except UNREADABLE:
        raise _foreign("answer") from None
    return Batch(id=_id(arn), phase="running", status="Submitted", tag=token, input_ref=input_uri)


def read_job(body: bytes) -> Batch:
    """A field of another kind is not known; without a known status a job is taken to be running."""
    try:
        return _batch(fitting(body, _Job))
    except UNREADABLE:
        raise _foreign("answer") from None


def read_page(body: bytes, date: float | None = None) -> Page:
    try:
        found = msgspec.json.decode(body, type=_Page)
    except UNREADABLE:
        raise _foreign("listing") from None
    if not found.invocation_job_summaries and foreign_list(body, "invocationJobSummaries"):
        raise _foreign("listing")
    token = found.next_token or None
    jobs, unread = readable(found.invocation_job_summaries, lambda one: read_job(bytes(one)))
    return Page(jobs, token is not None, token, date, unread)


def _foreign(what: str) -> Unavailable:
    return Unavailable(f"bedrock: the {what} is not in Bedrock's format (is the address right?)")


def _id(arn: str) -> str:
    return arn.rsplit("/", 1)[-1]


def _batch(job: _Job) -> Batch:
    phase = PHASES.get(job.status)
    job_id = _id(job.job_arn)
    output = _uri(job.output_data_config, "s3OutputDataConfig")
    folder = BUCKETS.place_of(output) if output else None
    counts = (job.total_record_count, job.success_record_count, job.error_record_count)
    # A job that was stopped before it ran anything has written nothing; one that failed half-way, what it had run.
    ran = job.success_record_count if phase == "failed" else job.processed_record_count != 0
    wrote = bool(ran) and phase not in (None, "running")
    return Batch(
        id=job_id,
        phase=phase or "running",
        status=job.status,
        created_at=_moment(job.submit_time),
        expires_at=_moment(job.job_expiration_time),
        tag=job.job_name or None,
        input_ref=_uri(job.input_data_config, "s3InputDataConfig"),
        counts=Counts(*(count_of(count) or 0 for count in counts)),
        parts=(("output", folder.below(job_id).uri),) if folder is not None and wrote else (),
        refusal=_failure(job.message or "") if phase == "failed" else None,
        known_status=phase is not None,
    )


def _uri(config: dict[str, Any] | None, name: str) -> str | None:
    inner = (config or {}).get(name)
    uri = inner.get("s3Uri") if isinstance(inner, dict) else None
    return uri if isinstance(uri, str) and uri else None


def _moment(at: datetime | None) -> float | None:
    try:
        return moment_of(at.timestamp()) if at is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _failure(words: str) -> Refusal:
    said = Complaint(message=scrub(words))
    message = said.message or "the batch failed and the provider gave no reason"
    return Refusal(kind=_input_kind(said) or kind_of(said) or "invalid", message=message)


def _input_kind(said: Complaint) -> RefusalKind | None:
    if _TOO_FEW.search(said.message):
        return "too_few"
    gone = "input" in said.message.lower() and "not exist" in said.message.lower()
    return "file_not_ready" if gone else None


def create_refusal(reply: Response, secret: str = "") -> Refusal | None:
    """The kind of an error is in a header."""
    refusal = worded_refusal(reply, secret)
    if refusal is None or refusal.kind not in ("invalid", "throttled"):
        return refusal
    named = reply.headers.get("x-amzn-errortype", "").partition(":")[0]
    kind = _KINDS.get(named) or _input_kind(Complaint(message=refusal.message)) or refusal.kind
    return msgspec.structs.replace(refusal, kind=kind)
