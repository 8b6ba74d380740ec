"""Errors as Ollama words them: a status and one text."""

from __future__ import annotations

from overnight_emulator.faults.kinds import Fault
from overnight_emulator.rates import Verdict


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": message}


def bad_json() -> Refused:
    return Refused(400, "invalid JSON")


def from_fault(fault: Fault) -> Refused:
    return Refused(fault.http_status, fault.message or "server error")


def too_fast(_: Verdict) -> Refused:
    """A full queue is all there is: a local server has no limits by the minute."""
    return Refused(503, "server busy, please try again.  maximum pending requests exceeded")
