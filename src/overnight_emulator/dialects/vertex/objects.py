"""Batch prediction jobs as Vertex shows them: whole numbers of 64 bits are text."""

from __future__ import annotations

from typing import Any

from overnight_emulator.batches.batch import TERMINAL, Batch, output_of, progress, status, timeline
from overnight_emulator.dialects.google.spelling import moment_text

_STATES = {
    "validating": "PENDING",
    "in_progress": "RUNNING",
    "finalizing": "RUNNING",
    "cancelling": "CANCELLING",
    "completed": "SUCCEEDED",
    "failed": "FAILED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
}
_CANCELLED, _INVALID, _INTERNAL = 1, 3, 13


def name_of(batch: Batch) -> str:
    return f"{batch.details['parent']}/batchPredictionJobs/{batch.id}"


def state_of(batch: Batch, now: float) -> str:
    state = status(batch, now)
    return f"JOB_STATE_{_STATES[state]}" if state in _STATES else state


def job_object(batch: Batch, now: float) -> dict[str, Any]:
    state = status(batch, now)
    ended = state in TERMINAL
    details = batch.details
    directory = output_of(batch, now) if ended else None
    error = _error(batch, state)
    return {
        "name": name_of(batch),
        "displayName": details["display_name"],
        "model": details["model_name"],
        "inputConfig": details["input_config"],
        "outputConfig": details["output_config"],
        "state": state_of(batch, now),
        **({"error": error} if error else {}),
        **({"outputInfo": {"gcsOutputDirectory": directory}} if directory is not None else {}),
        **_stats(batch, state, now),
        **_times(batch, ended, now),
        **({"labels": details["labels"]} if details["labels"] else {}),
    }


def _times(batch: Batch, ended: bool, now: float) -> dict[str, str]:
    course = timeline(batch)
    times = {"createTime": batch.created_at, "updateTime": now}
    if course is not None and course.in_progress_at <= now:
        times["startTime"] = course.in_progress_at
    if course is not None and ended:
        times |= {"endTime": course.ends_at, "updateTime": course.ends_at}
    return {name: moment_text(moment) for name, moment in times.items()}


def _stats(batch: Batch, state: str, now: float) -> dict[str, Any]:
    """Absent until the job runs; what is nought is left out."""
    check, tally, course = batch.check, batch.tally, timeline(batch)
    if check is None or course is None or state in {"validating", "failed"}:
        return {}
    if state in TERMINAL and tally is not None:
        # Rows that were never run count as incomplete, not as failed.
        run = int(check.total * course.share + 1e-9)
        done, failed = tally.completed, tally.failed - (check.total - run)
    else:
        done, failed = int(check.total * progress(course, now)), 0
    counts = {"successfulCount": done, "failedCount": failed, "incompleteCount": check.total - done - failed}
    return {"completionStats": {name: str(count) for name, count in counts.items() if count}}


def _error(batch: Batch, state: str) -> dict[str, Any] | None:
    if state == "cancelled":
        return {"code": _CANCELLED, "message": "CANCELED"}
    flaw = batch.check.flaw if batch.check is not None else None
    if state != "failed" or flaw is None:
        return None
    code = int(flaw.code) if flaw.code.isdecimal() else _INVALID if flaw.code.startswith("invalid") else _INTERNAL
    return {"code": code, "message": flaw.message}
