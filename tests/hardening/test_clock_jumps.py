"""Clocks that go back or leap ahead: nothing is paid twice for it."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core import clock as clock_module
from overnight.core.attempt import Accepted, Attempt, Creating, Looked, Unknown, Uploaded, Withdrawn, apply
from overnight.core.clock import WallClock
from overnight.engine.decisions import LOOKS, adjudicate
from overnight.engine.waiting import Waiting

JUMPS = st.floats(-100_000, 100_000)


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_a_clock_that_is_set_moves_neither_stamps_nor_waits(monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    clock = WallClock()
    before, real = clock.now(), time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert 0 <= clock.now() - before < 60
    began = time.monotonic()
    asyncio.run(Waiting(clock, once=False).until(before + 0.05))
    assert time.monotonic() - began < 5
    assert clock.now() >= before + 0.05


def test_a_wait_ends_soon_after_the_machine_has_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop's timer does not know about the hours in between."""
    asleep = 0.0
    awake = clock_module.steady

    async def nap(seconds: float) -> None:
        nonlocal asleep
        assert seconds <= 30
        asleep += 8 * 3600

    monkeypatch.setattr(clock_module, "steady", lambda: awake() + asleep)
    monkeypatch.setattr(clock_module.asyncio, "sleep", nap)
    asyncio.run(WallClock().sleep(3600))
    assert asleep == 8 * 3600


def unsure(at: float) -> Attempt:
    attempt = Attempt(
        id=1, shard=1, n=1, arm=1, token="t", account=1, rows=1, bytes=1, estimate=1, sha256="", intended_at=at
    )
    for event in (Uploaded("file"), Creating(None, at), Unknown("lost")):
        attempt = apply(attempt, event, at)
    return attempt


@given(st.lists(JUMPS, min_size=2, max_size=30), st.floats(0, 1e9))
def test_absence_is_never_concluded_without_a_look_after_the_withdrawal(jumps: list[float], start: float) -> None:
    attempt, now = unsure(start), start
    looked_after = False
    for jump in jumps:
        now += jump
        match adjudicate(attempt, now).verdict:
            case "look":
                attempt = apply(attempt, Looked(complete=True), now)
                looked_after = attempt.withdrawn_at is not None
            case "withdraw":
                attempt = apply(attempt, Withdrawn(), now)
            case "absent":
                assert looked_after
                return


def test_a_clock_that_goes_back_after_the_last_look_costs_one_more_look() -> None:
    attempt = unsure(1000.0)
    for delay in LOOKS:
        attempt = apply(attempt, Looked(complete=True), 1000.0 + delay)
    attempt = apply(attempt, Withdrawn(), 500.0)
    assert adjudicate(attempt, 501.0).verdict == "look"
    found = apply(attempt, Looked(complete=True, candidates=("batch_1",)), 502.0)
    assert adjudicate(found, 503.0).verdict == "adopt"
    assert apply(found, Accepted("batch_1", "listing"), 504.0).state == "running"
    assert adjudicate(apply(attempt, Looked(complete=True), 502.0), 503.0).verdict == "absent"
