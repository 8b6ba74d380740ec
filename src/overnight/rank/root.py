"""Where a function is nought: Chandrupatla's method, which tries a parabola through the last three points.

`scipy.optimize` has such methods too, and takes 14 MB and a tenth of a second with all that it brings along.
"""

import sys
from collections.abc import Callable
from typing import Final

_MOST_STEPS: Final = 200


def root(function: Callable[[float], float], low: float, high: float, precision: float) -> float:
    """The place between two others at which the signs differ, to so much; each step asks the function once."""
    last, other = low, high
    value, across = function(low), function(high)
    if value == 0 or across == 0:
        return low if value == 0 else high
    if (value > 0) == (across > 0):
        raise ValueError(f"no root: the function has one sign at both {low} and {high}")
    share = 0.5
    for _ in range(_MOST_STEPS):
        place = last + share * (other - last)
        here = function(place)
        if (here > 0) == (value > 0):
            before, was = last, value
        else:
            before, was, other, across = other, across, last, value
        last, value = place, here
        best, least = (last, value) if abs(value) < abs(across) else (other, across)
        step = (2 * sys.float_info.epsilon * abs(best) + precision) / abs(other - last)
        if step > 0.5 or least == 0:
            return best
        share = min(1 - step, max(step, _share((before, last, other), (was, value, across))))
    return last


def _share(places: tuple[float, float, float], values: tuple[float, float, float]) -> float:
    """How far to go from the last place to the one across: along a parabola where it can be trusted, else half."""
    (before, last, other), (was, value, across) = places, values
    if was in (value, across):
        return 0.5
    way, height = (last - other) / (before - other), (value - across) / (was - across)
    if height**2 >= way or (1 - height) ** 2 >= 1 - way:
        return 0.5
    straight = value / (across - value) * was / (across - was)
    bent = (before - last) / (other - last) * value / (was - value) * across / (was - across)
    return straight + bent


__all__ = ["root"]
