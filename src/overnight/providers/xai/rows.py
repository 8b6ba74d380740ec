"""xAI's results: a completion or a text about what went wrong, under the id that its request was given."""

from typing import Any

import msgspec

from overnight.core.result import Line
from overnight.providers.openai_api.rows import decode as openai_decode
from overnight.providers.reading.patient_json import UNREADABLE

_json = msgspec.json.Encoder()


class _Response(msgspec.Struct):
    chat_get_completion: msgspec.Raw = msgspec.Raw()


class _Outcome(msgspec.Struct):
    response: _Response | None = None
    error: Any = None


class _Row(msgspec.Struct):
    batch_request_id: msgspec.Raw = msgspec.Raw()
    batch_result: _Outcome | None = None


_rows = msgspec.json.Decoder(_Row)


def decode(line: bytes) -> Line:
    """Total. A live answer is in OpenAI's form already."""
    return _with_thoughts(openai_decode(_as_openai(line)))


def _as_openai(line: bytes) -> bytes:
    try:
        row = _rows.decode(line)
    except UNREADABLE:
        return line
    outcome, custom_id = row.batch_result, bytes(row.batch_request_id)
    if outcome is None or not custom_id:
        return line
    if outcome.error is not None:
        message = outcome.error if isinstance(outcome.error, str) else str(outcome.error)[:500]
        return b'{"custom_id":%b,"error":%b}' % (custom_id, _json.encode({"message": message}))
    body = bytes(outcome.response.chat_get_completion) if outcome.response is not None else b""
    return b'{"custom_id":%b,"response":{"status_code":200,"body":%b}}' % (custom_id, body or b"null")


def _with_thoughts(found: Line) -> Line:
    """What was thought is billed with the answer, and counted beside it."""
    result = found.result
    if result is None or result.usage.output is None or not result.usage.reasoning:
        return found
    counted = msgspec.structs.replace(result.usage, output=result.usage.output + result.usage.reasoning)
    return Line(found.custom_id, msgspec.structs.replace(result, usage=counted), found.problem)
