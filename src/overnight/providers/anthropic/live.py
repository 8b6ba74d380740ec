"""Live replies of Anthropic: as lines of a batch's results, and what their headers tell of limits."""

from collections.abc import Mapping

import msgspec

from overnight.providers.anthropic.rows import TYPES, is_error
from overnight.providers.contract import Rates, Reply
from overnight.providers.reading.complaints import scrub
from overnight.providers.reading.figures import count_of
from overnight.providers.reading.patient_json import as_text, one_line_json

_PREFIX = "anthropic-ratelimit-"
_json = msgspec.json.Encoder()


def live_line(custom_id: str, reply: Reply) -> bytes:
    """A body that is not Anthropic's (a gateway's page, nothing at all) becomes an error by its status.

    With status 200 it is an answer that cannot be read: it was run, and is paid for.
    """
    body = one_line_json(reply.body)
    if reply.status == 200:
        message = body or as_text(reply.body)
        return b'{"custom_id":%b,"result":{"type":"succeeded","message":%b}}' % (_json.encode(custom_id), message)
    if body is None or not is_error(body):
        body = _json.encode({"type": "error", "error": _words(reply)})
    return b'{"custom_id":%b,"result":{"type":"errored","error":%b}}' % (_json.encode(custom_id), body)


def _words(reply: Reply) -> dict[str, str]:
    text = reply.body[:300].decode("utf-8", "replace").strip()
    said = "" if text.startswith("<") else text
    return {
        "type": TYPES.get(reply.status or 0, "api_error"),
        "message": scrub(said or reply.problem or f"HTTP {reply.status}"),
    }


def rates_of(headers: Mapping[str, str]) -> Rates:
    """`anthropic-ratelimit-{requests,tokens}-{limit,remaining}`."""
    if f"{_PREFIX}requests-limit" not in headers and f"{_PREFIX}tokens-limit" not in headers:
        return Rates()
    return Rates(
        requests_limit=count_of(headers.get(f"{_PREFIX}requests-limit")),
        requests_remaining=count_of(headers.get(f"{_PREFIX}requests-remaining")),
        tokens_limit=count_of(headers.get(f"{_PREFIX}tokens-limit")),
        tokens_remaining=count_of(headers.get(f"{_PREFIX}tokens-remaining")),
    )
