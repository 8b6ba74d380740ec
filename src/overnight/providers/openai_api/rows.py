"""One line of an output or error file, as a Result: chat completions, and responses."""

from operator import attrgetter
from typing import Any

import msgspec

from overnight.core.result import Cause, Outcome, Result, Usage, failed
from overnight.providers.reading.complaints import NO_CREDIT, scrub
from overnight.providers.reading.figures import Count
from overnight.providers.reading.rows import RowReader, named_in, value_at

# What an error code means, wherever it is found: in a row's own error, an HTTP body, a failed response.
CAUSES: dict[str, Cause] = {
    "batch_expired": "expired",
    "batch_cancelled": "cancelled",
    "batch_client_error": "invalid_request",
    "rate_limit_exceeded": "rate_limited",
    "server_error": "server_error",
    "request_timeout": "timeout",
    "vector_store_timeout": "timeout",
    "invalid_api_key": "unauthorized",
    "API_KEY_INVALID": "unauthorized",
    "model_not_found": "unknown_model",
    "context_length_exceeded": "too_large",
    "string_above_max_length": "too_large",
    "request_too_large": "too_large",
    "invalid_prompt": "invalid_request",
    "data_residency_mismatch": "invalid_request",
    **dict.fromkeys(NO_CREDIT, "no_credit"),
}
# The provider's filter spoke instead of the model: that is a refusal, not a failure.
FILTERED: frozenset[str] = frozenset(
    {"content_filter", "content_policy_violation", "bio_policy", "misalignment_policy_violation"}
)
STATUSES: dict[int, Cause] = {
    401: "unauthorized",
    403: "unauthorized",
    404: "unknown_model",
    408: "timeout",
    413: "too_large",
    429: "rate_limited",
    504: "timeout",
}


class _Error(msgspec.Struct, gc=False):
    code: str | int | None = None
    message: str | None = None
    type: str | None = None


class _Details(msgspec.Struct, gc=False):
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None


class _Usage(msgspec.Struct, gc=False):
    """Both APIs' names for the same counts."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None
    # Together's, in the open.
    reasoning_tokens: Count | None = None


class _Message(msgspec.Struct, gc=False):
    """Thoughts in the open are for look-alikes only: some call them `reasoning`, some `reasoning_content`."""

    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct, gc=False):
    message: _Message | None = None
    finish_reason: str | None = None


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct, gc=False):
    type: str = ""
    content: list[_Part] | None = None
    summary: list[_Part] | None = None


class _Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class _Body(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    status: str | None = None
    output: list[_Item] | None = None
    error: _Error | None = None
    incomplete_details: _Incomplete | None = None


class _Response(msgspec.Struct, gc=False):
    status_code: int | None = None
    body: _Body | None = None


class _Row(msgspec.Struct, gc=False):
    custom_id: str | None = None
    response: _Response | None = None
    error: _Error | None = None


class _Said(msgspec.Struct, gc=False):
    """All text of an answer in order, whether the model declined in any of it, and what it thought."""

    answer: str | None
    refused: bool
    thoughts: str | None


def _result(row: _Row) -> Result | None:
    response = row.response
    if response is not None and response.status_code == 200 and response.body is not None:
        return _answer(response.body)  # nearly every line: no more to ask
    if response is not None and response.body is not None:
        status = response.status_code or 0
        if 200 <= status < 300:
            return _answer(response.body)
        if status >= 400:
            return _failure(response.body.error or row.error, status)
    if row.error is not None:
        return _failure(row.error, 0)
    if response is None:
        return None
    status = response.status_code or 0
    if status >= 400:
        return _failure(None, status)
    return failed("unreadable", f"a response with HTTP status {response.status_code} and no answer")


def _answer(body: _Body) -> Result:
    usage = _usage(body.usage) if body.usage is not None else Usage()
    if body.choices:
        return _chat_answer(body.choices[0], usage)
    if body.output is not None or body.status is not None:
        return _responses_answer(body, usage)
    if body.error is not None:
        return _failure(body.error, 0, usage)
    return failed("unreadable", "a response with neither choices nor output", usage)


def _chat_answer(choice: _Choice, usage: Usage) -> Result:
    message, reason = choice.message or _Message(), choice.finish_reason
    thoughts = message.reasoning or message.reasoning_content or None
    if reason == "stop" and message.content is not None and not message.refusal:
        return Result(outcome="answered", answer=message.content, thoughts=thoughts, usage=usage)
    if reason == "content_filter":
        text = message.refusal or message.content
        return Result(outcome="refused", cause="content_filter", answer=text, usage=usage)
    if message.refusal:
        return Result(outcome="refused", answer=message.refusal, usage=usage)
    if reason == "length":
        cut = message.content or ""
        return Result(outcome="truncated", cause="max_tokens", answer=cut, thoughts=thoughts, usage=usage)
    if message.content is None:
        return failed("unreadable", f"no content (finish_reason {reason})", usage)
    return Result(outcome="answered", answer=message.content, thoughts=thoughts, usage=usage)


def _responses_answer(body: _Body, usage: Usage) -> Result:
    if body.status == "failed":
        return _failure(body.error, 0, usage)
    if body.status == "cancelled":
        return failed("cancelled", "the response was cancelled", usage)
    if body.status not in ("completed", "incomplete", None):
        return failed("unreadable", f"a response that is still {body.status}"[:200], usage)
    said = _said(body.output or [])
    if body.status == "incomplete":
        why = body.incomplete_details
        return _cut(why.reason if why is not None else None, said, usage)
    if said.answer is None:
        return failed("unreadable", "a response without text", usage)
    outcome: Outcome = "refused" if said.refused else "answered"
    return Result(outcome=outcome, answer=said.answer, thoughts=said.thoughts, usage=usage)


def _cut(reason: str | None, said: _Said, usage: Usage) -> Result:
    if reason == "content_filter":
        return Result(
            outcome="refused",
            cause="content_filter",
            answer=said.answer,
            thoughts=said.thoughts,
            usage=usage,
        )
    by_length = reason == "max_output_tokens"
    return Result(
        outcome="truncated",
        cause="max_tokens" if by_length else None,
        answer=said.answer or "",
        thoughts=said.thoughts,
        detail=None if by_length else scrub(f"incomplete: {reason}"),
        usage=usage,
    )


def _said(output: list[_Item]) -> _Said:
    words: list[str] = []
    thoughts: list[str] = []
    refused = False
    for item in output:
        if item.type == "message":
            for part in item.content or ():
                declined = part.type == "refusal"
                refused = refused or declined
                text = part.refusal if declined else part.text
                if text is not None:
                    words.append(text)
        elif item.type == "reasoning":
            thoughts += [part.text for part in item.summary or item.content or () if part.text]
    return _Said("".join(words) if words else None, refused, "\n\n".join(thoughts) or None)


def _usage(told: _Usage) -> Usage:
    into = told.prompt_tokens_details or told.input_tokens_details
    out = told.completion_tokens_details or told.output_tokens_details
    return Usage(
        told.prompt_tokens if told.prompt_tokens is not None else told.input_tokens,
        into.cached_tokens if into is not None else None,
        into.cache_write_tokens if into is not None else None,
        told.completion_tokens if told.completion_tokens is not None else told.output_tokens,
        out.reasoning_tokens if out is not None else told.reasoning_tokens,
    )


def _failure(error: _Error | None, status: int, usage: Usage = Usage()) -> Result:  # noqa: B008 - frozen
    """Why a row failed: its code where that is known, else its HTTP status, else the provider's fault."""
    code = str(error.code) if error is not None and error.code is not None else ""
    detail = _detail(error, code, status)
    if code in FILTERED:
        # Turned away before it was run: an error is not billed, and so it has cost nothing, not an unknown amount.
        counted = usage if usage != Usage() else Usage(input=0, output=0)
        return Result(outcome="refused", cause="content_filter", detail=detail, usage=counted)
    if error is not None and error.type in NO_CREDIT:
        return failed("no_credit", detail, usage)
    otherwise: Cause = "invalid_request" if 400 <= status < 500 else "server_error"
    return failed(CAUSES.get(code) or STATUSES.get(status, otherwise), detail, usage)


def _detail(error: _Error | None, code: str, status: int) -> str:
    message = (error.message if error is not None else None) or ""
    where = f"HTTP {status}" if status else ""
    head = ", ".join(part for part in (where, code) if part)
    return scrub(": ".join(part for part in (head, message) if part) or "the provider gave no reason")


def _usage_in(line: dict[str, Any]) -> Usage:
    return _usage(msgspec.convert(value_at(line, _USAGE), _Usage))


def answered_by(line: bytes) -> str | None:
    """The model that an output line names; None where it names none, or cannot be read."""
    return named_in(line, ("response", "body", "model"))


_USAGE = ("response", "body", "usage")
_reader = RowReader(_Row, id_of=attrgetter("custom_id"), result_of=_result, usage_of=_usage_in, usage=[_USAGE])
decode = _reader.decode
