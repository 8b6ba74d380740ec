"""What is expected and how sure that is: laws that hold for whatever was seen."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.estimate import (
    ENOUGH,
    Lengths,
    assumed_lengths,
    by_length,
    factors,
    interval,
    lengths_of,
    line_of,
    mean_of_so_many,
    step_of,
    together,
)

COUNTS = st.lists(st.tuples(st.integers(0, 100_000), st.integers(1, 50)), min_size=1, max_size=40)
MONEY = st.floats(1, 1e15)


@given(st.integers(0, 2**62), st.integers(0, 2**62))
def test_steps_rise_with_the_amount_and_have_an_end(one: int, other: int) -> None:
    assert step_of(min(one, other)) <= step_of(max(one, other)) <= 104
    assert step_of(0) == 0 < step_of(1)


@given(COUNTS)
def test_a_mean_lies_among_the_lengths(seen: list[tuple[int, int]]) -> None:
    found = lengths_of(seen)
    assert found is not None
    assert found.answers == sum(count for _, count in seen)
    assert 0 <= found.mean <= max(length for length, _ in seen) + 1e-6
    assert found.spread >= 0


@given(st.lists(st.integers(10, 1_000), min_size=20, max_size=200), st.integers(10**7, 2**62))
def test_one_absurd_length_hardly_moves_the_mean(lengths: list[int], absurd: int) -> None:
    honest, spoiled = lengths_of((one, 1) for one in lengths), lengths_of((one, 1) for one in [*lengths, absurd])
    assert honest is not None
    assert spoiled is not None
    # At most ten times the longest of the others, shared by all.
    assert spoiled.mean <= honest.mean + 10 * max(lengths) / len(lengths) + 1


@given(st.floats(0.05, 2), st.floats(-20, 200), st.lists(st.integers(200, 20_000), min_size=8, max_size=60))
def test_a_line_is_found_again(slope: float, start: float, sizes: list[int]) -> None:
    points = [(float(size), start + slope * size, 1) for size in sizes]
    found = line_of(points)
    assert found is not None
    for size, tokens, _ in points:
        if tokens > 0:
            assert found.tokens(size) == pytest.approx(tokens, rel=0.05, abs=2)


@given(st.integers(0, 10**6))
def test_absurd_counts_do_not_bend_the_line(seed: int) -> None:
    draw = random.Random(seed)
    honest = [(float(size), 12 + 0.25 * size, 1) for size in (draw.randint(300, 9_000) for _ in range(200))]
    absurd = [(float(draw.randint(300, 9_000)), 5e7 * draw.random(), 1) for _ in range(5)]
    found = line_of([*honest, *absurd])
    assert found is not None
    assert found.tokens(4_000) == pytest.approx(1_012, rel=0.02)


def test_nothing_seen_is_nothing_known() -> None:
    assert lengths_of([]) is None
    assert line_of([]) is None
    assert line_of([(0.0, 5.0, 3), (100.0, 0.0, 2)]) is None


@given(MONEY, st.floats(0, 1e15), st.none() | MONEY)
def test_an_interval_holds_what_is_expected(expected: float, deviation: float, ceiling: float | None) -> None:
    found = interval(expected, deviation, ceiling)
    assert 0 <= found.low <= found.expected <= found.p90 <= found.high * (1 + 1e-9)
    if ceiling is not None and ceiling >= expected:
        assert found.high <= ceiling


@given(MONEY, st.floats(0.01, 0.7), st.floats(1.1, 5))
def test_the_less_is_known_the_wider(expected: float, relative: float, more: float) -> None:
    narrow, wide = (interval(expected, expected * part) for part in (relative, relative * more))
    assert wide.low <= narrow.low
    assert wide.high >= narrow.high


RISKS = st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e9), max_size=4)


@given(st.lists(RISKS, max_size=6))
def test_risks_of_one_reason_add_up_and_others_do_not(risks: list[dict[str, float]]) -> None:
    whole = together(risks)
    assert whole <= sum(sum(one.values()) for one in risks) + 1e-3
    assert whole >= max((together([one]) for one in risks), default=0) - 1e-3
    assert together([{"a": 3.0}, {"a": 4.0}]) == 7
    assert together([{"a": 3.0}, {"b": 4.0}]) == 5


@given(st.integers(ENOUGH, 10_000), st.integers(1, 10**6))
def test_more_answers_make_surer(answers: int, more: int) -> None:
    few, many = Lengths(100, 50, answers), Lengths(100, 50, answers + more)
    assert many.mean_error < few.mean_error
    assert mean_of_so_many(few, 100)[0] == 5
    assert assumed_lengths(100).mean_error > few.mean_error


@given(st.integers(0, 10**6), st.floats(-1, 1))
def test_answers_go_with_their_requests_only_where_that_is_plain(seed: int, slope: float) -> None:
    draw = random.Random(seed)
    sizes = [draw.randint(200, 2_000) for _ in range(100)]
    found = by_length([(size, 3_000 + slope * size + draw.gauss(0, 5)) for size in sizes])
    if slope > 0.05:
        assert found is not None
        assert found.length(1_000) == pytest.approx(3_000 + slope * 1_000, rel=0.01)
        # Nothing is said of what is longer than all that was seen.
        assert found.length(10**9) == found.length(max(sizes))
    if slope < 0:
        assert found is None


@given(st.lists(st.lists(st.floats(-100, 100), min_size=6, max_size=6), min_size=1, max_size=5))
def test_factors_give_every_sum_its_deviation(errors: list[list[float]]) -> None:
    table = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in errors] for one in errors]
    owed = factors(table)
    for chosen in ([0], list(range(len(errors)))):
        whole = [sum(errors[row][place] for row in chosen) for place in range(6)]
        reasons = [{str(number): part for number, part in enumerate(owed[row])} for row in chosen]
        assert together(reasons) == pytest.approx(math.sqrt(sum(one**2 for one in whole)), rel=1e-3, abs=1e-2)
