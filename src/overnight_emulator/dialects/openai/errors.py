"""Errors as OpenAI words them: a status and `{"error": {message, type, param, code}}`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from overnight_emulator.faults.kinds import Fault

_TYPES = {429: "rate_limit_error", 401: "invalid_request_error"}
_WORDS = {
    429: "Rate limit reached. Please try again later.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The server is currently overloaded with other requests. Please retry after a short wait.",
}


class ApiError(Exception):
    """The provider refuses, in its own words."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str | None = None,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.body: dict[str, Any] = {
            "error": {"message": message, "type": kind or _type(status), "param": param, "code": code}
        }


def _type(status: int) -> str:
    return _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")


def from_fault(fault: Fault) -> ApiError:
    status = fault.http_status
    message = fault.message or _WORDS.get(status, f"The request was answered with status {status} by a fault.")
    headers = {} if fault.retry_after is None else retry_headers(fault.retry_after)
    return ApiError(status, message, kind=fault.type, code=fault.code, headers=headers)


def retry_headers(seconds: float) -> dict[str, str]:
    return {"retry-after": str(math.ceil(seconds)), "retry-after-ms": str(math.ceil(seconds * 1000))}


def no_such_file(file_id: str) -> ApiError:
    return ApiError(404, f"No such File object: {file_id}", param="id")


def no_such_batch(batch_id: str) -> ApiError:
    return ApiError(404, f"No batch found with id '{batch_id}'.")


def bad_json() -> ApiError:
    return ApiError(400, "We could not parse the JSON body of your request.")
