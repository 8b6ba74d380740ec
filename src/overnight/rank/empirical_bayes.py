"""How far apart the items really are, learnt from the comparisons themselves.

Abilities are taken as drawn from a normal distribution; its variance is the one that makes the comparisons most
likely (Laplace's approximation of the marginal likelihood). A ridge of one over that variance then shrinks
each ability by as much as its own evidence is thin.

Few or cleverly chosen comparisons leave open how far apart the items are, and a single ridge would hide that: so the
abilities are averaged over all ridges that the comparisons leave possible, each weighted by its evidence and a wide
prior (all standard deviations are as probable). What is known of an ability is then a mixture, with its longer
tail away from the middle; its intervals are quantiles of that mixture.

Whether there is any spread at all is asked first. A judge who flips coins over a few items often seems to have an order
in mind: six items that all met come out in a perfect one twice in a hundred times. So the comparisons are held against
coins by a Bayes factor. Among coins it is 1 on average, however few comparisons there are and whoever chose
which items meet, and by what earlier verdicts; so it reaches 100 for at most one coin in a hundred, and 1,000 for at
most one in a thousand (Ville). Below 100 nothing is called reliable; from there on, the reliability counts by the
probability that the items differ, if the odds were a thousand to one for a coin before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from overnight.rank.arrays import Floats
from overnight.rank.distributions import normal_cdf
from overnight.rank.firth import cell_variances, trace
from overnight.rank.laplacian import Covariance, Information
from overnight.rank.newton import Model, Optimum, maximise
from overnight.rank.outcomes import Curvature, Evaluation, curvature_slope

WEAKEST_RIDGE: Final = 1e-2
STRONGEST_RIDGE: Final = 1e5
_STRIDE: Final = np.log(4.0)
_PROBES: Final = 24
_EXACT_TRACE_UP_TO: Final = 600
# The Bayes factor from which on comparisons are told from coins; each standard deviation is as probable beforehand.
_BEYOND_CHANCE: Final = float(np.log(100.0))
# The odds that speak for coins beforehand, and the factor from which on they no longer matter.
_ODDS_FOR_COINS: Final = float(np.log(1_000.0))
_BEYOND_DOUBT: Final = float(np.log(1e7))
_SPREADS: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
# Ridges are averaged over as far as the evidence for them falls by so much.
_NEGLIGIBLE: Final = 7.0
# Each ridge of the average costs an inverse of the information; many items settle the ridge well by themselves.
# A quantile is looked for within so many errors of the means, until it is known to a hair.
_FARTHEST: Final = 9.0
_HALVINGS: Final = 50
_LEAST_VARIANCE: Final = 1e-12
_RIDGES: Final = ((150, 15), (600, 9), (1_500, 5))


@dataclass(frozen=True)
class Shrinkage:
    """The chosen ridge (one over the variance of the abilities), and what the fit with it looks like."""

    ridge: float
    optimum: Optimum[Evaluation]
    # The share of the spread among estimated abilities that is real; 0 where coins could have given the comparisons.
    reliability: float
    # Ridges that the comparisons leave possible, and how much each weighs; the weights add up to one.
    possible: tuple[tuple[float, float], ...] = ()


def choose_ridge(model: Model, *, all_possible: bool = False) -> Shrinkage:
    """The ridge at which the evidence for it no longer rises; with all others that are possible, if they are wanted.

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
    return search.at(best, all_possible=all_possible)


class _Search:
    """The slope of the evidence in the logarithm of the ridge, each fit starting where the last one ended."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._start = model.start()
        self._slopes: dict[float, float] = {}
        self._evidences: dict[float, float] = {}

    def slope(self, log_ridge: float) -> float:
        if log_ridge not in self._slopes:
            self._slopes[log_ridge] = self._fresh_slope(log_ridge)
        return self._slopes[log_ridge]

    def at(self, log_ridge: float, *, all_possible: bool) -> Shrinkage:
        model, optimum = self._fit(log_ridge)
        possible = tuple(self._possible(log_ridge)) if all_possible else ()
        return Shrinkage(model.ridge, optimum, self._reliability(log_ridge), possible)

    def _reliability(self, log_ridge: float) -> float:
        """The share that is real if items differ, times the probability that they do."""
        differ = self._probability_of_spread(log_ridge)
        if not differ:
            return 0.0
        model, optimum = self._fit(log_ridge)
        abilities = optimum.point[: model.n_items]
        spread = float(abilities @ abilities)
        return differ * spread / (spread + _ability_variance(model, model.information(optimum.evaluation)))

    def _probability_of_spread(self, log_ridge: float) -> float:
        coins = self._evidence(float(np.log(STRONGEST_RIDGE)))
        # No spread explains the comparisons better than the best one.
        if self._evidence(log_ridge) - coins < _BEYOND_CHANCE:
            return 0.0
        factor = -np.inf
        for one in sorted((-2 * float(np.log(spread)) for spread in _SPREADS), key=lambda at: abs(at - log_ridge)):
            factor = np.logaddexp(factor, self._evidence(one) - coins - np.log(len(_SPREADS)))
            if factor >= _BEYOND_DOUBT:  # the likeliest spreads often settle it alone, and each costs a fit
                return 1.0
        return 0.0 if factor < _BEYOND_CHANCE else float(expit(factor - _ODDS_FOR_COINS))

    def _possible(self, log_ridge: float) -> Iterator[tuple[float, float]]:
        """Evenly spaced in the logarithm, between the ends where the evidence has become negligible."""
        count = next((count for most, count in _RIDGES if self._model.n_items <= most), 1)
        if count == 1:
            yield float(np.exp(log_ridge)), 1.0
            return
        grid = np.linspace(self._end(log_ridge, -_STRIDE), self._end(log_ridge, _STRIDE), count)
        logs = np.array([self._evidence(float(at)) + _log_prior(float(at)) for at in grid])
        weights = np.exp(logs - logs.max())
        for at, weight in zip(grid, weights / weights.sum(), strict=True):
            yield float(np.exp(at)), float(weight)

    def _end(self, log_ridge: float, step: float) -> float:
        weakest, strongest = float(np.log(WEAKEST_RIDGE)), float(np.log(STRONGEST_RIDGE))
        best, at = self._evidence(log_ridge) + _log_prior(log_ridge), log_ridge
        while weakest < at < strongest or at == log_ridge:
            at = min(max(at + step / 4, weakest), strongest)
            if self._evidence(at) + _log_prior(at) < best - _NEGLIGIBLE or at in (weakest, strongest):
                break
        return at

    def _fit(self, log_ridge: float) -> tuple[Model, Optimum[Evaluation]]:
        model = self._model.with_ridge(float(np.exp(log_ridge)))
        optimum = maximise(model, self._start)
        self._start = optimum.point
        return model, optimum

    def _evidence(self, log_ridge: float) -> float:
        if log_ridge not in self._evidences:
            self._evidences[log_ridge] = _log_evidence(*self._fit(log_ridge))
        return self._evidences[log_ridge]

    def _fresh_slope(self, log_ridge: float) -> float:
        model, optimum = self._fit(log_ridge)
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


def _log_evidence(model: Model, optimum: Optimum[Evaluation]) -> float:
    """The log of the marginal likelihood by Laplace's approximation, up to a constant that all ridges share."""
    information = model.information(optimum.evaluation)
    prior = (model.n_items - 1) * float(np.log(model.ridge))
    return model.objective(optimum.point, optimum.evaluation) + (prior - information.log_determinant()) / 2


def _log_prior(log_ridge: float) -> float:
    """Of the logarithm of the ridge, when every standard deviation is as probable as any other."""
    return -log_ridge / 2


@dataclass(frozen=True)
class Mixture:
    """Abilities as each possible ridge leaves them: by ridge, their means and errors, and how much the ridge weighs."""

    means: Floats
    errors: Floats
    weights: Floats

    def quantile(self, chance: float) -> Floats:
        """Below which each ability lies with this chance."""
        low = (self.means - _FARTHEST * self.errors).min(axis=0)
        high = (self.means + _FARTHEST * self.errors).max(axis=0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self.weights @ normal_cdf((middle - self.means) / self.errors) < chance
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2)


@dataclass(frozen=True)
class Averaged:
    """Abilities and other parameters over the possible ridges.

    `spread` is the covariance that any one ridge leaves, on average. `scale` is what the choice of the ridge adds to
    each ability's variance: it stretches all of them together, so that their order is as certain as before.
    """

    point: Floats
    spread: Covariance
    scale: Floats
    mixture: Mixture


def averaged(model: Model, shrinkage: Shrinkage) -> Averaged:
    points, spreads, errors, weights = [], [], [], []
    n = model.n_items
    for ridge, weight in shrinkage.possible:
        ridged = model.with_ridge(ridge)
        optimum = maximise(ridged, shrinkage.optimum.point)
        points.append(optimum.point)
        covariance = ridged.information(optimum.evaluation).covariance()
        spreads.append(covariance.full() * weight)
        errors.append(np.sqrt(np.maximum(covariance.abilities.diagonal(), _LEAST_VARIANCE)))
        weights.append(weight)
    mean, spread = np.average(points, axis=0, weights=weights), np.sum(spreads, axis=0)
    scale = np.average((np.array(points) - mean)[:, :n] ** 2, axis=0, weights=weights)
    mixture = Mixture(np.array(points)[:, :n], np.array(errors), np.array(weights))
    return Averaged(mean, Covariance(spread[:n, :n], spread[:n, n:], spread[n:, n:]), scale, mixture)


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


__all__ = ["STRONGEST_RIDGE", "WEAKEST_RIDGE", "Averaged", "Mixture", "Shrinkage", "averaged", "choose_ridge"]
