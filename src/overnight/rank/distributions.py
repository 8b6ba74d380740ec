"""Chances and quantiles of the distributions that tests and intervals are made of.

From `scipy.special`: `scipy.stats` has them too, and takes 40 MB and a third of a second with all that it brings along,
which every run that judges anything would pay at its end.
"""

from math import exp, log
from typing import Any

from scipy.special import betainc, betaincinv, chdtrc, gammaln, ndtr, ndtri, stdtr, stdtrit


def normal_quantile(chance: Any) -> Any:
    return ndtri(chance)


def normal_cdf(value: Any) -> Any:
    return ndtr(value)


def normal_tail(value: Any) -> Any:
    """The chance of more than this."""
    return ndtr(-value)


def student_quantile(chance: Any, df: Any) -> Any:
    return stdtrit(df, chance)


def student_tail(value: Any, df: Any) -> Any:
    """The chance of more than this."""
    return stdtr(df, -value)


def beta_quantile(chance: Any, a: Any, b: Any) -> Any:
    return betaincinv(a, b, chance)


def chi_squared_tail(value: float, df: float) -> float:
    return float(chdtrc(df, value))


def coin_test(heads: int, tosses: int) -> float:
    """The exact two-sided test of a fair coin: the chance of so uneven tosses, or more uneven ones."""
    rarer = min(heads, tosses - heads)
    if 2 * rarer == tosses:
        return 1.0
    return min(1.0, 2 * float(betainc(tosses - rarer, rarer + 1, 0.5)))


def coin_chance(heads: int, tosses: int) -> float:
    """The chance of exactly so many heads of a fair coin."""
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
    "student_quantile",
    "student_tail",
]
