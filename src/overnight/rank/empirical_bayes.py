"""How far apart the items really are, learnt from the comparisons themselves.

Abilities are taken as drawn from a normal distribution; its variance is the one that makes the comparisons most
likely (Laplace's approximation of the marginal likelihood). A ridge of one over that variance then shrinks
each ability by as much as its own evidence is thin.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import brentq

from overnight.rank.arrays import Floats
from overnight.rank.firth import cell_variances, trace
from overnight.rank.laplacian import Information
from overnight.rank.newton import Model, Optimum, maximise
from overnight.rank.outcomes import Curvature, Evaluation, curvature_slope

WEAKEST_RIDGE: Final = 1e-2
STRONGEST_RIDGE: Final = 1e5
_STRIDE: Final = np.log(4.0)
_PROBES: Final = 24
_EXACT_TRACE_UP_TO: Final = 600


@dataclass(frozen=True)
class Shrinkage:
    """The chosen ridge (one over the variance of the abilities), and what the fit with it looks like."""

    ridge: float
    optimum: Optimum[Evaluation]
    reliability: float


def choose_ridge(model: Model) -> Shrinkage:
    """The ridge at which the evidence for it no longer rises.

    Raises SingularInformationError when terms beside the abilities have no finite estimate at any ridge.
    """
    search = _Search(model)
    low = high = 0.0
    weakest, strongest = float(np.log(WEAKEST_RIDGE)), float(np.log(STRONGEST_RIDGE))
    while search.slope(high) > 0 and high < strongest:
        low, high = high, min(high + _STRIDE, strongest)
    while search.slope(low) <= 0 and low > weakest:
        low, high = max(low - _STRIDE, weakest), low
    if search.slope(low) > 0 >= search.slope(high):
        best = float(brentq(search.slope, low, high, xtol=1e-5))
    else:
        best = high if search.slope(high) > 0 else low
    return search.at(best)


class _Search:
    """The slope of the evidence in the logarithm of the ridge, each fit starting where the last one ended."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._start = model.start()
        self._slopes: dict[float, float] = {}

    def slope(self, log_ridge: float) -> float:
        if log_ridge not in self._slopes:
            self._slopes[log_ridge] = self._fresh_slope(log_ridge)
        return self._slopes[log_ridge]

    def at(self, log_ridge: float) -> Shrinkage:
        model = self._model.with_ridge(float(np.exp(log_ridge)))
        optimum = maximise(model, self._start)
        information = model.information(optimum.evaluation)
        abilities = optimum.point[: model.n_items]
        spread = float(abilities @ abilities)
        return Shrinkage(model.ridge, optimum, spread / (spread + _ability_variance(model, information)))

    def _fresh_slope(self, log_ridge: float) -> float:
        model = self._model.with_ridge(float(np.exp(log_ridge)))
        optimum = maximise(model, self._start)
        self._start = optimum.point
        abilities = optimum.point[: model.n_items]
        information = model.information(optimum.evaluation)
        pull = np.zeros_like(optimum.point)
        pull[: model.n_items] = -model.ridge * abilities
        bend = _bend(model, optimum, information.solve(pull))
        if model.n_items <= _EXACT_TRACE_UP_TO:
            covariance = information.covariance()
            bent = float(trace(cell_variances(model, covariance), bend).sum())
            spread = float(np.trace(covariance.abilities))
        else:
            bent, spread = _probed_traces(model, information, bend)
        fitted = model.ridge * float(abilities @ abilities)
        return (model.n_items - 1 - fitted - model.ridge * spread - bent) / 2


def _bend(model: Model, optimum: Optimum[Evaluation], direction: Floats) -> Curvature:
    """How the curvature of each cell changes as the fit follows the ridge."""
    cells = model.cells

    def curve(lead: Floats, tie: float) -> Curvature:
        return model.outcomes.evaluate(lead, tie, cells.wins, cells.ties, cells.losses).curvature

    along = model.lead(direction), model.tie(direction)
    return curvature_slope(curve, model.lead(optimum.point), model.tie(optimum.point), along)


def _ability_variance(model: Model, information: Information) -> float:
    """The sum of the abilities' posterior variances."""
    if model.n_items <= _EXACT_TRACE_UP_TO:
        return float(np.trace(information.covariance().abilities))
    zeros = np.zeros_like(information.curvature.lead)
    return _probed_traces(model, information, Curvature(zeros, zeros, zeros))[1]


def _probed_traces(model: Model, information: Information, bend: Curvature) -> tuple[float, float]:
    """Both traces by random signs: the mean of many items, so a few probes settle it to a fraction of a percent."""
    rng = np.random.default_rng(0)
    n, bent, spread = model.n_items, 0.0, 0.0
    for _ in range(_PROBES):
        probe = rng.choice([-1.0, 1.0], size=n + model.n_features + model.outcomes.has_tie)
        probe[:n] -= probe[:n].mean()
        solved = information.solve(probe)
        # the borders' share of the probe must not count as ability variance
        abilities_only = probe.copy()
        abilities_only[n:] = 0.0
        by_abilities = solved if n == len(probe) else information.solve(abilities_only)
        spread += float(abilities_only @ by_abilities)
        lead, tie = model.lead(probe), model.tie(probe)
        solved_lead, solved_tie = model.lead(solved), model.tie(solved)
        bent += float((solved_lead * bend.lead * lead).sum() + (solved_lead * bend.cross).sum() * tie)
        bent += float((solved_tie * (bend.cross * lead).sum()) + solved_tie * bend.tie.sum() * tie)
    return bent / _PROBES, spread / _PROBES


__all__ = ["STRONGEST_RIDGE", "WEAKEST_RIDGE", "Shrinkage", "choose_ridge"]
