"""Live replies of OpenAI and its look-alikes: as lines of a batch output, and what their headers tell of limits."""

from collections.abc import Mapping

import msgspec

from overnight.providers.contract import Rates, Reply
from overnight.providers.reading.complaints import complaint_of
from overnight.providers.reading.figures import count_of
from overnight.providers.reading.patient_json import UNREADABLE, as_text, one_line_json

_json = msgspec.json.Encoder()


class _Error(msgspec.Struct):
    message: str


class _Errors(msgspec.Struct):
    error: _Error


_errors = msgspec.json.Decoder(_Errors)


def live_line(custom_id: str, reply: Reply) -> bytes:
    """A body that is no JSON is kept as text; where it came with an error, as the error's message."""
    body = one_line_json(reply.body)
    if reply.status == 200:
        body = body or as_text(reply.body)
    elif body is None or not _is_error(body):
        body = _json.encode(_words(reply))
    return b'{"custom_id":%b,"response":{"status_code":%d,"body":%b},"error":null}' % (
        _json.encode(custom_id),
        reply.status or 0,
        body,
    )


def _is_error(body: bytes) -> bool:
    """Whether an error is in OpenAI's form: look-alikes have others, a bare text among them."""
    try:
        _errors.decode(body)
    except UNREADABLE:
        return False
    return True


def _words(reply: Reply) -> dict[str, dict[str, str | None]]:
    said = complaint_of(reply.body)
    return {"error": {"message": said.message or "an answer that says nothing", "code": said.code or None}}


def rates_of(headers: Mapping[str, str]) -> Rates:
    """`x-ratelimit-{limit,remaining}-{requests,tokens}`."""
    if "x-ratelimit-limit-requests" not in headers and "x-ratelimit-limit-tokens" not in headers:
        return Rates()
    return Rates(
        requests_limit=count_of(headers.get("x-ratelimit-limit-requests")),
        requests_remaining=count_of(headers.get("x-ratelimit-remaining-requests")),
        tokens_limit=count_of(headers.get("x-ratelimit-limit-tokens")),
        tokens_remaining=count_of(headers.get("x-ratelimit-remaining-tokens")),
    )
