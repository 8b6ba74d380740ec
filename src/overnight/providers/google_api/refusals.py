"""Why Google refused a create, or failed a batch: its words and codes, read into the contract's kinds."""

import re
from datetime import datetime
from typing import Any

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.contract import Phase, Refusal, RefusalKind
from overnight.providers.reading.complaints import Complaint, complaint_in, complaint_of, scrub
from overnight.providers.reading.figures import count_of as believable_count
from overnight.providers.reading.figures import moment_of as in_calendar
from overnight.providers.reading.patient_json import UNREADABLE
from overnight.providers.reading.responses import Response

# Both APIs' words for the states of a batch, without what stands in front of them.
PHASES: dict[str, Phase] = {
    "UNSPECIFIED": "running",
    "QUEUED": "running",
    "PENDING": "running",
    "RUNNING": "running",
    "PAUSED": "running",
    "UPDATING": "running",
    "CANCELLING": "running",
    "SUCCEEDED": "completed",
    "PARTIALLY_SUCCEEDED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "EXPIRED": "expired",
}
_STATUS_KINDS: dict[int, RefusalKind] = {
    401: "unauthorized",
    403: "unauthorized",
    404: "unknown_model",
    413: "too_large",
    429: "throttled",
    529: "throttled",
}
# By the codes of gRPC, with which a batch that was taken fails later.
_FAILURE_KINDS: dict[int, RefusalKind] = {
    2: "trouble",
    4: "trouble",
    5: "file_not_ready",
    7: "unauthorized",
    8: "token_limit",
    9: "unauthorized",
    10: "trouble",
    13: "trouble",
    14: "trouble",
    16: "unauthorized",
}
_PREFIX = re.compile(r"^(?:BATCH|JOB)_STATE_")
_NO_FILE = re.compile(
    r"\b(?:input )?file\b.*(?:not exist|not found|no longer)|access the File", re.IGNORECASE | re.DOTALL
)
_TOO_LARGE = re.compile(
    r"too (?:large|big|many)|larger than|exceeds? the (?:maximum|limit)|more than the", re.IGNORECASE
)
# Said of the account, though the status is that of a bad request.
_BARRED = re.compile(r"location is not supported|has not been used in project|is not allowed to use", re.IGNORECASE)
_QUEUE = re.compile(r"enqueued.?tokens|batch tokens", re.IGNORECASE)
_LIMIT = re.compile(r"limit:\s*(\d+)", re.IGNORECASE)


class Failure(msgspec.Struct):
    """What a batch that has failed says of it."""

    code: int | None = None
    message: str | None = None


def status_of(state: Any) -> tuple[str, Phase, bool]:
    """The word to show, the phase, and whether the word is a known one."""
    word = _PREFIX.sub("", state) if isinstance(state, str) else ""
    phase = PHASES.get(word)
    return (word.lower() if phase else word), phase or "running", phase is not None


def create_refusal(reply: Response, secret: str = "") -> Refusal | None:
    """Why a create was refused; None when the answer leaves open whether it was."""
    if not reply.definitely_refused:
        return None
    said = complaint_of(reply.body, secret)
    wait = reply.retry_after if reply.retry_after is not None else said.retry_after
    return _refusal(said, _kind(said) or _STATUS_KINDS.get(reply.status, "invalid"), wait)


def failure_refusal(failure: Failure | None) -> Refusal:
    """Why a batch that was taken has failed."""
    if failure is None:
        return Refusal(kind="trouble", message="the batch failed and the provider gave no reason")
    said = Complaint(message=scrub(failure.message or ""))
    kind = _kind(said) or _FAILURE_KINDS.get(failure.code or 0, "invalid")
    return _refusal(said, kind, None)


def _kind(said: Complaint) -> RefusalKind | None:
    """What a complaint comes down to, by its words; None when they tell neither way."""
    if said.no_credit:
        return "no_credit"
    if said.dead_key or _BARRED.search(said.message):
        return "unauthorized"
    if _QUEUE.search(said.message):
        return "token_limit"
    if _NO_FILE.search(said.message):
        return "file_not_ready"
    return "too_large" if _TOO_LARGE.search(said.message) else None


def _refusal(said: Complaint, kind: RefusalKind, retry_after: float | None) -> Refusal:
    limit = _LIMIT.search(said.message) if kind == "token_limit" else None
    return Refusal(
        kind=kind,
        message=said.message or said.code or "the provider gave no reason",
        retry_after=retry_after,
        token_limit=believable_count(limit[1]) if limit else None,
    )


def moment_of(text: Any) -> float | None:
    """A time as RFC 3339 writes it, in seconds since 1970."""
    try:
        return in_calendar(datetime.fromisoformat(text).timestamp()) if isinstance(text, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def count_of(text: Any) -> int:
    """A whole number of 64 bits, which is written as text; what is left out or unknown is nought."""
    return believable_count(text) or 0


def decoded(body: bytes, vendor: str) -> dict[str, Any]:
    """The JSON object of an answer."""
    try:
        found = msgspec.json.decode(body)
    except UNREADABLE:
        found = None
    if not isinstance(found, dict):
        raise Unavailable(f"{vendor}: the answer is not in Google's format (is the base URL right?)")
    return found


def listed(page: dict[str, Any], name: str, vendor: str) -> tuple[list[Any], str | None]:
    """What is on a page, and the token of the next. A page without anything has no list at all, and nothing else."""
    found, token = page.get(name, []), page.get("nextPageToken")
    strange = name not in page and page.keys() - {"nextPageToken", "kind", "unreachable"}
    if strange or not isinstance(found, list):
        raise Unavailable(f"{vendor}: the listing is not in Google's format (is the base URL right?)")
    return found, token if isinstance(token, str) and token else None


def failure_of(error: Any) -> Failure | None:
    try:
        return msgspec.convert(error, Failure) if isinstance(error, dict) else None
    except msgspec.ValidationError:
        said = complaint_in(error)
        return Failure(message=said.message or said.code)
