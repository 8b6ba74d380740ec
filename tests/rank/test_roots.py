from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr

from overnight.core.errors import WrongArgument
from overnight.rank.roots import root

FUNCTIONS = {
    "a cube": lambda shift: lambda x: x**3 - shift,
    "a chance": lambda shift: lambda x: ndtr(x) - 1 / (1 + np.exp(-shift)),
    "steep": lambda shift: lambda x: np.tanh(50 * (x - shift)) + 1e-3 * (x - shift),
    "flat": lambda shift: lambda x: (x - shift) ** 9,
    "a step": lambda shift: lambda x: 1.0 if x > shift else -0.25,
    "a line": lambda shift: lambda x: 3 * (x - shift),
}


@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.floats(-8, 8),
    st.sampled_from([(1e-10, 4 * 2.0**-52), (1e-5, 4 * 2.0**-52), (2e-12, 1e-12)]),
)
def test_the_same_place_as_scipy_s_to_the_last_bit(name, shift, tolerances):
    function, (xtol, rtol) = FUNCTIONS[name](shift), tolerances

    def places(find):
        """Where the function was looked at, and what came of it."""
        asked = []
        with suppress(ArithmeticError, RuntimeError):  # a step at nought is approached for ever
            asked.append(find(lambda x: asked.append(x) or function(x), -9.5, 9.0, xtol=xtol, rtol=rtol))
        return asked

    assert places(root) == places(brentq)


def test_ends_that_are_roots_and_ends_that_hold_none():
    assert root(lambda x: x, 0.0, 1.0) == 0.0
    assert root(lambda x: x - 1, 0.0, 1.0) == 1.0
    with pytest.raises(WrongArgument, match="the same sign at 1 and at 2"):
        root(lambda x: x, 1.0, 2.0)
