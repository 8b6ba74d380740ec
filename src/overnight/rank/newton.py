"""Maximum likelihood by Newton's method on counted comparisons.

All parameters live in one vector: the abilities, then one coefficient per feature (position, covariates), then
the tie parameter if the model has one.
"""

from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar

import numpy as np

from overnight.rank.arrays import Flags, Floats, inner, summed
from overnight.rank.laplacian import Groups, Information, SingularInformationError
from overnight.rank.outcomes import Evaluation, Outcomes, joined
from overnight.rank.tally import Cells

Found = TypeVar("Found")

_MOST_STEPS: Final = 100
_LONGEST_STEP: Final = 5.0
_SETTLED: Final = 1e-7  # after a step this short, the next one would be about its square
_MOST_HALVINGS: Final = 40
# A direction in which steps stay long although the likelihood has nothing more to gain leads to infinity.
_STILL_MOVING: Final = 0.05
_NOTHING_TO_GAIN: Final = 1e-8
_MOVING_ALONG: Final = 0.2


@dataclass(frozen=True)
class Model:
    """Counted comparisons, what they can end in, and what is held fixed."""

    cells: Cells
    outcomes: Outcomes
    groups: Groups
    ridge: float = 0.0

    @property
    def n_items(self) -> int:
        return len(self.groups.label)

    @property
    def n_features(self) -> int:
        return int(self.cells.features.shape[1])

    def start(self) -> Floats:
        ties, total = float(self.cells.ties.sum()), float(self.cells.total.sum())
        point = np.zeros(self.n_items + self.n_features + self.outcomes.has_tie)
        if self.outcomes.has_tie:
            point[-1] = self.outcomes.start(min(max(ties / total, 1e-3), 1 - 1e-3))
        return point

    def lead(self, point: Floats, cells: Cells | None = None) -> Floats:
        """By how much the first item of each cell is ahead, in log-odds."""
        cells = cells or self.cells
        lead: Floats = point[cells.first] - point[cells.second]
        for feature, weight in zip(cells.features.T, point[self.n_items :], strict=False):
            lead += weight * feature
        return lead

    def tie(self, point: Floats) -> float:
        return float(point[-1]) if self.outcomes.has_tie else 0.0

    def evaluate(self, point: Floats, cells: Cells | None = None) -> Evaluation:
        tie = self.tie(point)
        parts = [
            self.outcomes.evaluate(self.lead(point, part), tie, part.wins, part.ties, part.losses)
            for part in (cells or self.cells).portions()
        ]
        return joined(parts, has_tie=self.outcomes.has_tie)

    def objective(self, point: Floats, evaluation: Evaluation) -> float:
        abilities = point[: self.n_items]
        return evaluation.loglik - self.ridge / 2 * float(abilities @ abilities)

    def score(self, point: Floats, evaluation: Evaluation) -> Floats:
        cells, n = self.cells, self.n_items
        by_item = summed(cells.first, evaluation.lead_score, n) - np.bincount(cells.second, evaluation.lead_score, n)
        by_feature = [inner(feature, evaluation.lead_score) for feature in cells.features.T]
        parts = [by_item - self.ridge * point[:n], np.array(by_feature)]
        if self.outcomes.has_tie:
            parts.append(np.array([evaluation.tie_score.sum()]))
        return np.concatenate(parts)

    def information(self, evaluation: Evaluation) -> Information:
        return Information(self.cells, evaluation.curvature, self.groups, self.ridge, self.outcomes.has_tie)

    def with_ridge(self, ridge: float) -> "Model":
        return replace(self, ridge=ridge)


class Solvable(Protocol):
    def solve(self, score: Floats, /) -> Floats: ...


class Objective(Protocol[Found]):
    """What can be maximised: a value, a score and an information at every point."""

    def start(self) -> Floats: ...
    def evaluate(self, point: Floats, /) -> Found: ...
    def objective(self, point: Floats, evaluation: Found, /) -> float: ...
    def score(self, point: Floats, evaluation: Found, /) -> Floats: ...
    def information(self, evaluation: Found, /) -> Solvable: ...


@dataclass(frozen=True)
class Optimum(Generic[Found]):
    """Where Newton's method ended. `runaway` is signed: parameters that would go on to plus or minus infinity."""

    point: Floats
    evaluation: Found
    converged: bool
    runaway: Floats
    steps: int

    @property
    def is_runaway(self) -> Flags:
        return np.asarray(self.runaway != 0)


def maximise(model: Objective[Found], start: Floats | None = None) -> Optimum[Found]:
    point = model.start() if start is None else start
    evaluation = model.evaluate(point)
    still = np.zeros_like(point)
    for taken in range(_MOST_STEPS):
        score = model.score(point, evaluation)
        try:
            step = model.information(evaluation).solve(score)
        except SingularInformationError:
            return Optimum(point, evaluation, converged=False, runaway=still, steps=taken)
        longest = float(np.abs(step).max())
        gain = float(score @ step)
        if longest > _STILL_MOVING and gain < _NOTHING_TO_GAIN:
            moving = np.where(np.abs(step) > _MOVING_ALONG * longest, np.sign(step), 0.0)
            return Optimum(point, evaluation, converged=False, runaway=moving, steps=taken)
        point, evaluation, moved = _line_search(
            model, point, evaluation, step * min(1.0, _LONGEST_STEP / max(longest, 1e-300))
        )
        if longest <= _SETTLED or not moved:
            settled = longest <= _SETTLED * 1e2
            return Optimum(point, evaluation, converged=settled, runaway=still, steps=taken + 1)
    return Optimum(point, evaluation, converged=False, runaway=still, steps=_MOST_STEPS)


def _line_search(model: Objective[Found], point: Floats, evaluation: Found, step: Floats) -> tuple[Floats, Found, bool]:
    """Go along a step, halved until the objective does not fall; says whether there was any such point."""
    before = model.objective(point, evaluation)
    slack = 1e-12 * (1 + abs(before))
    for _ in range(_MOST_HALVINGS):
        tried = point + step
        there = model.evaluate(tried)
        if model.objective(tried, there) >= before - slack:
            return tried, there, True
        step = step / 2
    return point, evaluation, False


__all__ = ["Model", "Objective", "Optimum", "maximise"]
