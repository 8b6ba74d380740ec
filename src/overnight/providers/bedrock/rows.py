"""Bedrock's records: what a model said to one of them, or why it said nothing; and live replies as such records."""

from typing import Any

import msgspec

from overnight.core.result import Cause, Line, Result, Usage, failed
from overnight.providers.contract import Reply
from overnight.providers.reading.complaints import complaint_of, scrub
from overnight.providers.reading.figures import count_of
from overnight.providers.reading.patient_json import (
    UNREADABLE,
    as_text,
    one_line_json,
    patient_json,
    readable_id,
    whole,
)
from overnight.providers.reading.rows import line_with

_CAUSES: dict[int, Cause] = {
    401: "unauthorized",
    403: "unauthorized",
    404: "unknown_model",
    408: "timeout",
    413: "too_large",
    424: "server_error",
    429: "rate_limited",
    504: "timeout",
}
_STOPPED: dict[str, Cause] = {"max_tokens": "max_tokens", "model_context_window_exceeded": "max_tokens"}
_FILTERED = frozenset({"content_filtered", "guardrail_intervened"})
_BROKEN = frozenset({"malformed_model_output", "malformed_tool_use"})
_NAMELESS = "the line has no readable recordId"
_json = msgspec.json.Encoder()


def decode(line: bytes) -> Line:
    """Total: never raises, and never names a record that the line does not have."""
    try:
        found = msgspec.json.decode(line)
    except UNREADABLE as error:
        return _patiently(line, str(error))
    record_id = _id_of(found)
    return line_with(record_id, _result(found)) if record_id is not None else Line(None, None, _NAMELESS)


def _patiently(line: bytes, problem: str) -> Line:
    try:
        found = patient_json(line)
    except UNREADABLE:
        return Line(None, None, f"not a line of JSON: {problem}"[:200])
    record_id = _id_of(found)
    if record_id is None:
        return Line(None, None, _NAMELESS)
    try:
        return line_with(record_id, _result(whole(found)))
    except UNREADABLE as error:
        return Line(record_id, failed("unreadable", scrub(str(error))))


def _id_of(found: Any) -> str | None:
    return readable_id(found.get("recordId")) if isinstance(found, dict) else None


def _result(record: dict[str, Any]) -> Result | None:
    error, output = record.get("error"), record.get("modelOutput")
    if isinstance(error, dict):
        return _failure(error)
    if error is None and output is None:
        return None
    if not isinstance(output, dict):
        return failed("unreadable", "an output that is no object")
    usage = _usage(output.get("usage"))
    message = _mapping(_mapping(output, "output"), "message")
    parts = message.get("content")
    if not isinstance(parts, list):
        return failed("unreadable", "an output without a message", usage)
    return _answer([part for part in parts if isinstance(part, dict)], str(output.get("stopReason")), usage)


def _answer(parts: list[dict[str, Any]], reason: str, usage: Usage) -> Result:
    text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    thought = (_mapping(_mapping(part, "reasoningContent"), "reasoningText").get("text") for part in parts)
    thoughts = "\n\n".join(one for one in thought if isinstance(one, str)) or None
    if reason in _FILTERED:
        return Result(outcome="refused", cause="content_filter", answer=text, thoughts=thoughts, usage=usage)
    if reason in _STOPPED:
        return Result(outcome="truncated", cause="max_tokens", answer=text, thoughts=thoughts, usage=usage)
    if reason in _BROKEN:
        return failed("unreadable", f"the model broke off ({reason})", usage)
    if not any(isinstance(part.get("text"), str) for part in parts):
        return failed("unreadable", f"no text (stopReason {reason[:40]})", usage)
    return Result(outcome="answered", answer=text, thoughts=thoughts, usage=usage)


def _usage(told: Any) -> Usage:
    """Input without what was read from a cache or written to it: with both it is all that went in."""
    if not isinstance(told, dict):
        return Usage()
    names = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "outputTokens")
    fresh, read, written, out = (count_of(told.get(name)) for name in names)
    total = None if fresh is None else fresh + (read or 0) + (written or 0)
    return Usage(input=total, cached=read, cache_write=written, output=out)


def _failure(error: dict[str, Any]) -> Result:
    code = count_of(error.get("errorCode")) or 0
    message = error.get("errorMessage")
    detail = scrub(f"{code}: {message}" if code else str(message or "the provider gave no reason"))
    otherwise: Cause = "invalid_request" if 400 <= code < 500 else "server_error"
    return failed(_CAUSES.get(code, otherwise), detail)


def _mapping(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def live_line(custom_id: str, reply: Reply) -> bytes:
    """A body that is no JSON is kept as text."""
    named = _json.encode(custom_id)
    if reply.status == 200:
        return b'{"recordId":%b,"modelOutput":%b}' % (named, one_line_json(reply.body) or as_text(reply.body))
    said = complaint_of(reply.body)
    error = {"errorCode": reply.status or 0, "errorMessage": said.message or "an answer that says nothing"}
    return b'{"recordId":%b,"error":%b}' % (named, _json.encode(error))
