from __future__ import annotations

import asyncio
import time

import pytest

from overnight.core.clock import WallClock, duration_text, seconds_of, time_text
from overnight.core.errors import StudyError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (90, 90),
        ("90", 90),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("1.5h", 5400),
        ("1h 5s", 3605),
    ],
)
def test_durations(text: str | int, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10 parsecs", "-5m", "5m later"])
def test_what_is_no_duration_is_said(text: str) -> None:
    with pytest.raises(StudyError, match=r"deadline: '.*' is not a duration; wanted seconds or something like"):
        seconds_of(text, "deadline")


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "3s"), (200, "3m 20s"), (3900, "1h 05m"), (90_000, "1d 1h"), (59.7, "1m 00s")]
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_scaled_time_runs_ahead_and_sleeps_short() -> None:
    clock = WallClock(scale=1000)
    began, real = clock.now(), time.monotonic()
    asyncio.run(clock.sleep(50))
    assert time.monotonic() - real < 1
    assert 49 < clock.now() - began < 1000


def test_times_are_utc() -> None:
    assert time_text(0) == "1970-01-01T00:00:00Z"
    assert time_text(None) == ""
