"""How a study travels: the size of its batches, how often to look after them, and for how long."""

import msgspec

from overnight.core.clock import seconds_of
from overnight.core.errors import StudyError
from overnight.study.origin import Origin


class BatchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """At most so many requests in one batch, or so many batches for each arm; else as the provider allows."""

    max_requests: int | None = None
    segments: int | None = None


class PollSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds between two rounds of looking, and between two batches within a round."""

    interval_seconds: float = 60.0
    per_job_delay: float = 2.0


def check_batch(batch: BatchSettings | None, origin: Origin) -> None:
    if batch is None:
        return
    if batch.max_requests is not None and batch.segments is not None:
        raise origin.error(("batch",), "`max_requests` and `segments` exclude each other; keep one of them")
    for field in BatchSettings.__struct_fields__:
        value = getattr(batch, field)
        if value is not None and value < 1:
            raise origin.error(("batch", field), f"{value} is less than 1")


def check_poll(poll: PollSettings | None, origin: Origin) -> None:
    if poll is None:
        return
    if poll.interval_seconds <= 0:
        raise origin.error(("poll", "interval_seconds"), f"{poll.interval_seconds:g} is not more than 0 seconds")
    if poll.per_job_delay < 0:
        raise origin.error(("poll", "per_job_delay"), f"{poll.per_job_delay:g} is less than 0 seconds")


def timeout_seconds(timeout: str | float, origin: Origin) -> float:
    seconds = _seconds(timeout, origin, "timeout")
    if seconds <= 0:
        raise origin.error(("timeout",), f"{seconds:g} seconds is no time at all; write something like 90s, 10m, 24h")
    return seconds


def gather_seconds(gather: str | float, origin: Origin) -> float:
    """None at all means that nothing waits for company."""
    seconds = _seconds(gather, origin, "gather")
    if seconds < 0:
        raise origin.error(("gather",), f"{seconds:g} is less than 0 seconds")
    return seconds


def _seconds(duration: str | float, origin: Origin, field: str) -> float:
    try:
        return seconds_of(duration)
    except StudyError as error:
        raise origin.error((field,), str(error).removeprefix("duration: ")) from None
