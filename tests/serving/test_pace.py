"""A rate is told when there is one, and is that of the last minutes."""

from __future__ import annotations

import pytest

from overnight.serving.pace import Pace


def test_nothing_is_said_before_there_is_something_to_measure() -> None:
    pace = Pace()
    assert pace.rate(0.0, 10) is None
    pace.look(0.0, 5)
    pace.look(1.0, 5)
    assert pace.rate(100.0, 10) is None
    pace.look(2.0, 7)
    assert pace.rate(2.0, 10) is None  # two seconds are no measure


def test_rows_a_second_and_the_end() -> None:
    pace = Pace()
    for second in range(11):
        pace.look(float(second), 10 * second)
    rate = pace.rate(10.0, 50)
    assert rate is not None
    assert rate.per_second == pytest.approx(10.0)
    assert rate.seconds_left == pytest.approx(5.0)
    slower = pace.rate(20.0, 50)
    assert slower is not None
    assert slower.per_second == pytest.approx(5.0)
    done = pace.rate(20.0, 0)
    assert done is not None
    assert done.seconds_left is None


def test_rows_that_are_asked_again_begin_a_new_measure() -> None:
    pace = Pace()
    pace.look(0.0, 0)
    pace.look(10.0, 100)
    pace.look(20.0, 50)
    assert pace.rate(30.0, 50) is None


def test_what_was_long_ago_does_not_count() -> None:
    pace = Pace()
    for at, done in ((0.0, 0), (10.0, 1000), (1000.0, 1010), (1100.0, 1020), (1200.0, 1030)):
        pace.look(at, done)
    rate = pace.rate(1200.0, 10)
    assert rate is not None
    assert rate.per_second == pytest.approx(0.1)
