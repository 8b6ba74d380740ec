"""A few human labels, many judge labels: estimates that use both and trust only the humans.

The judge's mean over all items is corrected by how far the judge was off where humans looked (PPI++). For yes and
no there is also Rogan and Gladen's correction, through the judge's sensitivity and specificity.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from overnight.analysis.samples import numbers
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats
from overnight.rank.columns import readable
from overnight.rank.shares import quantile

# Fewer human labels than this that differ from the most frequent one say little about how often they do.
_FEW = 5


@dataclass(frozen=True)
class PredictionPowered:
    """An estimate of the humans' mean. `trust` is the weight given to the judge: at 0 only human labels count."""

    estimate: float
    se: float
    lwr: float
    upr: float
    trust: float
    n_labelled: int
    n_unlabelled: int
    human_only: float
    human_only_se: float
    judge_only: float
    problems: list[str]

    @property
    def worth(self) -> float:
        """How many human labels these are worth, had there been no judge."""
        return self.n_labelled * (self.human_only_se / self.se) ** 2 if self.se > 0 else np.nan


@dataclass(frozen=True)
class RoganGladen:
    """A rate of yes corrected for the judge's errors, as far as `sensitivity + specificity` exceeds one."""

    estimate: float
    se: float
    lwr: float
    upr: float
    sensitivity: float
    specificity: float
    judge_only: float
    n_labelled: int
    n_unlabelled: int
    problems: list[str]


@readable
def prediction_powered_mean(
    human: Any, judge: Any, judge_unlabelled: Any, level: float = 0.95, trust: float | None = None
) -> PredictionPowered:
    """The mean of human labels: `human` and `judge` on the labelled items, `judge_unlabelled` on all the others.

    `trust` (0 to 1) weighs the judge; left out, it is the weight with the least variance.
    """
    y, f, rest = _labels(human, judge, judge_unlabelled)
    n, many = len(y), len(rest)
    if n < 2 or many < 2:
        raise WrongArgument(f"at least two labelled and two unlabelled items are needed; found {n} and {many}")
    weight = _best_trust(y, f, rest) if trust is None else trust
    raw, error = _estimate(y, f, rest, weight)
    low, high = _interval(y, f, rest, level, trust)
    estimate = min(max(raw, 0.0), 1.0) if _is_binary(y, f, rest) else raw
    return PredictionPowered(
        estimate=estimate,
        se=error,
        lwr=min(low, estimate),
        upr=max(high, estimate),
        trust=float(weight),
        n_labelled=n,
        n_unlabelled=many,
        human_only=float(y.mean()),
        human_only_se=float(np.sqrt(y.var(ddof=1) / n)),
        judge_only=float(np.concatenate([f, rest]).mean()),
        problems=[*_problems(y), *_moved(raw, estimate)],
    )


def _estimate(y: Floats, f: Floats, rest: Floats, weight: float) -> tuple[float, float]:
    off = y - weight * f
    variance = weight**2 * rest.var(ddof=1) / len(rest) + off.var(ddof=1) / len(y)
    return float(weight * rest.mean() + off.mean()), float(np.sqrt(variance))


def _interval(y: Floats, f: Floats, rest: Floats, level: float, trust: float | None) -> tuple[float, float]:
    """Student's; for yes and no with two imagined items on which human and judge differ, one each way.

    Without these, a sample in which a rare event did not happen would have no error at all.
    """
    is_binary = _is_binary(y, f, rest)
    if is_binary:
        y, f = np.append(y, (1.0, 0.0)), np.append(f, (0.0, 1.0))
    centre, error = _estimate(y, f, rest, _best_trust(y, f, rest) if trust is None else trust)
    reach = quantile(level, len(y)) * error
    low, high = centre - reach, centre + reach
    return (max(0.0, low), min(1.0, high)) if is_binary else (low, high)


def _is_binary(*labels: Floats) -> bool:
    return bool(np.isin(np.concatenate(labels), (0.0, 1.0)).all())


def _moved(raw: float, estimate: float) -> list[str]:
    return (
        [] if raw == estimate else [f"The corrected rate, {raw:.3g}, lies outside 0 to 1, and was moved to its edge."]
    )


def _problems(y: Floats) -> list[str]:
    rarest = len(y) - int(max(np.unique(y, return_counts=True)[1]))
    if rarest >= _FEW:
        return []
    return [f"All but {rarest} of {len(y)} human labels are alike: more labels would tell more than more judging."]


@readable
def rogan_gladen(human: Any, judge: Any, judge_unlabelled: Any, level: float = 0.95) -> RoganGladen:
    """A rate of yes from a judge whose errors were measured on labelled items; all columns are 0 or 1."""
    y, f, rest = _labels(human, judge, judge_unlabelled)
    if not _is_binary(y, f, rest):
        raise WrongArgument("human and judge labels must be 0 or 1, true or false, or missing")
    if not len(rest):
        raise WrongArgument("there is no unlabelled item to estimate a rate from")
    yes, no = int(y.sum()), int((1 - y).sum())
    sensitivity = float(f[y == 1].mean()) if yes else np.nan
    specificity = float(1 - f[y == 0].mean()) if no else np.nan
    uncorrected = RoganGladen(
        estimate=np.nan,
        se=np.nan,
        lwr=np.nan,
        upr=np.nan,
        sensitivity=sensitivity,
        specificity=specificity,
        judge_only=float(rest.mean()),
        n_labelled=len(y),
        n_unlabelled=len(rest),
        problems=[],
    )
    if not sensitivity + specificity > 1:
        reason = (
            f"The judge's labels cannot be corrected: sensitivity {sensitivity:.3g} and specificity {specificity:.3g} "
            "must both be known and add up to more than one."
        )
        return replace(uncorrected, problems=[reason])
    return _corrected(uncorrected, yes, no, quantile(level))


def _corrected(judged: RoganGladen, yes: int, no: int, reach: float) -> RoganGladen:
    share, sensitivity, specificity = judged.judge_only, judged.sensitivity, judged.specificity
    power = sensitivity + specificity - 1
    raw = (share + specificity - 1) / power
    spread = share * (1 - share) / judged.n_unlabelled
    spread += raw**2 * sensitivity * (1 - sensitivity) / yes + (1 - raw) ** 2 * specificity * (1 - specificity) / no
    error = float(np.sqrt(spread)) / power
    estimate = min(max(raw, 0.0), 1.0)
    low, high = max(0.0, raw - reach * error), min(1.0, raw + reach * error)
    return replace(
        judged,
        estimate=estimate,
        se=error,
        lwr=min(low, estimate),
        upr=max(high, estimate),
        problems=_moved(raw, estimate),
    )


def _labels(human: Any, judge: Any, judge_unlabelled: Any) -> tuple[Floats, Floats, Floats]:
    y, f, rest = numbers(human, "human"), numbers(judge, "judge"), numbers(judge_unlabelled, "judge_unlabelled")
    if len(y) != len(f):
        raise WrongArgument(f"there are {len(y)} human labels for {len(f)} judge labels of the same items")
    present = ~(np.isnan(y) | np.isnan(f))
    return y[present], f[present], rest[~np.isnan(rest)]


def _best_trust(y: Floats, f: Floats, rest: Floats) -> float:
    spread = np.concatenate([f, rest]).var(ddof=1)
    if spread == 0:
        return 0.0
    shared = ((y - y.mean()) * (f - f.mean())).mean()
    return float(np.clip(shared / ((1 + len(y) / len(rest)) * spread), 0.0, 1.0))


__all__ = ["PredictionPowered", "RoganGladen", "prediction_powered_mean", "rogan_gladen"]
