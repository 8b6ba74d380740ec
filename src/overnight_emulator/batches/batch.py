"""A batch: what was asked, what became of it, and the pure reading of its state at a moment of virtual time.

Nothing moves a batch from status to status. A batch records facts (when it was made, what validation found, when
it was cancelled, what its rows came to) and its status is computed from them and the time.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import msgspec

from overnight_emulator.faults.kinds import Fault

WINDOW_SECONDS = 86_400
CANCELLING_SECONDS = 600
TERMINAL = frozenset({"completed", "failed", "expired", "cancelled"})

# The parts of its duration that a batch spends in validation and in writing its files.
_VALIDATING = 0.02
_FINALIZING = 0.02


class Flaw(msgspec.Struct, frozen=True):
    """Why a batch was refused at validation; `line` counts from 1."""

    code: str
    message: str
    param: str | None = None
    line: int | None = None


class Check(msgspec.Struct, frozen=True):
    """What validation found in the input."""

    duration: float
    total: int = 0
    model: str | None = None
    tokens: int = 0
    digest: str = ""
    flaw: Flaw | None = None


class Counted(Protocol):
    """What says how many tokens it came to."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def cached_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def reasoning_tokens(self) -> int: ...


class Usage(msgspec.Struct):
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0

    def add(self, other: Counted) -> None:
        self.input_tokens += other.input_tokens
        self.cached_tokens += other.cached_tokens
        self.output_tokens += other.output_tokens
        self.reasoning_tokens += other.reasoning_tokens


class Tally(msgspec.Struct):
    """What running the rows came to."""

    completed: int = 0
    failed: int = 0
    executed: int = 0
    usage: Usage = msgspec.field(default_factory=Usage)
    output_file_id: str | None = None
    error_file_id: str | None = None


class Batch(msgspec.Struct, frozen=True):
    """`gives_partial`: whether a batch that ends early gives up what it had finished, or nothing at all."""

    id: str
    dialect: str
    endpoint: str
    input_file_id: str
    created_at: float
    listed_from: float
    metadata: dict[str, str] | None = None
    details: dict[str, Any] = msgspec.field(default_factory=dict)
    check: Check | None = None
    fault: Fault | None = None
    cancel_at: float | None = None
    hurried_at: float | None = None
    tally: Tally | None = None
    window_seconds: float = WINDOW_SECONDS
    gives_partial: bool = True
    deleted: bool = False
    input_dialect: str | None = None

    @property
    def reads_from(self) -> str:
        """The dialect whose file its input is."""
        return self.input_dialect or self.dialect

    @property
    def expires_at(self) -> float:
        return self.created_at + self.window_seconds


def output_of(batch: Batch, now: float) -> str | None:
    """The output as it is shown: a fault may hide it for a while after the end."""
    fault, course, tally = batch.fault, timeline(batch), batch.tally
    if tally is None or course is None:
        return None
    late = fault is not None and fault.do == "empty_output" and fault.seconds is not None
    if late and fault is not None and now < course.ends_at + (fault.seconds or 0):
        return fault.as_
    return tally.output_file_id


def birth(fault: Fault | None, now: float) -> tuple[float, float]:
    """When a batch that is asked for now is made, and from when on it is listed."""
    wait = 0.0 if fault is None or fault.seconds is None else fault.seconds
    shift = {"delay_create": wait, "backdate": -wait}.get(fault.do, 0.0) if fault is not None else 0.0
    created_at = now + shift
    return created_at, now + wait if fault is not None and fault.do == "hide" else created_at


class Timeline(msgspec.Struct, frozen=True):
    """When a checked batch passes from one status to the next, and how it ends.

    `share` is the part of its rows that will have been run; they are run at `work_at`.
    """

    end: str
    ends_at: float
    in_progress_at: float
    finalizing_at: float = math.inf
    cancelling_at: float = math.inf
    share: float = 1.0

    @property
    def work_at(self) -> float:
        """The first moment at which it is certain which rows run."""
        return {"failed": math.inf, "completed": self.finalizing_at, "cancelled": self.cancelling_at}.get(
            self.end, self.ends_at
        )


def timeline(batch: Batch) -> Timeline | None:
    """None until validation has found something."""
    if batch.check is None:
        return None
    course = _undisturbed(batch, batch.check)
    cancel_at = _cancel_moment(batch, batch.check)
    if cancel_at is not None and cancel_at < course.ends_at and course.end != "failed":
        course = _cancelled(course, cancel_at, batch.check.duration, partial=batch.gives_partial)
    return course if batch.hurried_at is None else _hurried(course, batch.hurried_at)


def _cancel_moment(batch: Batch, check: Check) -> float | None:
    """When the user, or a fault, cancels it; what was hurried to its end before cannot be cancelled any more."""
    asked_at = batch.cancel_at
    if asked_at is not None and (batch.hurried_at is None or asked_at < batch.hurried_at):
        return asked_at
    if batch.fault is not None and batch.fault.do == "cancel":
        return batch.created_at + check.duration / 2
    return None


def _undisturbed(batch: Batch, check: Check) -> Timeline:
    fault, start, duration = batch.fault, batch.created_at, check.duration
    running = start + duration * _VALIDATING
    if check.flaw is not None:
        return Timeline("failed", ends_at=running, in_progress_at=math.inf)
    if fault is not None and fault.do == "expire":
        ends_at = start + (duration if fault.seconds is None else fault.seconds)
        return Timeline("expired", ends_at, min(running, ends_at), share=fault.share if batch.gives_partial else 0.0)
    if fault is not None and fault.do == "stuck":
        return Timeline(
            "completed",
            ends_at=math.inf,
            in_progress_at=math.inf if fault.status == "validating" else running,
            finalizing_at=math.inf if fault.status in {"validating", "in_progress"} else start + duration,
        )
    if fault is not None and fault.do == "slow" and fault.seconds is not None:
        duration += fault.seconds
    finalizing_at = start + duration * (1 - _FINALIZING)
    if start + duration > batch.expires_at:
        share = (batch.expires_at - running) / (finalizing_at - running) if batch.gives_partial else 0.0
        return Timeline("expired", batch.expires_at, running, share=min(1.0, max(0.0, share)))
    return Timeline("completed", start + duration, running, finalizing_at)


def _cancelled(course: Timeline, moment: float, duration: float, *, partial: bool) -> Timeline:
    """What had finished is kept; winding down takes a tenth of the batch's duration, ten minutes at most."""
    return Timeline(
        "cancelled",
        ends_at=moment + min(CANCELLING_SECONDS, duration / 10),
        in_progress_at=course.in_progress_at if course.in_progress_at <= moment else math.inf,
        finalizing_at=course.finalizing_at if course.finalizing_at <= moment else math.inf,
        cancelling_at=moment,
        share=progress(course, moment) if partial else 0.0,
    )


def _hurried(course: Timeline, moment: float) -> Timeline:
    """Everything still to come happens at once; where it leads to stays the same."""
    passes = {"completed": ("in_progress_at", "finalizing_at"), "expired": ("in_progress_at",)}
    sooner = {name: min(getattr(course, name), moment) for name in passes.get(course.end, ())}
    if course.end == "cancelled":
        sooner["cancelling_at"] = min(course.cancelling_at, moment)
    return msgspec.structs.replace(course, ends_at=min(course.ends_at, moment), **sooner)


def progress(course: Timeline, now: float) -> float:
    """The part of the rows that has been run by now."""
    until = min(course.finalizing_at, course.ends_at, course.cancelling_at)
    if now >= until:
        return course.share
    if now <= course.in_progress_at or math.isinf(until):
        return 0.0
    return course.share * (now - course.in_progress_at) / (until - course.in_progress_at)


def status(batch: Batch, now: float) -> str:
    course = timeline(batch)
    if course is None:
        return "validating" if batch.cancel_at is None else "cancelling"
    if now >= course.ends_at and (batch.tally is not None or course.end == "failed"):
        return course.end
    if now >= course.cancelling_at:
        return "cancelling"
    if now >= course.finalizing_at:
        return "finalizing"
    if now >= course.in_progress_at:
        fault = batch.fault
        return fault.word if fault is not None and fault.do == "status_word" else "in_progress"
    return "validating"
