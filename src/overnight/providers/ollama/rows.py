"""Ollama's replies: kept as lines with their custom id, and read back as Results."""

from typing import Any

import msgspec

from overnight.core.result import Cause, Line, Result, Usage, failed
from overnight.providers.contract import Reply
from overnight.providers.reading.complaints import complaint_of, scrub
from overnight.providers.reading.figures import Count
from overnight.providers.reading.patient_json import (
    UNREADABLE,
    as_text,
    one_line_json,
    patient_json,
    readable_id,
    whole,
)

_CAUSES: dict[int, Cause] = {401: "unauthorized", 403: "unauthorized", 404: "unknown_model", 408: "timeout"}
_COUNTS = ("prompt_eval_count", "eval_count")
_json = msgspec.json.Encoder()


class _Message(msgspec.Struct, gc=False):
    content: str = ""
    thinking: str | None = None


class _Body(msgspec.Struct, gc=False):
    message: _Message | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: Count | None = None
    eval_count: Count | None = None
    error: str | None = None


class _Row(msgspec.Struct, gc=False):
    custom_id: str
    status: int
    body: _Body


_rows = msgspec.json.Decoder(_Row)


def live_line(custom_id: str, reply: Reply) -> bytes:
    """Ollama has no batches, so the form is ours: the id, the HTTP status and the body as it came."""
    body = one_line_json(reply.body)
    if reply.status == 200 and (body is None or not body.startswith(b"{")):
        body = b'{"message":%b}' % as_text(reply.body)
    elif body is None or not body.startswith(b"{"):
        body = _json.encode({"error": complaint_of(reply.body).message or "an answer that is no JSON"})
    return b'{"custom_id":%b,"status":%d,"body":%b}' % (_json.encode(custom_id), reply.status or 0, body)


def decode(line: bytes) -> Line:
    """Total: whatever bytes come, a Line."""
    try:
        row = _rows.decode(line)
    except UNREADABLE as error:
        return _unfit(line, str(error))
    return Line(row.custom_id, _result(row.status, row.body))


def _unfit(line: bytes, problem: str) -> Line:
    """A line that does not fit, as far as it goes: counts that nobody can believe do not cost the answer."""
    try:
        found = patient_json(line)
    except UNREADABLE:
        return Line(None, None, f"not a line of Ollama's: {problem}"[:200])
    custom_id = readable_id(found.get("custom_id")) if isinstance(found, dict) else None
    if custom_id is None:
        return Line(None, None, f"not a line of Ollama's: {problem}"[:200])
    try:
        row = msgspec.convert(_without_counts(whole(found)), _Row)
    except UNREADABLE:
        return Line(custom_id, failed("unreadable", scrub(problem)))
    return Line(custom_id, _result(row.status, row.body))


def _without_counts(found: dict[str, Any]) -> dict[str, Any]:
    body = found.get("body")
    if not isinstance(body, dict):
        return found
    return found | {"body": {name: value for name, value in body.items() if name not in _COUNTS}}


def _result(status: int, body: _Body) -> Result:
    usage = Usage(input=body.prompt_eval_count, output=body.eval_count)
    if status >= 400 or body.error is not None:
        otherwise: Cause = "invalid_request" if 400 <= status < 500 else "server_error"
        detail = scrub(f"HTTP {status}: {body.error or 'the server gave no reason'}")
        return failed(_CAUSES.get(status, otherwise), detail, usage)
    message = body.message
    if message is None or not body.done or body.done_reason in ("load", "unload"):
        return failed("unreadable", f"no whole answer (done_reason {body.done_reason})", usage)
    thoughts = message.thinking or None
    if body.done_reason == "length":
        return Result(outcome="truncated", cause="max_tokens", answer=message.content, thoughts=thoughts, usage=usage)
    return Result(outcome="answered", answer=message.content, thoughts=thoughts, usage=usage)
