"""One line of a batch's results, as a Result.

A succeeded row holds a message, an errored one an error; live replies are put into the same form.
"""

from typing import Any

import msgspec

from overnight.core.result import Cause, Result, Usage, failed
from overnight.providers.reading.complaints import Complaint, scrub
from overnight.providers.reading.figures import Count, count_of
from overnight.providers.reading.patient_json import UNREADABLE
from overnight.providers.reading.rows import RowReader, named_in, value_at

CAUSES: dict[str, Cause] = {
    "invalid_request_error": "invalid_request",
    "authentication_error": "unauthorized",
    "permission_error": "unauthorized",
    "billing_error": "no_credit",
    "not_found_error": "unknown_model",
    "request_too_large": "too_large",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "rate_limited",
    "api_error": "server_error",
    "timeout_error": "timeout",
}
# What an HTTP status comes to, where its body is not Anthropic's: a gateway's page, or nothing.
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})


class _Details(msgspec.Struct, gc=False):
    error_code: str | None = None


class _Error(msgspec.Struct, gc=False):
    type: str | None = None
    message: str | None = None
    details: _Details | None = None


class _Errored(msgspec.Struct, gc=False):
    error: _Error | None = None


class _Thinking(msgspec.Struct, gc=False):
    thinking_tokens: Count | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    output_tokens: Count | None = None
    output_tokens_details: _Thinking | None = None


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None


class _Refusal(msgspec.Struct, gc=False):
    category: str | None = None
    explanation: str | None = None


class _Message(msgspec.Struct, gc=False):
    content: list[_Block] | None = None
    stop_reason: str | None = None
    stop_details: _Refusal | None = None
    usage: _Usage | None = None


class _Outcome(msgspec.Struct, gc=False):
    type: str = ""
    message: _Message | None = None
    error: _Errored | None = None


class _Row(msgspec.Struct, gc=False):
    custom_id: str | None = None
    result: _Outcome | None = None


def _result(row: _Row) -> Result | None:
    outcome = row.result
    if outcome is None:
        return None
    match outcome.type:
        case "succeeded" if outcome.message is not None:
            return _answer(outcome.message)
        case "errored":
            return _failure(outcome.error.error if outcome.error is not None else None)
        case "expired":
            return failed("expired", "the batch's window closed first")
        case "canceled":
            return failed("cancelled", "the batch was cancelled first")
    return failed("unreadable", scrub(f"a result of type '{outcome.type}' with no message"))


def _answer(message: _Message) -> Result:
    usage = _usage(message.usage) if message.usage is not None else Usage()
    if message.content is None:
        return failed("unreadable", "a message without content", usage)
    words = [block.text for block in message.content if block.type == "text" and block.text is not None]
    thoughts = "\n\n".join(block.thinking for block in message.content if block.thinking) or None
    text, reason = "".join(words), message.stop_reason
    if reason == "refusal":
        return _refused(message.stop_details, text, thoughts, usage)
    if reason in _CUT:
        detail = None if reason == "max_tokens" else reason
        cut = Result(outcome="truncated", cause="max_tokens", answer=text, thoughts=thoughts, usage=usage)
        return msgspec.structs.replace(cut, detail=detail)
    if reason == "pause_turn":
        paused = Result(outcome="truncated", answer=text, thoughts=thoughts, usage=usage)
        return msgspec.structs.replace(paused, detail="pause_turn: the model had not finished")
    if not words and reason == "tool_use":
        return failed("unreadable", "a call of a tool instead of an answer", usage)
    return Result(outcome="answered", answer=text, thoughts=thoughts, usage=usage)


def _refused(why: _Refusal | None, text: str, thoughts: str | None, usage: Usage) -> Result:
    """With a category, the provider's own filter spoke; without one, the model declined."""
    category = why.category if why is not None else None
    said = ": ".join(part for part in (category, why.explanation if why is not None else None) if part)
    return Result(
        outcome="refused",
        cause="content_filter" if category else None,
        answer=text or None,
        thoughts=thoughts,
        detail=scrub(said) or None,
        usage=usage,
    )


def _usage(told: _Usage) -> Usage:
    """Anthropic's input is what no cache was involved in; ours is everything that was read."""
    read, written = told.cache_read_input_tokens, told.cache_creation_input_tokens
    thought = told.output_tokens_details
    return Usage(
        None if told.input_tokens is None else count_of(told.input_tokens + (read or 0) + (written or 0)),
        read,
        written,
        told.output_tokens,
        thought.thinking_tokens if thought is not None else None,
    )


def _failure(error: _Error | None) -> Result:
    if error is None:
        return failed("server_error", "the provider gave no reason")
    code = (error.details.error_code if error.details is not None else None) or ""
    said = Complaint(message=scrub(error.message or ""), code=code, type=error.type or "")
    head = ", ".join(part for part in (said.type, said.code) if part)
    detail = scrub(": ".join(part for part in (head, said.message) if part) or "the provider gave no reason")
    if said.no_credit:
        return failed("no_credit", detail)
    if said.type == "invalid_request_error" and "prompt is too long" in said.message:
        return failed("too_large", detail)
    return failed(CAUSES.get(said.type, "server_error"), detail)


def is_error(body: bytes) -> bool:
    """Whether a body is an error as Anthropic writes it."""
    try:
        found = msgspec.json.decode(body, type=_Errored)
    except UNREADABLE:
        return False
    return found.error is not None and found.error.type is not None


def _usage_in(line: dict[str, Any]) -> Usage:
    return _usage(msgspec.convert(value_at(line, _USAGE), _Usage))


def answered_by(line: bytes) -> str | None:
    """The model that an output line names; None where it names none, or cannot be read."""
    return named_in(line, ("result", "message", "model"))


_USAGE = ("result", "message", "usage")
_reader = RowReader(_Row, id_of=lambda row: row.custom_id, result_of=_result, usage_of=_usage_in, usage=[_USAGE])
decode = _reader.decode
