"""Errors as S3 words them: XML with a code and a message."""

from __future__ import annotations

from html import escape

from aiohttp import web

from overnight_emulator.faults.kinds import Fault

_CODES = {429: "SlowDown", 500: "InternalError", 503: "SlowDown"}


class S3Error(Exception):
    def __init__(self, status: int, code: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self._status = status
        self._code = code
        self._headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}

    def reply(self) -> web.Response:
        body = f"<Error><Code>{escape(self._code)}</Code><Message>{escape(str(self))}</Message></Error>"
        text = f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'
        return web.Response(status=self._status, text=text, content_type="application/xml", headers=self._headers)


def from_fault(fault: Fault) -> S3Error:
    code = fault.code or _CODES.get(fault.http_status, "InvalidRequest")
    return S3Error(fault.http_status, code, fault.message or "By a fault.", fault.retry_after)
