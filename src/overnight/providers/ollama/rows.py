"""Ollama's replies: kept as lines with their custom id, and read back as Results."""

from typing import Any

import msgspec

from overnight.core.result import Cause, Result, Usage, failed
from overnight.providers.contract import Reply
from overnight.providers.reading.complaints import complaint_of, scrub
from overnight.providers.reading.figures import Count
from overnight.providers.reading.patient_json import as_text, one_line_json
from overnight.providers.reading.rows import RowReader, value_at

_CAUSES: dict[int, Cause] = {401: "unauthorized", 403: "unauthorized", 404: "unknown_model", 408: "timeout"}
_COUNTS = (("body", "prompt_eval_count"), ("body", "eval_count"))
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


def live_line(custom_id: str, reply: Reply) -> bytes:
    """Ollama has no batches, so the form is ours: the id, the HTTP status and the body as it came."""
    body = one_line_json(reply.body)
    if reply.status == 200 and (body is None or not body.startswith(b"{")):
        body = b'{"message":%b}' % as_text(reply.body)
    elif body is None or not body.startswith(b"{"):
        body = _json.encode({"error": complaint_of(reply.body).message or "an answer that is no JSON"})
    return b'{"custom_id":%b,"status":%d,"body":%b}' % (_json.encode(custom_id), reply.status or 0, body)


def _result(row: _Row) -> Result:
    status, body = row.status, row.body
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


def _usage_in(line: dict[str, Any]) -> Usage:
    body = msgspec.convert(value_at(line, ("body",)), _Body)
    return Usage(input=body.prompt_eval_count, output=body.eval_count)


_reader = RowReader(_Row, id_of=lambda row: row.custom_id, result_of=_result, usage_of=_usage_in, usage=_COUNTS)
decode = _reader.decode
