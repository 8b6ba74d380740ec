"""Where a function of one number is nought: scipy has the same, in a package of 14 MB and a tenth of a second."""

from collections.abc import Callable
from math import inf
from typing import Final

from overnight.core.errors import WrongArgument

_FINEST: Final = 4 * 2.0**-52
_MOST_STEPS: Final = 100


def root(of: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12, rtol: float = _FINEST) -> float:
    """Between two places where the function has not the same sign, to within `xtol + rtol * |root|`; Brent 1973.

    A step goes to where a line or a curve through the last places is nought, as long as that comes close quickly; else
    to the middle. The steps are those of `scipy.optimize.brentq`, to the last bit.
    """
    before, here = low, high
    value_before, value = float(of(before)), float(of(here))
    if value_before == 0:
        return before
    if value == 0:
        return here
    if (value_before < 0) == (value < 0):
        raise WrongArgument(f"the function has the same sign at {low:g} and at {high:g}")
    # The end that has the other sign, and the last step and the one before.
    other, value_other, step, step_before = before, value_before, 0.0, 0.0
    for _ in range(_MOST_STEPS):
        if value != 0 and (value_before < 0) != (value < 0):
            other, value_other = before, value_before
            step = step_before = here - before
        if abs(value_other) < abs(value):
            before, here, other = here, other, here
            value_before, value, value_other = value, value_other, value
        least = (xtol + rtol * abs(here)) / 2
        half = (other - here) / 2
        if value == 0 or abs(half) < least:
            return here
        tried = half
        if abs(step_before) > least and abs(value) < abs(value_before):
            if before == other:
                tried = -value * (here - before) / (value - value_before)
            else:
                slope, slope_other = (value_before - value) / (before - here), (value_other - value) / (other - here)
                bend = slope_other * slope * (value_other - value_before)
                ahead = -value * (value_other * slope_other - value_before * slope)
                tried = ahead / bend if bend else inf
        quick = 2 * abs(tried) < min(abs(step_before), 3 * abs(half) - least)
        step_before, step = (step, tried) if quick else (half, half)
        before, value_before = here, value
        here += step if abs(step) > least else (least if half > 0 else -least)
        value = float(of(here))
    raise ArithmeticError(f"no root is found between {low:g} and {high:g}")


__all__ = ["root"]
