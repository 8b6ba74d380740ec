"""Quantiles and tails of the distributions that tests and intervals are made of.

By scipy's special functions: its `stats` has the same numbers, and takes half a second and 50 MB to load, which a page
that only compares two columns would have to wait for.
"""

from math import exp, log

from scipy.special import bdtr, betaincinv, chdtrc, gammaln, ndtr, ndtri, stdtr, stdtrit


def normal_quantile(share: float) -> float:
    return float(ndtri(share))


def normal_tail(value: float) -> float:
    """The chance of more than this."""
    return float(ndtr(-value))


def student_quantile(share: float, freedom: float) -> float:
    return float(stdtrit(freedom, share))


def student_tail(value: float, freedom: float) -> float:
    return float(stdtr(freedom, -value))


def chi_squared_tail(value: float, freedom: float) -> float:
    return float(chdtrc(freedom, value))


def beta_quantile(share: float, a: float, b: float) -> float:
    return float(betaincinv(a, b, share))


def coin_tail(heads: int, tosses: int) -> float:
    """The exact sign test of both sides: how often a fair coin is at least as far from one half."""
    fewer = min(heads, tosses - heads)
    return 1.0 if 2 * fewer == tosses else min(1.0, 2 * float(bdtr(fewer, tosses, 0.5)))


def coin_chance(heads: int, tosses: int) -> float:
    """The chance of exactly so many heads."""
    ways = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tosses - heads + 1)
    return exp(float(ways) - tosses * log(2))


__all__ = [
    "beta_quantile",
    "chi_squared_tail",
    "coin_chance",
    "coin_tail",
    "normal_quantile",
    "normal_tail",
    "student_quantile",
    "student_tail",
]
