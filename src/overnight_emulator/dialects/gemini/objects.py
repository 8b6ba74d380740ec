"""Files and batches as the Gemini API shows them: whole numbers of 64 bits are text, batches are operations."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec

from overnight_emulator.batches.batch import TERMINAL, Batch, output_of, progress, status, timeline
from overnight_emulator.dialects.google.spelling import moment_text
from overnight_emulator.store import StoredFile

_STATES = {
    "validating": "PENDING",
    "in_progress": "RUNNING",
    "finalizing": "RUNNING",
    "cancelling": "RUNNING",
    "completed": "SUCCEEDED",
    "failed": "FAILED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
}
_TYPES = "type.googleapis.com/google.ai.generativelanguage.v1main."
# The codes of gRPC for the statuses of HTTP.
RPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 412: 9, 429: 8, 499: 1, 500: 13, 503: 14, 504: 4}
_UNKNOWN = 2


def rpc_code(status: int) -> int:
    return RPC_CODES.get(status, 3 if status < 500 else _UNKNOWN)


def file_object(file: StoredFile, origin: str) -> dict[str, Any]:
    return {
        "name": f"files/{file.id}",
        **({"displayName": file.filename} if file.filename else {}),
        "mimeType": file.details.get("mime_type", "application/octet-stream"),
        "sizeBytes": str(file.bytes),
        "createTime": moment_text(file.created_at),
        "updateTime": moment_text(file.created_at),
        **({} if file.expires_at is None else {"expirationTime": moment_text(file.expires_at)}),
        "sha256Hash": b64encode(file.sha256.encode()).decode(),
        "uri": f"{origin}/gemini/v1beta/files/{file.id}",
        "state": "ACTIVE",
        "source": "UPLOADED" if file.purpose == "upload" else "GENERATED",
    }


def batch_object(batch: Batch, now: float, output: Path | None) -> dict[str, Any]:
    """`output` is where the answers of an inline batch lie."""
    state = status(batch, now)
    course = timeline(batch)
    ended = state in TERMINAL
    embeds = batch.details["embeds"]
    kind = f"{_TYPES}{'EmbedContentBatch' if embeds else 'GenerateContentBatch'}"
    listed = "inlinedEmbedContentResponses" if embeds else "inlinedResponses"
    answers = _answers(output_of(batch, now), output, listed) if ended else {}
    times = {"endTime": moment_text(course.ends_at)} if ended and course is not None else {}
    metadata: dict[str, Any] = {
        "@type": kind,
        "model": f"models/{batch.details['model']}",
        "displayName": (batch.metadata or {}).get("displayName", ""),
        "inputConfig": _input(batch),
        "createTime": moment_text(batch.created_at),
        "updateTime": moment_text(min(now, course.ends_at) if course is not None else now),
        **times,
        "batchStats": _stats(batch, state, now),
        "state": f"BATCH_STATE_{_STATES[state]}" if state in _STATES else state,
        "name": f"batches/{batch.id}",
        **({"output": answers} if answers else {}),
    }
    operation: dict[str, Any] = {"name": f"batches/{batch.id}", "metadata": metadata}
    if ended:
        operation["done"] = True
    error = _error(batch, state)
    if error is not None:
        operation["error"] = error
    elif answers:
        operation["response"] = {"@type": f"{kind}Output", **answers}
    return operation


def _input(batch: Batch) -> dict[str, Any]:
    return {"requests": {}} if batch.details["inline"] else {"fileName": f"files/{batch.input_file_id}"}


def _answers(file_id: str | None, output: Path | None, listed: str) -> dict[str, Any]:
    if file_id is None:
        return {}
    if output is None:
        return {"responsesFile": f"files/{file_id}" if file_id else ""}
    with output.open("rb") as lines:
        return {listed: {"inlinedResponses": [_inlined(msgspec.json.decode(line)) for line in lines]}}


def _inlined(line: dict[str, Any]) -> dict[str, Any]:
    key = line.pop("key", None)
    return line | ({"metadata": {"key": key}} if key is not None else {})


def _stats(batch: Batch, state: str, now: float) -> dict[str, str]:
    """What is nought is left out, as protocol buffers do."""
    check, tally, course = batch.check, batch.tally, timeline(batch)
    total = 0 if check is None else check.total
    succeeded = failed = 0
    if state == "completed" and tally is not None:
        succeeded, failed = tally.completed, tally.failed
    elif state not in TERMINAL and course is not None:
        succeeded = int(total * progress(course, now))
    counts = {
        "requestCount": total,
        "successfulRequestCount": succeeded,
        "failedRequestCount": failed,
        "pendingRequestCount": total - succeeded - failed if state not in TERMINAL else 0,
    }
    return {name: str(count) for name, count in counts.items() if count}


def _error(batch: Batch, state: str) -> dict[str, Any] | None:
    if state == "cancelled":
        return {"code": 13, "message": "Batch was cancelled."}
    if state == "expired":
        return {"code": 4, "message": "Batch expired before it was done."}
    flaw = batch.check.flaw if batch.check is not None else None
    if state != "failed" or flaw is None:
        return None
    code = rpc_code(int(flaw.code)) if flaw.code.isdecimal() else 3 if flaw.code.startswith("invalid") else 13
    return {"code": code, "message": flaw.message}
