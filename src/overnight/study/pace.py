"""How a study travels: in batches or live, how large and how fast, how often to look after it, and for how long."""

from datetime import datetime
from decimal import Decimal
from typing import get_args

import msgspec

from overnight.core.clock import seconds_of
from overnight.core.errors import StudyError, nearest
from overnight.core.money import DOLLAR
from overnight.engine.decisions import Mode
from overnight.engine.live.pace import Pacing
from overnight.engine.live.spill import Spill
from overnight.study.origin import Origin


class BatchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """At most so many requests in one batch, or so many batches for each arm; else as the provider allows.

    `min_requests` is the account's own floor, where a provider has one.
    """

    max_requests: int | None = None
    segments: int | None = None
    min_requests: int | None = None


class LiveSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How fast live calls may go; what is not set is learned from the provider.

    `qps` and `rpm` are requests per second and per minute, `tpm` tokens per minute; `concurrency` is calls at once.
    """

    qps: float | None = None
    rpm: float | None = None
    tpm: float | None = None
    concurrency: int | None = None


class SpillSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When and for how much the rest is finished live: so long before the deadline, for so many dollars at most."""

    before: str | float | None = None
    max_cost: float | None = None


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
    if batch.max_requests is not None and (batch.min_requests or 0) > batch.max_requests:
        raise origin.error(
            ("batch", "min_requests"),
            f"{batch.min_requests:,} is more than `max_requests`, which is {batch.max_requests:,}",
        )


def check_mode(mode: str, origin: Origin) -> None:
    modes = get_args(Mode)
    if mode not in modes:
        raise origin.error(("mode",), f"wanted {', '.join(modes)}, found '{mode}'{nearest(mode, modes)}")


def check_live(live: LiveSettings | None, origin: Origin) -> None:
    for field in LiveSettings.__struct_fields__ if live is not None else ():
        value = getattr(live, field)
        if value is not None and value <= 0:
            raise origin.error(("live", field), f"{value:g} is not more than 0")


def pacing_of(live: LiveSettings | None) -> Pacing:
    """The same in the engine's words; of a rate by the second and one by the minute, the lower one."""
    if live is None:
        return Pacing()
    rates = [rate for rate in (live.rpm, None if live.qps is None else live.qps * 60) if rate is not None]
    return Pacing(
        requests_per_minute=min(rates, default=None), tokens_per_minute=live.tpm, concurrency=live.concurrency
    )


def deadline_after(written: str | float, now: float, origin: Origin) -> float:
    """The moment that a deadline names: so long after now, or a time of its own."""
    try:
        return now + seconds_of(written)
    except StudyError:
        pass
    try:
        return datetime.fromisoformat(str(written)).timestamp()
    except ValueError:
        wanted = "wanted a duration such as 12h, or a time such as 2026-11-20T08:00"
        raise origin.error(("deadline",), f"'{written}' is neither; {wanted}") from None


def check_deadline(deadline: str | float | None, spill: SpillSettings | None, mode: str, origin: Origin) -> None:
    if deadline is not None and deadline_after(deadline, 0.0, origin) <= 0:
        raise origin.error(("deadline",), f"{_shown(deadline)} is no time at all; write something like 12h")
    if spill is None:
        return
    if mode != "auto":
        raise origin.error(("spill",), f"is for `mode: auto`; this study's mode is {mode}")
    if deadline is None:
        raise origin.error(("spill",), "needs a `deadline` to spill before")
    if spill.before is not None and _seconds(spill.before, origin, "spill", "before") < 0:
        raise origin.error(("spill", "before"), f"{_shown(spill.before)} is less than 0 seconds")
    if spill.max_cost is not None and spill.max_cost <= 0:
        raise origin.error(("spill", "max_cost"), f"{spill.max_cost:g} is not more than 0 dollars")


def spill_of(spill: SpillSettings | None) -> Spill:
    """The same in the engine's words."""
    if spill is None:
        return Spill()
    return Spill(
        before=None if spill.before is None else seconds_of(spill.before),
        max_cost=None if spill.max_cost is None else int(Decimal(str(spill.max_cost)) * DOLLAR),
    )


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


def _shown(duration: str | float) -> str:
    return duration if isinstance(duration, str) else f"{duration:g}"


def _seconds(duration: str | float, origin: Origin, *route: str) -> float:
    try:
        return seconds_of(duration)
    except StudyError as error:
        raise origin.error(route, str(error).removeprefix("duration: ")) from None
