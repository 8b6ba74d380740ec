"""How long batches take: laws that hold for whatever was seen."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.estimate import step_of
from overnight.core.turnaround import Took, Window, one_after_another, round_over, took

KINDS = st.lists(
    st.tuples(st.builds(Took, st.integers(1, 50), st.floats(0, 12), st.floats(0.05, 2)), st.integers(1, 40)),
    min_size=1,
    max_size=4,
)


def seen(rows: int, *seconds: float) -> tuple[int, int, float, float]:
    logs = [math.log(one) for one in seconds]
    return step_of(rows), len(logs), sum(logs), sum(one**2 for one in logs)


def test_nothing_seen_is_unknown() -> None:
    assert took([], 100) is None


def test_batches_of_the_same_size_count_and_others_only_where_there_are_none() -> None:
    history = [seen(100, 600, 600, 600), seen(50_000, 36_000, 36_000, 36_000)]
    small, large = took(history, 120), took(history, 40_000)
    assert small is not None
    assert large is not None
    assert math.exp(small.mean) == pytest.approx(600)
    assert math.exp(large.mean) == pytest.approx(36_000)
    strange = took(history, 3_000)
    assert strange is not None
    assert strange.batches == 6
    assert strange.spread > small.spread


@given(KINDS)
def test_the_last_of_several_is_later_than_any(kinds: list[tuple[Took, int]]) -> None:
    whole = round_over(kinds)
    assert 0 < whole.low <= whole.middle <= whole.high
    for one in kinds:
        assert whole.middle >= round_over([one]).middle * (1 - 1e-6)
    more = round_over([(one, count + 1) for one, count in kinds])
    assert more.middle >= whole.middle * (1 - 1e-6)


@given(st.lists(st.tuples(*(st.floats(1, 1e6),) * 3), max_size=5))
def test_rounds_add_up(numbers: list[tuple[float, float, float]]) -> None:
    rounds = [Window(*sorted(one)) for one in numbers]
    whole = one_after_another(rounds)
    assert whole.middle == pytest.approx(sum(one.middle for one in rounds))
    assert 0 <= whole.low <= whole.middle + 1e-6
    assert whole.middle <= whole.high <= sum(one.high for one in rounds) + 1e-3
