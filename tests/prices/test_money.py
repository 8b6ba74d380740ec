from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.prices import NANO_PER_DOLLAR, dollars
from overnight.prices.money import half_up


@pytest.mark.parametrize(
    ("nano", "text"),
    [
        (0, "$0.00"),
        (12_340_000_000, "$12.34"),
        (12_345_000_000, "$12.35"),
        (1_234_567_890_000_000, "$1,234,567.89"),
        (5_000_000_000, "$5.00"),
        (4_200_000, "$0.0042"),
        (4_000_000, "$0.004"),
        (15_000_000, "$0.015"),
        (420_000_000, "$0.42"),
        (500_000_000, "$0.50"),
        (1, "$0.000000001"),
        (1_240, "$0.0000012"),
        (994_000_000, "$0.99"),
        (995_000_000, "$1.00"),
        (999_999_999, "$1.00"),
        (9_999_999, "$0.01"),
        (-1_200_000_000, "-$1.20"),
        (-4_200_000, "-$0.0042"),
    ],
)
def test_dollars_are_written_for_people(nano: int, text: str) -> None:
    assert dollars(nano) == text


@given(st.integers(-(10**18), 10**18))
def test_dollars_keep_what_counts(nano: int) -> None:
    text = dollars(nano)
    shown = Fraction(text.replace("$", "").replace(",", "")) * NANO_PER_DOLLAR
    assert abs(shown - nano) <= Fraction(abs(nano), 20)
    assert (shown == 0) == (nano == 0)


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**9))
def test_half_up_is_the_nearest_and_a_half_goes_up(above: int, below: int) -> None:
    amount = Fraction(above, below)
    assert -Fraction(1, 2) < half_up(amount) - amount <= Fraction(1, 2)
