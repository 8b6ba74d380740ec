"""Numbers beyond belief are unknown: they cost a run nothing."""

from __future__ import annotations

import pytest

from overnight.providers.reading.figures import LONGEST_WAIT, MOST, count_of, moment_of, seconds_of


@pytest.mark.parametrize(
    "odd", ["9" * 5_000, "9" * 400, "-1", "1.5", "\u0661", "", None, True, -1, MOST + 1, 2**70, 0.5, [1]]
)
def test_what_is_no_count_is_unknown(odd: object) -> None:
    """Python itself raises for a text of more than 4,300 digits."""
    assert count_of(odd) is None


def test_counts_come_as_numbers_and_as_digits() -> None:
    assert [count_of(one) for one in (0, "0", "17", MOST, str(MOST))] == [0, 0, 17, MOST, MOST]


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("9" * 5_000, LONGEST_WAIT),
        ("1e999", LONGEST_WAIT),
        ("nan", None),
        ("soon", None),
        (None, None),
        ("-3", 0.0),
        ("2", 2.0),
    ],
)
def test_a_wait_is_within_a_day(told: object, seconds: float | None) -> None:
    assert seconds_of(told) == seconds


def test_a_moment_is_in_a_calendar() -> None:
    assert [moment_of(one) for one in (0.0, 1e11, 1e12, -1.0, None)] == [0.0, 1e11, None, None, None]
