"""The array types that the ranking code speaks in."""

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


__all__ = ["Flags", "Floats", "Ints", "check_draws", "inner", "seeded", "summed"]
