"""Ranks with error bars that hold for all items at once.

An item's rank could be as good as one plus the number of items that are clearly above it, and as bad as the
number that are not clearly below it. "Clearly" is Tukey's: the critical value is that of the largest of all
pairwise differences, so that with the stated confidence every interval holds its true rank.
"""

from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl
from scipy.optimize import brentq

from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints
from overnight.rank.columns import readable
from overnight.rank.distributions import normal_cdf, normal_quantile, normal_tail, student_quantile
from overnight.rank.fit import BradleyTerryFit

_GRID: Final = np.linspace(-9.0, 9.0, 3_601)
_ROWS_AT_A_TIME: Final = 512
# Student's quantiles are looked up: a million of them would take longer than the fit.
_DEGREES: Final = np.concatenate([np.geomspace(1.0, 1_000.0, 400), [1e9]])
_SAME: Final = 9  # decimals beyond which two abilities are told apart only by rounding


@readable
def summarize_bt_fit(fit: BradleyTerryFit, level: float = 0.95) -> pl.DataFrame:
    """One row per item, best first: `ID, theta, se, rank, rank_lwr, rank_upr, engine, reliability`.

    The rank interval is simultaneous at `level`. Items whose ability is not finite have a rank (if their place is
    certain) but no interval. With several components each is ranked apart, and a column `component` is added.
    """
    if not 0 < level < 1:
        raise WrongArgument(f"level must be between 0 and 1, such as 0.95; found {level!r}")
    best, worst = rank_intervals(fit, level)
    table = pl.DataFrame(
        {
            "ID": fit.items,
            "theta": fit.theta,
            "se": fit.se,
            "rank": _ranks(fit),
            "rank_lwr": best,
            "rank_upr": worst,
            "engine": [fit.engine] * len(fit.items),
            "reliability": np.full(len(fit.items), fit.reliability),
            "component": fit.component,
        },
        schema_overrides={"rank": pl.Int64, "rank_lwr": pl.Int64, "rank_upr": pl.Int64},
    ).sort("component", "rank", "ID", nulls_last=True)
    return table if fit.component.any() else table.drop("component")


def rank_intervals(fit: BradleyTerryFit, level: float = 0.95) -> tuple[list[int | None], list[int | None]]:
    """For each item the best and the worst rank it could have; None where there is no telling."""
    best: list[int | None] = [None] * len(fit.items)
    worst: list[int | None] = [None] * len(fit.items)
    for label in range(int(fit.component.max()) + 1):
        members = np.flatnonzero(fit.component == label)
        known = members[np.isfinite(fit.theta[members]) & np.isfinite(fit.se[members])]
        if len(known) == 0:
            continue
        above, below = _clearly_apart(fit, known, critical_difference(len(known), level))
        for at, item in enumerate(known):
            best[item], worst[item] = int(above[at]) + 1, len(members) - int(below[at])
    return best, worst


@readable
def ability_intervals(fit: BradleyTerryFit, level: float = 0.95) -> tuple[Floats, Floats]:
    """Where each ability may lie, one by one: not finite where there is no telling."""
    if fit.mixture is not None and np.isfinite(fit.theta).all():
        return fit.mixture.quantile((1 - level) / 2), fit.mixture.quantile((1 + level) / 2)
    reach = _student(normal_quantile((1 + level) / 2), fit.df) * fit.se
    with np.errstate(invalid="ignore"):
        return fit.theta - reach, fit.theta + reach


def _student(normal: float, df: Floats | None) -> float | Floats:
    """As many standard errors as leave the same chance outside as `normal` does when errors are known exactly."""
    if df is None:
        return normal
    return np.asarray(np.interp(df, _DEGREES, _student_at_degrees(normal)))


# A run has a ranking of each of its parts, all of them of as many items at the same level.
@lru_cache(maxsize=8)
def _student_at_degrees(normal: float) -> Floats:
    return np.asarray(-student_quantile(normal_tail(normal), _DEGREES))


@lru_cache(maxsize=32)
def critical_difference(n_items: int, level: float) -> float:
    """How many standard errors the largest difference among so many equal items stays below, at this confidence."""
    if n_items < 2:
        return 0.0
    density = np.exp(-(_GRID**2) / 2.0) / np.sqrt(2 * np.pi) * (_GRID[1] - _GRID[0])

    def shortfall(spread: float) -> float:
        within = normal_cdf(_GRID) - normal_cdf(_GRID - spread)
        return float(n_items * (density * within ** (n_items - 1)).sum() - level)

    return float(brentq(shortfall, 1e-6, 20.0, xtol=1e-10)) / float(np.sqrt(2.0))


def _clearly_apart(fit: BradleyTerryFit, known: Ints, critical: float) -> tuple[Ints, Ints]:
    """How many of the known items are clearly above, and how many clearly below, each of them."""
    theta, covariance = fit.theta[known], fit.covariance()
    own = covariance.diagonal()[known]
    above, below = np.zeros(len(known), dtype=np.int64), np.zeros(len(known), dtype=np.int64)
    for start in range(0, len(known), _ROWS_AT_A_TIME):
        rows = slice(start, start + _ROWS_AT_A_TIME)
        variance = own[rows, None] + own - 2 * covariance[np.ix_(known[rows], known)]
        df = None if fit.df is None else _joint_degrees(own[rows, None], own, fit.df[known][rows, None], fit.df[known])
        margin = _student(critical, df) * np.sqrt(np.maximum(variance, 0.0))
        ahead = theta[rows, None] - theta
        above[rows] = (ahead < -margin).sum(axis=1)
        below[rows] = (ahead > margin).sum(axis=1)
    return above, below


def _joint_degrees(variance: Floats, other: Floats, df: Floats, other_df: Floats) -> Floats:
    """Welch and Satterthwaite's degrees of freedom for a difference."""
    return np.asarray((variance + other) ** 2 / np.maximum(variance**2 / df + other**2 / other_df, 1e-300))


def _ranks(fit: BradleyTerryFit) -> list[int | None]:
    """One plus the number of items above, in each component; items beyond all finite ones go by their share of wins."""
    share = np.where(np.isfinite(fit.theta), 0.0, fit.graph.win_share)
    order_by = np.column_stack([-_rounded(fit.theta), -_rounded(share)])
    ranks: list[int | None] = [None] * len(fit.items)
    for label in range(int(fit.component.max()) + 1):
        members = np.flatnonzero((fit.component == label) & ~np.isnan(fit.theta))
        standings, place = np.unique(order_by[members], axis=0, return_inverse=True)
        counts = np.bincount(place.ravel(), minlength=len(standings))
        ahead = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
        for item, at in zip(members, place.ravel(), strict=True):
            ranks[item] = int(ahead[at]) + 1
    return ranks


def _rounded(values: Floats) -> Floats:
    return np.round(values, _SAME) + 0.0  # plus zero: no negative zero


__all__ = ["ability_intervals", "critical_difference", "rank_intervals", "summarize_bt_fit"]
