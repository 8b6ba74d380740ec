"""One line of an output file of Google's, as a Result.

The Gemini API and Vertex write the same answers into different envelopes: an answer stands under `response`; a
failure under `error`, or under `status` as an object or as a sentence around one. A line is joined by its own
key and nothing else.
"""

import re
from typing import Any

import msgspec

from overnight.core.result import Cause, Result, Usage, failed
from overnight.providers.reading.complaints import Complaint, complaint_in, scrub
from overnight.providers.reading.figures import Count, count_of
from overnight.providers.reading.patient_json import UNREADABLE
from overnight.providers.reading.rows import NO_ANSWER, RowReader, named_in, value_at

# The codes of gRPC and of HTTP, and the words for both.
CAUSES: dict[str | int, Cause] = {
    1: "cancelled",
    3: "invalid_request",
    4: "timeout",
    5: "unknown_model",
    7: "unauthorized",
    8: "rate_limited",
    9: "invalid_request",
    11: "invalid_request",
    12: "invalid_request",
    16: "unauthorized",
    400: "invalid_request",
    401: "unauthorized",
    403: "unauthorized",
    404: "unknown_model",
    408: "timeout",
    413: "too_large",
    429: "rate_limited",
    499: "cancelled",
    504: "timeout",
    "CANCELLED": "cancelled",
    "INVALID_ARGUMENT": "invalid_request",
    "DEADLINE_EXCEEDED": "timeout",
    "NOT_FOUND": "unknown_model",
    "PERMISSION_DENIED": "unauthorized",
    "RESOURCE_EXHAUSTED": "rate_limited",
    "FAILED_PRECONDITION": "invalid_request",
    "OUT_OF_RANGE": "invalid_request",
    "UNIMPLEMENTED": "invalid_request",
    "UNAUTHENTICATED": "unauthorized",
}
# The provider's filter spoke instead of the model: that is a refusal, not a failure.
FILTERED: frozenset[str] = frozenset(
    {
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR", "JAILBREAK"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER"),
    }
)
# Nothing that can be read came of it.
MALFORMED: frozenset[str] = frozenset(
    {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "NO_IMAGE"}
)
_FINISHED = (None, "STOP", "FINISH_REASON_UNSPECIFIED")
_TOO_LONG = re.compile(r"token count .*exceeds|exceeds the maximum number of (?:input )?tokens", re.IGNORECASE)
_EMBEDDED = re.compile(r"[^{\[]*?(?P<json>[{\[].*)", re.DOTALL)


class _Usage(msgspec.Struct, gc=False, rename="camel"):
    prompt_token_count: Count | None = None
    cached_content_token_count: Count | None = None
    candidates_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    tool_use_prompt_token_count: Count | None = None


class _Part(msgspec.Struct, gc=False):
    text: str | None = None
    thought: bool | None = None


class _Content(msgspec.Struct, gc=False):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, gc=False, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Feedback(msgspec.Struct, gc=False, rename="camel"):
    block_reason: str | None = None


class _Response(msgspec.Struct, gc=False, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None


class _Metadata(msgspec.Struct, gc=False):
    key: str | None = None


class _Told(msgspec.Struct, gc=False):
    """An answer as pairwiseLLM writes it down: a response, mostly in a list of its own, or an error."""

    type: str | None = None
    response: _Response | list[_Response] | None = None
    error: Any = None


class _Row(msgspec.Struct, gc=False):
    """Vertex makes a number of an id that looks like one."""

    key: str | None = None
    custom_id: str | int | float | None = None
    metadata: _Metadata | None = None
    response: _Response | None = None
    error: Any = None
    status: Any = None
    result: _Told | None = None


def _id_of(row: _Row) -> str:
    own = row.key or (row.metadata.key if row.metadata is not None else None)
    return own or ("" if row.custom_id is None else str(row.custom_id))


def _result(row: _Row) -> Result | None:
    if row.result is not None and row.response is None:
        return _noted(row.result)
    response = row.response
    if response is not None and (response.candidates or response.prompt_feedback is not None):
        return _answer(response)
    usage = _usage(response.usage_metadata if response is not None else None)
    told = row.error if row.error is not None else row.status
    if told not in (None, "", {}):
        return _failure(told, usage)
    return None if response is None else failed("unreadable", NO_ANSWER, usage)


def _noted(told: _Told) -> Result:
    """What pairwiseLLM noted. It calls failed rows `succeeded` too, and their reasons are lost then."""
    response = told.response[0] if isinstance(told.response, list) and told.response else told.response
    if isinstance(response, _Response) and (response.candidates or response.prompt_feedback is not None):
        return _answer(response)
    if told.error not in (None, "", {}):
        return _failure(told.error, Usage())
    if told.response is None:
        return failed("unreadable", NO_ANSWER)
    return failed("server_error", "no answer was written down, and no reason")


def _answer(response: _Response) -> Result:
    usage = _usage(response.usage_metadata)
    if not response.candidates:
        feedback = response.prompt_feedback or _Feedback()
        detail = scrub(f"the prompt was blocked: {feedback.block_reason or 'no reason given'}")
        return Result(outcome="refused", cause="content_filter", detail=detail, usage=usage)
    candidate = response.candidates[0]
    answer, thoughts = _said(candidate.content)
    reason = candidate.finish_reason
    if reason in _FINISHED:
        if answer is None:
            return failed("unreadable", f"an answer without text (finishReason {reason})", usage)
        return Result(outcome="answered", answer=answer, thoughts=thoughts, usage=usage)
    if reason in FILTERED:
        detail = f"stopped by the filter: {reason}"
        return Result(
            outcome="refused", cause="content_filter", answer=answer, thoughts=thoughts, detail=detail, usage=usage
        )
    if reason == "MAX_TOKENS":
        return Result(outcome="truncated", cause="max_tokens", answer=answer or "", thoughts=thoughts, usage=usage)
    return _oddly_stopped(str(reason), answer, thoughts, usage)


def _oddly_stopped(reason: str, answer: str | None, thoughts: str | None, usage: Usage) -> Result:
    """For reasons of its own. What there is of an answer is kept, and not called whole."""
    detail = scrub(f"finishReason {reason}")
    if reason in MALFORMED:
        return failed("unreadable", detail, usage)
    if answer is None:
        return failed("server_error", detail, usage)
    return Result(outcome="truncated", answer=answer, thoughts=thoughts, detail=detail, usage=usage)


def _said(content: _Content | None) -> tuple[str | None, str | None]:
    """The answer and the thoughts, each with its parts in order."""
    parts = (content.parts if content is not None else None) or ()
    words = [part.text for part in parts if part.text is not None and not part.thought]
    thoughts = [part.text for part in parts if part.text and part.thought]
    return "".join(words) if words else None, "\n\n".join(thoughts) or None


def _usage(told: _Usage | None) -> Usage:
    """Counts that are nought are left out on the wire. Thoughts are billed as output."""
    if told is None or told.prompt_token_count is None:
        return Usage()
    thoughts = told.thoughts_token_count
    return Usage(
        count_of(told.prompt_token_count + (told.tool_use_prompt_token_count or 0)),
        told.cached_content_token_count,
        None,
        count_of((told.candidates_token_count or 0) + (thoughts or 0)),
        thoughts,
    )


def _failure(told: Any, usage: Usage) -> Result:
    """Why a row failed: a word or a code where that is known, else the provider's fault."""
    if isinstance(told, str):
        told = _embedded(told)
    said = complaint_in(told)
    code = _code_of(told)
    detail = scrub(": ".join(part for part in (said.type or said.code, said.message) if part) or "no reason given")
    return failed(_cause(said, code), detail, usage)


def _cause(said: Complaint, code: int | None) -> Cause:
    if said.no_credit:
        return "no_credit"
    if said.dead_key:
        return "unauthorized"
    if _TOO_LONG.search(said.message):
        return "too_large"
    known = CAUSES.get(said.type) or CAUSES.get(said.code) or (CAUSES.get(code) if code is not None else None)
    if known is None and code is not None and 400 <= code < 500:
        return "invalid_request"
    return known or "server_error"


def _embedded(sentence: str) -> Any:
    """`Bad Request: {"error": ...}`: the object inside, or the sentence itself."""
    found = _EMBEDDED.fullmatch(sentence)
    try:
        inside = msgspec.json.decode(found["json"]) if found else None
    except UNREADABLE:
        inside = None
    return inside if isinstance(inside, dict | list) else {"message": sentence}


def _code_of(told: Any) -> int | None:
    if isinstance(told, list):
        told = told[0] if told else None
    error = told.get("error", told) if isinstance(told, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _usage_in(line: dict[str, Any]) -> Usage:
    return _usage(msgspec.convert(value_at(line, _USAGE), _Usage, strict=False))


def answered_by(line: bytes) -> str | None:
    """The model that an output line names; None where it names none, or cannot be read."""
    return named_in(line, ("response", "modelVersion"))


_USAGE = ("response", "usageMetadata")
_reader = RowReader(
    _Row,
    id_of=_id_of,
    result_of=_result,
    usage_of=_usage_in,
    ids=[("key",), ("metadata", "key"), ("custom_id",)],
    usage=[_USAGE],
    strict=False,  # numbers may be written as text
)
decode = _reader.decode
