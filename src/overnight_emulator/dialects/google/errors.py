"""Errors as Google words them: `{"error": {code, message, status, details}}`, the code being the HTTP status."""

from __future__ import annotations

from typing import Any

from overnight_emulator.faults.kinds import Fault

_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_SENTENCES = {
    429: "Resource has been exhausted (e.g. check quota).",
    500: "An internal error has occurred. Please retry.",
    503: "The model is overloaded. Please try again later.",
}
_TYPES = "type.googleapis.com/google.rpc."


class GoogleError(Exception):
    """Google refuses, in its own words."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        word: str | None = None,
        reason: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        error: dict[str, Any] = {"code": status, "message": message, "status": word or word_of(status)}
        details = [*_reason(reason), *_wait(retry_after)]
        self.body: dict[str, Any] = {"error": error | ({"details": details} if details else {})}


def word_of(status: int) -> str:
    return _WORDS.get(status, "INVALID_ARGUMENT" if status < 500 else "UNKNOWN")


def from_fault(fault: Fault) -> GoogleError:
    status = fault.http_status
    message = fault.message or _SENTENCES.get(status, f"The request was answered with status {status} by a fault.")
    return GoogleError(status, message, word=fault.type, reason=fault.code, retry_after=fault.retry_after)


def bad_json() -> GoogleError:
    return GoogleError(400, "Invalid JSON payload received. Expected an object.")


def _reason(reason: str | None) -> list[dict[str, Any]]:
    if reason is None:
        return []
    return [{"@type": f"{_TYPES}ErrorInfo", "reason": reason, "domain": "googleapis.com"}]


def _wait(seconds: float | None) -> list[dict[str, Any]]:
    return [] if seconds is None else [{"@type": f"{_TYPES}RetryInfo", "retryDelay": f"{seconds:g}s"}]
