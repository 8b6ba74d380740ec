"""Are stated probabilities to be believed? Of what is given seventy per cent, seventy per cent should come true."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from overnight.analysis.rates import wilson_interval
from overnight.analysis.samples import numbers
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints, summed
from overnight.rank.columns import readable

_SURE: Final = 1e-12
_MOST_STEPS: Final = 50


@dataclass(frozen=True)
class Calibration:
    """Scores of probabilities against what came true (lower is better), and the bins behind the error.

    `ece` is the mean distance between stated and observed in `n_bins` bins of equal mass; equal probabilities are
    never split, so there may be fewer bins than asked for. `slope` is that of the log-odds: below one is
    overconfident. `log_loss` is infinite when something held impossible came true.
    """

    n: int
    n_missing: int
    brier: float
    log_loss: float
    ece: float
    n_bins: int
    slope: float
    intercept: float
    slope_se: float
    bins: pl.DataFrame


@readable
def calibration(probabilities: Any, outcomes: Any, bins: int = 10) -> Calibration:
    """Compare probabilities with outcomes of 0 or 1; rows where either is missing are counted, and left out."""
    stated, came_true = numbers(probabilities, "probabilities"), numbers(outcomes, "outcomes")
    if len(stated) != len(came_true):
        raise WrongArgument(f"there are {len(stated)} probabilities for {len(came_true)} outcomes")
    present = ~(np.isnan(stated) | np.isnan(came_true))
    n_missing = int((~present).sum())
    stated, came_true = stated[present], came_true[present]
    _check(stated, came_true, bins)
    code = _equal_mass(stated, bins)
    table = _bin_table(stated, came_true, code)
    weight = table.get_column("n").to_numpy() / len(stated)
    gap = np.abs(table.get_column("stated").to_numpy() - table.get_column("observed").to_numpy())
    intercept, slope, slope_se = _log_odds_line(stated, came_true)
    return Calibration(
        n=len(stated),
        n_missing=n_missing,
        brier=float(((stated - came_true) ** 2).mean()),
        log_loss=_log_loss(stated, came_true),
        ece=float(weight @ gap),
        n_bins=table.height,
        slope=slope,
        intercept=intercept,
        slope_se=slope_se,
        bins=table,
    )


def _check(stated: Floats, came_true: Floats, bins: int) -> None:
    if not len(stated):
        raise WrongArgument("there is no row with both a probability and an outcome")
    if not ((stated >= 0) & (stated <= 1)).all():
        offender = stated[~((stated >= 0) & (stated <= 1))][0]
        raise WrongArgument(
            f"probabilities must lie between 0 and 1; found {offender:g} (percentages need dividing by 100)"
        )
    if not np.isin(came_true, (0.0, 1.0)).all():
        raise WrongArgument("outcomes must be 0 or 1, true or false, or missing")
    if bins < 1:
        raise WrongArgument(f"bins must be one or more; found {bins!r}")


def _equal_mass(stated: Floats, bins: int) -> Ints:
    """A bin for each row: ranks cut into equal parts, equal probabilities kept together by their middle rank."""
    values, place, counts = np.unique(stated, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    wanted = np.minimum((middle * bins / len(stated)).astype(np.int64), bins - 1)
    return np.unique(wanted, return_inverse=True)[1][place] if len(values) else place


def _bin_table(stated: Floats, came_true: Floats, code: Ints) -> pl.DataFrame:
    n_bins = int(code.max()) + 1
    count = np.bincount(code, minlength=n_bins)
    right = summed(code, came_true, n_bins)
    intervals = [wilson_interval(yes, n) for yes, n in zip(right, count, strict=True)]
    return pl.DataFrame(
        {
            "bin": np.arange(1, n_bins + 1),
            "n": count,
            "stated": summed(code, stated, n_bins) / count,
            "observed": right / count,
            "observed_lwr": [low for low, _ in intervals],
            "observed_upr": [high for _, high in intervals],
        }
    )


def _log_loss(stated: Floats, came_true: Floats) -> float:
    chance = np.where(came_true == 1, stated, 1 - stated)
    if (chance == 0).any():
        return np.inf
    return float(-np.log(chance).mean())


def _log_odds_line(stated: Floats, came_true: Floats) -> tuple[float, float, float]:
    """Logistic regression of what came true on the stated log-odds; NaN where there is no finite line."""
    from scipy.special import expit, logit  # noqa: PLC0415 - a seventh of a second, which a plain rate need not wait

    design = np.column_stack([np.ones(len(stated)), logit(np.clip(stated, _SURE, 1 - _SURE))])
    line = np.array([0.0, 1.0])
    for _ in range(_MOST_STEPS):
        chance = expit(design @ line)
        information = (design * (chance * (1 - chance))[:, None]).T @ design
        if np.linalg.cond(information) > 1 / _SURE:
            break
        step = np.linalg.solve(information, design.T @ (came_true - chance))
        line = line + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            spread = np.linalg.inv(information)
            return float(line[0]), float(line[1]), float(np.sqrt(spread[1, 1]))
    return np.nan, np.nan, np.nan


__all__ = ["Calibration", "calibration"]
