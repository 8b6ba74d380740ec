"""When batches are given up for live calls, and how long one that is cancelled is waited for."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from overnight.engine.live.spill import CANCELLING, Spill, cut_at, grace, live_need

times = st.floats(0, 1e7)


@given(deadline=times, rows=st.integers(0, 10**7))
def test_the_cut_leaves_time_for_the_rest(deadline: float, rows: int) -> None:
    at = cut_at(deadline, Spill(), rows)
    assert at <= deadline - CANCELLING
    assert cut_at(deadline, Spill(), rows + 1) <= at
    assert live_need(rows) >= rows * 0.3


@given(deadline=times, before=st.floats(0, 1e5), rows=st.integers(0, 10**7))
def test_the_user_may_set_it(deadline: float, before: float, rows: int) -> None:
    assert cut_at(deadline, Spill(before=before), rows) == deadline - before


@given(deadline=times, now=times)
def test_a_cancelled_batch_gets_some_of_the_time_that_is_left(deadline: float, now: float) -> None:
    wait = grace(deadline, now)
    assert 0 <= wait <= CANCELLING
    assert now >= deadline or now + wait <= deadline
