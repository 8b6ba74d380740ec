"""A fitted comparison model: abilities with their errors, and everything that a reader should be told about them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from overnight.rank.arrays import Floats, Ints
from overnight.rank.comparison_graph import ComparisonGraph
from overnight.rank.empirical_bayes import STRONGEST_RIDGE, Mixture, choose_ridge
from overnight.rank.laplacian import SingularInformationError
from overnight.rank.newton import Model


@dataclass(frozen=True)
class BradleyTerryFit:
    """What `fit_bt_model` found.

    `theta` and `se` stand in the order of `items`; abilities sum to zero (in each component, if there are
    several). A number that the comparisons cannot give is infinite or NaN, and a sentence in `problems` says why.
    `position` is the log-odds advantage of being shown first; `tie` is Davidson's log of the tie odds, or the
    half-width of Rao and Kupper's tie zone; each is None when it is not part of the model. `df` are the degrees of
    freedom of the errors, where they rest on few votes; `worth` is how much of an independent vote each one counted.
    `mixture` is what is known of each ability where the prior was learnt.
    """

    items: list[Any]
    theta: Floats
    se: Floats
    position: float | None
    position_se: float | None
    tie: float | None
    tie_se: float | None
    coefficients: pl.DataFrame
    loglik: float
    deviance: float
    df_residual: int
    penalty: float | str
    engine: str
    converged: bool
    steps: int
    n_comparisons: float
    n_clusters: int | None
    component: Ints
    problems: list[str]
    graph: ComparisonGraph
    model: Model
    abilities_covariance: Floats | None
    df: Floats | None = None
    worth: float = 1.0
    mixture: Mixture | None = None

    def covariance(self) -> Floats:
        """The covariance matrix of `theta`; rows of abilities that are not finite are NaN."""
        if self.abilities_covariance is None:
            return np.full((len(self.items), len(self.items)), np.nan)
        return self.abilities_covariance

    def index(self, item: Any) -> int:
        """Where an item stands in `items`, `theta` and `se`."""
        try:
            return self._places[item]
        except KeyError:
            raise KeyError(f"{item!r} is not among the {len(self.items)} compared items") from None

    def difference(self, a: Any, b: Any) -> tuple[float, float]:
        """How far `a` is ahead of `b`, and the standard error of that."""
        at, other = self.index(a), self.index(b)
        if self.component[at] != self.component[other]:
            return np.nan, np.nan
        with np.errstate(invalid="ignore"):
            ahead = float(self.theta[at] - self.theta[other])
        if self.abilities_covariance is None:
            return ahead, np.nan
        spread = self.abilities_covariance
        variance = spread[at, at] + spread[other, other] - 2 * spread[at, other]
        return ahead, float(np.sqrt(np.maximum(variance, 0.0)))

    def win_probability(self, a: Any, b: Any) -> float:
        """The chance that `a` beats `b` with neither favoured by position; ties, if modelled, are the rest."""
        return self._chances(a, b)[0]

    def tie_probability(self, a: Any, b: Any) -> float:
        """The chance that `a` and `b` tie."""
        return self._chances(a, b)[1]

    @cached_property
    def reliability(self) -> float:
        """The share of the spread among estimated abilities that is real, by empirical Bayes.

        Unlike one minus the mean squared error over the variance, this is not fooled when close items were chosen
        to be compared. It is 0 where the comparisons cannot be told from those of a judge who flips coins.
        """
        cells = self.model.cells
        if self.model.outcomes.has_tie and not (cells.wins.any() or cells.losses.any()):
            return np.nan
        try:
            return choose_ridge(self.model).reliability
        except SingularInformationError:
            return np.nan

    @property
    def coin_problems(self) -> list[str]:
        """What is to be said where the reliability is 0; apart from `problems`, since it takes as long as a fit."""
        all_equal = isinstance(self.penalty, float) and np.isclose(self.penalty, STRONGEST_RIDGE)
        if self.reliability != 0 or all_equal:  # then `problems` says it
            return []
        sentence = (
            "A judge who flips coins could have given these verdicts: none of the spread among the abilities is shown "
            "to be real, so that reliability is 0."
        )
        return [sentence]

    def _chances(self, a: Any, b: Any) -> tuple[float, float, float]:
        ahead, _ = self.difference(a, b)
        if np.isnan(ahead):
            return np.nan, np.nan, np.nan
        if np.isinf(ahead) or self.tie is None:
            return float(expit(ahead)), 0.0, float(expit(-ahead))
        won, tied, lost = self.model.outcomes.probabilities(np.array([ahead]), self.tie)
        return float(won[0]), float(tied[0]), float(lost[0])

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {item: place for place, item in enumerate(self.items)}


__all__ = ["BradleyTerryFit"]
