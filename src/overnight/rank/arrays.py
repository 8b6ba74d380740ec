"""The array types that the ranking code speaks in."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]


def summed(code: Ints, values: Floats, n: int) -> Floats:
    """The values added up by code."""
    return np.bincount(code, values, n).astype(np.float64, copy=False)


def inner(one: Floats, other: Floats) -> float:
    """The sum of products, without the threads of BLAS: they wait for one another, and add in an order of their own."""
    return float((one * other).sum())


__all__ = ["Flags", "Floats", "Ints", "inner", "summed"]
