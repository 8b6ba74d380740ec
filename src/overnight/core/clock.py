"""Time, handed in from outside so that tests and rehearsals can make a day pass in seconds."""

import asyncio
import math
import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

from overnight.core.errors import StudyError
from overnight.core.wording import quoted

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")

# The longest that a wait can overrun after the machine has slept.
_NAP = 30.0


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None: ...


def steady() -> float:
    """Seconds by a clock that nobody sets; the hours that a laptop sleeps count, where the system counts them."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


def wall_time() -> float:
    """Seconds since 1970 by the system's clock."""
    return time.time()


class WallClock:
    """Real time, or time that runs `scale` times as fast.

    The system's clock is read once; from there a steady one goes on. A clock that is set meanwhile can neither
    stretch a wait nor put one event before another.
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._wall = wall_time()
        self._begun = steady()

    def now(self) -> float:
        return self._wall + (steady() - self._begun) * self.scale

    async def sleep(self, seconds: float) -> None:
        """In naps: the loop's own timer stands still while the machine sleeps."""
        until = steady() + seconds / self.scale
        while (left := until - steady()) > 0:  # noqa: ASYNC110 - there is no event but time itself
            await asyncio.sleep(min(left, _NAP))


# A hundred years: whatever is added to it is still a date.
_LONGEST = 100 * 366 * 86400.0


def seconds_of(duration: str | float, where: str = "duration") -> float:
    """`90`, `"90s"`, `"10m"`, `"1h30m"`, `"2d"` in seconds."""
    seconds = _read_seconds(duration.strip().lower()) if isinstance(duration, str) else float(duration)
    if not abs(seconds) <= _LONGEST:
        found = quoted(duration if isinstance(duration, str) else f"{float(duration):g}")
        message = f"{where}: {found} is not a duration; wanted seconds or something like 90s, 10m, 1h30m, 2d"
        raise StudyError(message)
    return seconds


def _read_seconds(text: str) -> float:
    """No number for what cannot be read."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text).strip():
        return math.nan
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def duration_text(seconds: float) -> str:
    """`1h 05m`, `3m 20s`, `12s`: for people."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600}h"


@lru_cache(maxsize=4096)  # a million rows of a table share a few thousand times
def time_text(at: float | None) -> str:
    """An ISO time in UTC, to the second; empty for no time."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
