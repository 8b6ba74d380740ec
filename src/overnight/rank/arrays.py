"""The array types that the ranking code speaks in."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from overnight.core.errors import WrongArgument

_MOST_DRAWS = 1_000_000

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]


def summed(code: Ints, values: Floats, n: int) -> Floats:
    """The values added up by code."""
    return np.bincount(code, values, n).astype(np.float64, copy=False)


def inner(one: Floats, other: Floats) -> float:
    """The sum of products, without the threads of BLAS: they wait for one another, and add in an order of their own."""
    return float((one * other).sum())


def seeded(seed: int | None) -> np.random.Generator:
    """Chance that comes back with its seed."""
    if seed is not None and seed < 0:
        raise WrongArgument(f"seed must be nought or more; found {seed}")
    return np.random.default_rng(seed)


def check_draws(name: str, count: int) -> None:
    """How often something is drawn again: as long as somebody waits for it."""
    if not 1 <= count <= _MOST_DRAWS:
        raise WrongArgument(f"{name} must be between 1 and {_MOST_DRAWS:,}; found {count}")


def crossing(function: Callable[[float], float], low: float, high: float, within: float) -> float:
    """Where a function that has two signs at the ends is nought, to within so much.

    By Ridders' method: the middle, and a point beside it that an exponential through the three tells. scipy's solvers
    would do it too, and take 14 MB and 60 ms with them.
    """
    at_low, at_high = function(low), function(high)
    found = low if at_low == 0 else high
    if at_low and at_high and (at_low > 0) == (at_high > 0):
        raise ValueError("the function has one sign at both ends")
    while at_low and at_high and high - low > within:
        middle = (low + high) / 2
        at_middle = function(middle)
        if at_middle == 0:
            return middle
        bend = (at_middle**2 - at_low * at_high) ** 0.5
        before, found = found, middle + (middle - low) * (1 if at_low > at_high else -1) * at_middle / bend
        value = function(found)
        if value == 0 or abs(found - before) <= within:
            break
        ends = [(low, at_low), (middle, at_middle), (found, value), (high, at_high)]
        ends.sort()
        (low, at_low), (high, at_high) = next(
            (one, other) for one, other in pairwise(ends) if (one[1] > 0) != (other[1] > 0)
        )
    return found


__all__ = ["Flags", "Floats", "Ints", "check_draws", "crossing", "inner", "seeded", "summed"]
