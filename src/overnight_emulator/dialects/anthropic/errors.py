"""Errors as Anthropic words them: a status and `{"type": "error", "error": {type, message}, "request_id"}`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from overnight_emulator.faults.kinds import Fault

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_WORDS = {
    429: "This request would exceed your organization's rate limit. Please try again later.",
    500: "Internal server error",
    529: "Overloaded",
}


class ApiError(Exception):
    """The provider refuses, in its own words. `code` is the finer reason that some errors carry."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.error: dict[str, Any] = {"type": kind or _type(status), "message": message}
        if code is not None:
            self.error["details"] = {"error_code": code}

    def body(self, request_id: str | None) -> dict[str, Any]:
        return {"type": "error", "error": self.error, "request_id": request_id}


def _type(status: int) -> str:
    return _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")


def from_fault(fault: Fault) -> ApiError:
    status = fault.http_status
    message = fault.message or _WORDS.get(status, f"The request was answered with status {status} by a fault.")
    headers = {} if fault.retry_after is None else retry_headers(fault.retry_after)
    return ApiError(status, message, kind=fault.type, code=fault.code, headers=headers)


def retry_headers(seconds: float) -> dict[str, str]:
    return {"retry-after": str(math.ceil(seconds)), "retry-after-ms": str(math.ceil(seconds * 1000))}


def no_such_batch(batch_id: str) -> ApiError:
    return ApiError(404, f"Message Batch {batch_id} not found.")


def bad_json() -> ApiError:
    return ApiError(400, "The request body is not valid JSON.")
