"""How long batches take: laws that hold for whatever was seen."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.estimate import step_of
from overnight.core.turnaround import Leg, Took, Window, Work, over, took

KINDS = st.lists(
    st.tuples(
        st.builds(Took, st.integers(1, 50), st.floats(0, 12), st.floats(0.05, 2), st.just(0.0), st.integers(2, 50)),
        st.integers(1, 40),
    ),
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
    assert strange.doubt > small.doubt


def test_how_much_batches_differ_is_learnt_from_other_providers_too() -> None:
    """How long they take is not: and the more is seen of a provider itself, the less others count."""
    steady = [[seen(100, 590, 600, 610, 600, 595)] for _ in range(3)]
    wild = [[seen(100, 60, 600, 6_000, 200, 2_000)] for _ in range(3)]
    few, many = [seen(100, 3_000)], [seen(100, *(3_000 * (1 + at / 10) for at in range(40)))]
    alone, calm, rough = (took(few, 100, others) for others in ([], steady, wild))
    assert alone is not None
    assert calm is not None
    assert rough is not None
    assert alone.mean == calm.mean == rough.mean == pytest.approx(math.log(3_000))
    assert calm.spread < 0.5 * alone.spread
    assert rough.spread > 2 * alone.spread
    assert alone.differences < calm.differences == rough.differences <= 8
    own, beside = took(many, 100), took(many, 100, steady)
    assert own is not None
    assert beside is not None
    assert beside.spread == pytest.approx(own.spread, rel=0.1)


def side_by_side(*kinds: tuple[Took, int]) -> Window:
    """Nothing is sent of a kind of which there are no batches."""
    arms = [[Leg(str(place), *kind)] if kind[1] else [] for place, kind in enumerate(kinds)]
    return over([Work("one", arms)])


@settings(max_examples=20, deadline=None)
@given(KINDS)
def test_the_last_of_several_is_later_than_any(kinds: list[tuple[Took, int]]) -> None:
    whole = side_by_side(*kinds)
    assert 0 < whole.low <= whole.middle <= whole.high
    for place, one in enumerate(kinds):
        alone = side_by_side(*((one[0], one[1] if at == place else 0) for at, one in enumerate(kinds)))
        assert whole.middle >= alone.middle
        assert whole.high >= alone.high
    more = side_by_side(*((one, count + 1) for one, count in kinds))
    assert more.middle >= whole.middle


@given(st.floats(0, 12), st.floats(0, 2), st.floats(0, 2), st.integers(1, 20))
def test_one_batch_is_expected_when_those_before_it_were_over(mean: float, spread: float, doubt: float, n: int) -> None:
    whole = side_by_side((Took(3, mean, spread, doubt, n), 1))
    assert whole.middle == pytest.approx(math.exp(mean), rel=1e-9)
    assert math.log(whole.low) + math.log(whole.high) == pytest.approx(2 * mean, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 12), min_size=1, max_size=5), st.integers(1, 40))
def test_rounds_add_up(means: list[float], batches: int) -> None:
    """Where batches take what they always took, the ends of rounds are sums to the second."""
    legs = [Leg("p", Took(9, mean, 0.0, 0.0), batches) for mean in means]
    expected = sum(map(math.exp, means))
    assert over([Work("one", [legs])]) == pytest.approx([expected] * 3)
    stages = [Work(f"{at}", [[leg]], f"{at - 1}", waits=at % 2 == 0) for at, leg in enumerate(legs)]
    assert over(stages) == pytest.approx([expected] * 3)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 12), st.floats(0.05, 1)), min_size=2, max_size=4))
def test_rounds_are_no_wider_than_all_of_them_late(rounds: list[tuple[float, float]]) -> None:
    legs = [Leg(f"{at}", Took(9, mean, spread, 0.0), 3) for at, (mean, spread) in enumerate(rounds)]
    whole = over([Work("one", [legs])])
    # Each alone, at the same place in its row, so that it draws what it draws in the whole.
    nothing = [Leg(f"{at}", Took(9, -40.0, 0.0, 0.0), 3) for at in range(len(legs))]
    alone = [over([Work("one", [[*nothing[:at], leg, *nothing[at + 1 :]]])]) for at, leg in enumerate(legs)]
    assert max(one.high for one in alone) <= whole.high <= sum(one.high for one in alone) * (1 + 1e-9)
    assert max(one.middle for one in alone) <= whole.middle


def test_turns_go_on_one_by_one_and_waiting_stages_do_not() -> None:
    hour = Took(10, math.log(3_600.0), 0.5, 0.0)
    four = Leg("p", hour, 4)
    once = over([Work("one", [[four]])]).middle
    turns = over([Work("one", [[four, four]])]).middle
    landed = over([Work("one", [[four]]), Work("two", [[four]], "one")]).middle
    done = over([Work("one", [[four]]), Work("two", [[four]], "one", waits=True)]).middle
    assert done == pytest.approx(2 * once, rel=0.05)
    assert turns == pytest.approx(landed, rel=0.05)
    assert once < turns < 0.93 * done


def test_what_is_off_for_all_is_no_reason_to_wait_for_the_last() -> None:
    """Whether a provider is slow today hits all its batches: a hundred of them are not later for it than one."""
    unsure = Took(1, math.log(3_600.0), 0.01, 0.7)
    one, many = (side_by_side((unsure, count)) for count in (1, 100))
    assert many.middle == pytest.approx(one.middle, rel=0.1)
    assert one.low < 0.5 * 3_600 < 2 * 3_600 < one.high


@pytest.mark.parametrize("few", [3, 10])
@pytest.mark.parametrize("waits", [False, True])
def test_nine_of_ten_ends_lie_in_the_window(few: int, waits: bool) -> None:
    """Providers whose mean and spread nobody knows, by a few of their batches."""
    held = 0
    for seed in range(100):
        draw = random.Random(f"{few} {waits} {seed}")
        mean, spread = draw.uniform(6, 10), draw.uniform(0.1, 0.9)

        def batch(mean: float = mean, spread: float = spread, draw: random.Random = draw) -> float:
            return math.exp(draw.gauss(mean, spread))

        told = took([seen(100, *(batch() for _ in range(few)))], 100)
        assert told is not None
        legs = [[Leg("p", told, 3)]]
        window = over([Work("one", legs), Work("two", legs, "one", waits=waits)])
        first = [batch() for _ in range(3)]
        begun = [max(first)] * 3 if waits else first
        end = max(start + batch() for start in begun)
        held += window.low <= end <= window.high
    assert 83 <= held <= 97, held


@pytest.mark.parametrize("spread", [0.2, 1.0])
def test_nine_of_ten_ends_lie_in_the_window_where_others_tell_the_spread(spread: float) -> None:
    """Two batches of each of four providers: too few to tell how much they differ, but not all together."""
    held = 0
    for seed in range(100):
        draw = random.Random(f"others {spread} {seed}")
        means = [draw.uniform(6, 10) for _ in range(4)]
        own, *others = ([seen(100, *(math.exp(draw.gauss(mean, spread)) for _ in range(2)))] for mean in means)
        told = took(own, 100, others)
        assert told is not None
        window = side_by_side((told, 2))
        held += window.low <= max(math.exp(draw.gauss(means[0], spread)) for _ in range(2)) <= window.high
    assert 83 <= held <= 97, held
