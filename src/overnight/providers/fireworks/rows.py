"""Fireworks' rows: the completion itself is the response, with nothing around it."""

from typing import Any

import msgspec

from overnight.core.result import Line
from overnight.providers.openai_api.rows import decode as openai_decode
from overnight.providers.reading.complaints import complaint_in
from overnight.providers.reading.patient_json import UNREADABLE

_json = msgspec.json.Encoder()
_FAILED = range(400, 600)


class _Row(msgspec.Struct):
    custom_id: msgspec.Raw = msgspec.Raw()
    response: msgspec.Raw = msgspec.Raw()
    error: Any = None


class _Wrapped(msgspec.Struct):
    status_code: int | None = None


_rows = msgspec.json.Decoder(_Row)
_wrapped = msgspec.json.Decoder(_Wrapped)


def decode(line: bytes) -> Line:
    """Total. A live answer has OpenAI's form around it already."""
    try:
        row = _rows.decode(line)
        if row.error is not None:
            return openai_decode(_failure(row))
        if not bytes(row.response).strip() or _wrapped.decode(row.response).status_code is not None:
            return openai_decode(line)
    except UNREADABLE:
        return openai_decode(line)
    form = b'{"custom_id":%b,"response":{"status_code":200,"body":%b}}'
    return openai_decode(form % (bytes(row.custom_id) or b"null", bytes(row.response)))


def _failure(row: _Row) -> bytes:
    """A code that is an HTTP status is the status of the row."""
    said = complaint_in({"error": row.error})
    status = int(said.code) if said.code.isdecimal() and int(said.code) in _FAILED else None
    error = {"message": said.message or None, "code": None if status else said.code or None}
    if status is None:
        told = b'"error":%b' % _json.encode(error)
    else:
        told = b'"response":%b' % _json.encode({"status_code": status, "body": {"error": error}})
    return b'{"custom_id":%b,%b}' % (bytes(row.custom_id) or b"null", told)
