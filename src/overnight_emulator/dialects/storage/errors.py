"""Errors as Cloud Storage words them: `{"error": {code, message, errors: [{message, domain, reason}]}}`."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from overnight_emulator.dialects.google.accounts import access_token_of
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.patterns import matches_any
from overnight_emulator.truth import Truth

_REASONS = {
    400: "invalid",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "conflict",
    412: "conditionNotMet",
    429: "rateLimitExceeded",
    503: "backendError",
}


class StorageError(Exception):
    """Cloud Storage refuses, in its own words."""

    def __init__(
        self, status: int, message: str, *, reason: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
        said = {"message": message, "domain": "global", "reason": reason or _REASONS.get(status, "internalError")}
        self.body: dict[str, Any] = {"error": {"code": status, "message": message, "errors": [said]}}


def from_fault(fault: Fault) -> StorageError:
    message = fault.message or f"The request was answered with status {fault.http_status} by a fault."
    return StorageError(fault.http_status, message, reason=fault.code, retry_after=fault.retry_after)


def bad_json() -> StorageError:
    return StorageError(400, "Parse Error", reason="parseError")


def no_such_object(bucket: str, name: str) -> StorageError:
    return StorageError(404, f"No such object: {bucket}/{name}")


def check_bucket(bucket: str, truth: Truth, permission: str) -> None:
    """Whether it exists, and whether whoever calls may do this in it."""
    if matches_any(bucket, truth.buckets.missing):
        raise StorageError(404, "The specified bucket does not exist.")
    if matches_any(bucket, truth.buckets.refuse):
        caller = "caller@project.iam.gserviceaccount.com"
        denied = f"Permission '{permission}' denied on resource (or it may not exist)."
        raise StorageError(
            403, f"{caller} does not have {permission} access to the Google Cloud Storage object. {denied}"
        )


def check_token(request: web.Request, truth: Truth) -> None:
    """An emulated store is open to whoever shows nothing; what is shown must not be refused."""
    if access_token_of(request) in truth.keys.refuse:
        raise StorageError(401, "Invalid Credentials")
