"""Where a function is nought, in few steps and as near as was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.rank.root import root

PLACES = st.floats(-50, 50, allow_nan=False)
WAYS = st.floats(1e-6, 50, allow_nan=False)
SHAPES: dict[str, Callable[[float], float]] = {
    "straight": lambda x: x,
    "bent": math.sinh,
    "flat at first": lambda x: x**3,
    "steep at first": lambda x: math.copysign(abs(x) ** 0.3, x),
    "a step": lambda x: 1.0 if x > 0 else -1.0,
    "levelling off": math.tanh,
}


@pytest.mark.parametrize("shape", SHAPES)
@given(place=PLACES, below=WAYS, above=WAYS, falls=st.booleans())
def test_it_is_found_between_any_two_places(shape: str, place: float, below: float, above: float, falls: bool) -> None:
    calls = 0

    def function(x: float) -> float:
        nonlocal calls
        calls += 1
        value = SHAPES[shape](x - place)
        return -value if falls else value

    found = root(function, place - below, place + above, 1e-9)
    assert abs(found - place) <= 2e-9 or function(found) == 0
    assert calls < 200


def test_smooth_functions_take_few_steps() -> None:
    calls = []

    def function(x: float) -> float:
        calls.append(x)
        return math.erf(x / 2) - 0.95

    assert math.erf(root(function, 1e-6, 20.0, 1e-10) / 2) == pytest.approx(0.95, abs=1e-10)
    assert len(calls) <= 15


def test_what_is_nought_at_an_end_is_there_and_what_has_one_sign_is_nowhere() -> None:
    assert root(lambda x: x, 0.0, 1.0, 1e-9) == 0.0
    assert root(lambda x: x - 1, 0.0, 1.0, 1e-9) == 1.0
    with pytest.raises(ValueError, match=r"one sign at both 1\.0 and 2\.0"):
        root(lambda x: x, 1.0, 2.0, 1e-9)
