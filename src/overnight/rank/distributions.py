"""Chances and quantiles of the distributions that tests and intervals are made of.

From `scipy.special`: `scipy.stats` has them too, and takes 40 MB and a third of a second with all that it brings along.
Even so it takes a seventh of a second and 25 MB, so it is loaded when something is asked that needs it: the report of a
run in which everything was answered asks for no more than is known here.
"""

from functools import cache
from math import exp, expm1, log
from typing import Any

# The quantile of every interval of 95%, to the last bit as scipy has it.
_USUAL = {0.975: 1.959963984540054}


@cache
def _special() -> Any:
    from scipy import special  # noqa: PLC0415

    return special


def load() -> None:
    """What is needed for all of these, so that nobody waits for it later."""
    _special()


def normal_quantile(chance: Any) -> Any:
    known = _USUAL.get(chance) if isinstance(chance, float) else None
    return _special().ndtri(chance) if known is None else known


def normal_cdf(value: Any) -> Any:
    return _special().ndtr(value)


def normal_tail(value: Any) -> Any:
    """The chance of more than this."""
    return _special().ndtr(-value)


def student_quantile(chance: Any, df: Any) -> Any:
    return _special().stdtrit(df, chance)


def student_tail(value: Any, df: Any) -> Any:
    """The chance of more than this."""
    return _special().stdtr(df, -value)


def beta_quantile(chance: Any, a: Any, b: Any) -> Any:
    return _special().betaincinv(a, b, chance)


def share_of_all(chance: float, rows: float) -> float:
    """The share at which all of so many rows are so with this chance: the quantile of a beta with `rows` and one."""
    return float(chance ** (1 / rows))


def share_of_none(chance: float, rows: float) -> float:
    """The share at which none of so many rows is so with this chance."""
    return -expm1(log(chance) / rows)


def chi_squared_tail(value: float, df: float) -> float:
    return float(_special().chdtrc(df, value))


def coin_test(heads: int, tosses: int) -> float:
    """The exact two-sided test of a fair coin: the chance of so uneven tosses, or more uneven ones."""
    rarer = min(heads, tosses - heads)
    if 2 * rarer == tosses:
        return 1.0
    return min(1.0, 2 * float(_special().betainc(tosses - rarer, rarer + 1, 0.5)))


def coin_chance(heads: int, tosses: int) -> float:
    """The chance of exactly so many heads of a fair coin."""
    gammaln = _special().gammaln
    ways = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tosses - heads + 1)
    return exp(float(ways) - tosses * log(2))


__all__ = [
    "beta_quantile",
    "chi_squared_tail",
    "coin_chance",
    "coin_test",
    "normal_cdf",
    "normal_quantile",
    "normal_tail",
    "share_of_all",
    "share_of_none",
    "student_quantile",
    "student_tail",
]
