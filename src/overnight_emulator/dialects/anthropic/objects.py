"""Message Batches as Anthropic shows them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from overnight_emulator.batches.batch import TERMINAL, Batch, Timeline, status, timeline
from overnight_emulator.dialects.anthropic.lines import RETENTION_SECONDS

_RUNNING = frozenset({"validating", "in_progress", "finalizing"})
_WORDS = {"cancelling": "canceling", **dict.fromkeys(_RUNNING, "in_progress"), **dict.fromkeys(TERMINAL, "ended")}

_UNFINISHED = {"expired": "expired", "cancelled": "canceled"}


def batch_object(batch: Batch, now: float, address: str) -> dict[str, Any]:
    """`address` is where this batch is found, without its own id."""
    state = status(batch, now)
    course = timeline(batch)
    ended = state in TERMINAL
    archived = archived_at(batch) <= now
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": _WORDS.get(state, state),
        "request_counts": _counts(batch, course, state),
        "created_at": moment(batch.created_at),
        "expires_at": moment(batch.expires_at),
        "ended_at": moment(course.ends_at) if ended and course is not None else None,
        "cancel_initiated_at": _cancelled_at(batch, course, now),
        "archived_at": moment(archived_at(batch)) if archived else None,
        "results_url": f"{address}/{batch.id}/results" if ended and not archived else None,
    }


def archived_at(batch: Batch) -> float:
    return batch.created_at + RETENTION_SECONDS


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def _cancelled_at(batch: Batch, course: Timeline | None, now: float) -> str | None:
    at = course.cancelling_at if course is not None else batch.cancel_at
    return moment(at) if at is not None and math.isfinite(at) and at <= now else None


def _counts(batch: Batch, course: Timeline | None, state: str) -> dict[str, int]:
    """All are processing until the batch has ended; their sum is always the number of requests."""
    total, tally = batch.details["total"], batch.tally
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    if state == "failed":
        return {**counts, "errored": total}
    if state not in TERMINAL or tally is None or course is None:
        return {**counts, "processing": total}
    unfinished = total - int(total * course.share + 1e-9)
    counts |= {"succeeded": tally.completed, "errored": total - tally.completed - unfinished}
    return counts | {_UNFINISHED[course.end]: unfinished} if unfinished else counts
