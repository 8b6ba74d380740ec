"""Firth's bias reduction: maximum likelihood with Jeffreys' prior, finite even for an unbeaten item.

The score of every cell is shifted by half the change of the log-determinant of the information, which comes
down to each cell's own variance times the slope of its curvature.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from overnight.rank.arrays import Floats
from overnight.rank.laplacian import Covariance, Information, SingularInformationError
from overnight.rank.newton import Model, Optimum
from overnight.rank.outcomes import Curvature, Evaluation, curvature_slope, expected_curvature
from overnight.rank.tally import Cells

_MOST_STEPS: Final = 300
_MOST_HALVINGS: Final = 30
_LONGEST_STEP: Final = 2.0
_SETTLED: Final = 1e-9


def maximise_firth(model: Model) -> Optimum[Evaluation]:
    """Climb the log-likelihood plus half the log-determinant of the information."""
    point = model.start()
    still = np.zeros_like(point)
    for taken in range(_MOST_STEPS):
        evaluation = model.evaluate(point)
        try:
            step = _step(model, point, evaluation)
        except SingularInformationError:
            return Optimum(point, evaluation, converged=False, runaway=still, steps=taken)
        longest = float(np.abs(step).max())
        if longest <= _SETTLED:
            return Optimum(point, evaluation, converged=True, runaway=still, steps=taken)
        point = _uphill(model, point, step * min(1.0, _LONGEST_STEP / longest))
    return Optimum(point, model.evaluate(point), converged=False, runaway=still, steps=_MOST_STEPS)


def _step(model: Model, point: Floats, evaluation: Evaluation) -> Floats:
    information = _information(model, point)
    spread = cell_variances(model, information.covariance())
    # the prior is worth as many comparisons to a cell as the cell has leverage, and curves the objective by as much
    leverage = trace(spread, information.curvature) / model.cells.total
    steeper = Curvature(*(part * (1 + leverage) for part in information.curvature.parts()))
    score = model.score(point, _shifted(model, point, evaluation, spread))
    return replace(information, curvature=steeper).solve(score)


def _uphill(model: Model, point: Floats, step: Floats) -> Floats:
    """Go along a step, halved until it does not lead down."""
    before = _objective(model, point)
    slack = 1e-11 * (1 + abs(before))
    for _ in range(_MOST_HALVINGS):
        if _objective(model, point + step) >= before - slack:
            return point + step
        step = step / 2
    return point


def _objective(model: Model, point: Floats) -> float:
    loglik = model.evaluate(point).loglik
    if not np.isfinite(loglik):
        return -np.inf
    try:
        return loglik + _information(model, point).log_determinant() / 2
    except SingularInformationError:
        return -np.inf


def fisher_covariance(model: Model, point: Floats) -> Covariance:
    """The inverse expected information, which is what Firth's estimates are reported with."""
    return _information(model, point).covariance()


def cell_variances(model: Model, covariance: Covariance) -> Curvature:
    """The covariance of each cell's lead and tie parameter."""
    cells, width = model.cells, model.n_features
    lead = _lead_variance(cells, covariance, width)
    zeros = np.zeros_like(lead)
    if not model.outcomes.has_tie:
        return Curvature(lead, zeros, zeros)
    with_tie = covariance.across[:, width]
    cross = with_tie[cells.first] - with_tie[cells.second] + cells.features @ covariance.others[:width, width]
    return Curvature(lead, cross, zeros + covariance.others[width, width])


def _lead_variance(cells: Cells, covariance: Covariance, width: int) -> Floats:
    first, second, features = cells.first, cells.second, cells.features
    own = covariance.abilities.diagonal()
    variance = own[first] + own[second] - 2 * covariance.abilities[first, second]
    across, others = covariance.across[:, :width], covariance.others[:width, :width]
    variance += 2 * ((across[first] - across[second]) * features).sum(axis=1)
    variance += ((features @ others) * features).sum(axis=1)
    return np.asarray(variance)


def _information(model: Model, point: Floats) -> Information:
    expected = expected_curvature(model.outcomes, model.lead(point), model.tie(point), model.cells.total)
    return Information(model.cells, expected, model.groups, model.ridge, model.outcomes.has_tie)


def _shifted(model: Model, point: Floats, evaluation: Evaluation, spread: Curvature) -> Evaluation:
    """The evaluation with Firth's shift added to its scores."""
    lead, tie, total = model.lead(point), model.tie(point), model.cells.total

    def curve(at_lead: Floats, at_tie: float) -> Curvature:
        return expected_curvature(model.outcomes, at_lead, at_tie, total)

    along_lead = curvature_slope(curve, lead, tie, (np.ones_like(lead), 0.0))
    lead_score = evaluation.lead_score + trace(spread, along_lead) / 2
    tie_score = evaluation.tie_score
    if model.outcomes.has_tie:
        along_tie = curvature_slope(curve, lead, tie, (np.zeros_like(lead), 1.0))
        tie_score = tie_score + trace(spread, along_tie) / 2
    return Evaluation(evaluation.loglik, lead_score, tie_score, evaluation.curvature)


def trace(variance: Curvature, curvature: Curvature) -> Floats:
    """By cell, the trace of a two-by-two variance times a two-by-two curvature."""
    return variance.lead * curvature.lead + 2 * variance.cross * curvature.cross + variance.tie * curvature.tie


__all__ = ["cell_variances", "fisher_covariance", "maximise_firth", "trace"]
