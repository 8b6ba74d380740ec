"""Files and batches as OpenAI shows them."""

from __future__ import annotations

import math
from typing import Any

from overnight_emulator.batches.batch import (
    TERMINAL,
    Batch,
    Flaw,
    Timeline,
    Usage,
    output_of,
    progress,
    status,
    timeline,
)
from overnight_emulator.dialects.openai.responses import response_usage
from overnight_emulator.store import StoredFile


def file_object(file: StoredFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": int(file.created_at),
        "expires_at": None if file.expires_at is None else int(file.expires_at),
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def batch_object(batch: Batch, now: float) -> dict[str, Any]:
    state = status(batch, now)
    course = timeline(batch)
    ended = state in TERMINAL
    tally = batch.tally if ended else None
    check = batch.check
    flaw = check.flaw if check is not None and state == "failed" else None
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "model": check.model if check is not None and state != "validating" else None,
        "errors": None if flaw is None else {"object": "list", "data": [_flaw(flaw)]},
        "input_file_id": batch.input_file_id,
        "completion_window": batch.details["completion_window"],
        "status": state,
        "output_file_id": None if tally is None else output_of(batch, now),
        "error_file_id": None if tally is None else tally.error_file_id,
        "created_at": int(batch.created_at),
        "expires_at": int(batch.expires_at),
        **_times(course, state, now),
        "request_counts": _counts(batch, course, state, now),
        "usage": _usage(Usage() if tally is None else tally.usage),
        "metadata": batch.metadata,
    }


def _flaw(flaw: Flaw) -> dict[str, Any]:
    return {"code": flaw.code, "message": flaw.message, "param": flaw.param, "line": flaw.line}


def _times(course: Timeline | None, state: str, now: float) -> dict[str, int | None]:
    names = (
        "in_progress_at",
        "finalizing_at",
        "completed_at",
        "failed_at",
        "expired_at",
        "cancelling_at",
        "cancelled_at",
    )
    times: dict[str, int | None] = dict.fromkeys(names)
    if course is None:
        return times
    for name in ("in_progress_at", "finalizing_at", "cancelling_at"):
        moment: float = getattr(course, name)
        times[name] = int(moment) if math.isfinite(moment) and moment <= now else None
    if state in TERMINAL:
        times[f"{state}_at"] = int(course.ends_at)
    return times


def _counts(batch: Batch, course: Timeline | None, state: str, now: float) -> dict[str, int]:
    """Nought before and without execution; on cancelled batches the provider has been seen to reset them."""
    check, tally = batch.check, batch.tally
    if check is None or course is None or state in {"validating", "failed"}:
        return {"total": 0, "completed": 0, "failed": 0}
    if state == "cancelled":
        return {"total": check.total, "completed": 0, "failed": 0}
    if tally is not None:
        return {"total": check.total, "completed": tally.completed, "failed": tally.failed}
    return {"total": check.total, "completed": int(check.total * progress(course, now)), "failed": 0}


def _usage(usage: Usage) -> dict[str, Any]:
    """As the Responses API names it, without what was written into a cache."""
    return {**response_usage(usage), "input_tokens_details": {"cached_tokens": usage.cached_tokens}}
