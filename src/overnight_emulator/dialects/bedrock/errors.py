"""Errors as AWS words them: a message in JSON, and its kind in a header."""

from __future__ import annotations

from aiohttp import web

from overnight_emulator.dialects.openai.accounts import check_credit as openai_check
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.truth import Truth
from overnight_emulator.wire import json_reply

_KINDS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}


class AwsError(Exception):
    def __init__(self, status: int, kind: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self._retry = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}

    def reply(self) -> web.Response:
        body = {"message": str(self), **({"code": self.kind} if "_" in self.kind else {})}
        return json_reply(body, self.status, {"x-amzn-ErrorType": self.kind, **self._retry})


def from_fault(fault: Fault) -> AwsError:
    kind = fault.code or _KINDS.get(fault.http_status, "InternalServerException")
    return AwsError(fault.http_status, kind, fault.message or "By a fault.", fault.retry_after)


def check_credit(request: web.Request, truth: Truth) -> None:
    """An account that cannot pay."""
    try:
        openai_check(request, truth)
    except ApiError as error:
        said = error.body["error"]
        raise AwsError(error.status, said["code"], said["message"]) from None
