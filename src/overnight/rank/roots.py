"""Where a function of one number is nought: scipy's `brentq`, without the solvers that stand beside it.

`scipy.optimize` loads all of them, which takes 14 MB and a fifth of a second, and one root is wanted. What finds it is
a small library of its own in there, which is loaded alone; where a version of scipy has it elsewhere, all are loaded.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Final

import numpy as np

# As `brentq` has them.
_MOST_STEPS: Final = 100
_SETTLED: Final = float(4 * np.finfo(float).eps)


def root_between(function: Callable[[float], float], low: float, high: float, *, within: float) -> float:
    """Where the function is nought, to `within`; its signs at the two ends differ."""

    def known(at: float) -> float:
        value = function(at)
        if np.isnan(value):
            raise ValueError(f"there is no root to be found: at {at:g}, the function has no value")
        return value

    alone = _alone()
    if alone is None:
        from scipy.optimize import brentq  # noqa: PLC0415 - see above

        return float(brentq(known, low, high, xtol=within))
    return float(alone(known, low, high, within, _SETTLED, _MOST_STEPS, (), False, True))


@cache
def _alone() -> Callable[..., Any] | None:
    if "scipy.optimize" in sys.modules:
        return None
    try:
        around = find_spec("scipy.optimize")
        spec = PathFinder.find_spec("scipy.optimize._zeros", around.submodule_search_locations if around else None)
        if spec is None or spec.loader is None:
            return None
        library = module_from_spec(spec)
        spec.loader.exec_module(library)
        find: Callable[..., Any] = library._brentq  # noqa: SLF001 - it has no other name
        as_wanted = find(lambda at: at - 1.0, 0.0, 3.0, 1e-12, _SETTLED, _MOST_STEPS, (), False, True) == 1.0
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return find if as_wanted else None


__all__ = ["root_between"]
