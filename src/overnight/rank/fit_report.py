"""From an optimum to a fit: infinities where they belong, errors, and the sentences that go with them."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from scipy.special import xlogy

from overnight.rank import problems
from overnight.rank.arrays import Flags, Floats, Ints
from overnight.rank.comparison_graph import ComparisonGraph
from overnight.rank.empirical_bayes import STRONGEST_RIDGE, WEAKEST_RIDGE, Mixture
from overnight.rank.fit import BradleyTerryFit
from overnight.rank.laplacian import EXACT_ERRORS_UP_TO, Covariance, Groups
from overnight.rank.newton import Model, Optimum
from overnight.rank.outcomes import Evaluation
from overnight.rank.tally import Cells, Rows

_UNDETERMINED: Final = 1e4  # a variance that says no more than that nothing is known


@dataclass(frozen=True)
class Design:
    """What was known before fitting. `terms` are position and covariates; only identified ones are in the model."""

    rows: Rows
    cells: Cells
    graph: ComparisonGraph
    model: Model
    terms: tuple[str, ...]
    identified: Flags
    scales: Floats
    ties: str
    penalty: float | str
    # Each comparison counts as so much of an independent one.
    worth: float = 1.0

    @property
    def only_ties(self) -> bool:
        """Nothing is decided among the comparisons that are fitted."""
        return self.model.outcomes.has_tie and not (self.model.cells.wins.any() or self.model.cells.losses.any())

    @property
    def component(self) -> Ints:
        """A ridge makes one ranking of everything; otherwise components are ranked apart."""
        bridged = bool(self.penalty) and self.penalty != "firth"
        return np.zeros_like(self.graph.component) if bridged else self.graph.component


@dataclass(frozen=True)
class Estimate:
    """An optimum, the inverse information there (`bread`), and the covariance to report (`spread`)."""

    model: Model
    optimum: Optimum[Evaluation]
    bread: Covariance | None
    spread: Covariance | None
    n_clusters: int | None = None
    # Degrees of freedom of each ability's error; None where the normal distribution will do.
    df: Floats | None = None
    # What stretches all abilities together, by ability: part of their errors, but not of those of differences.
    scale: Floats | None = None
    # What is known of each ability, where that is a mixture over possible ridges.
    mixture: Mixture | None = None


def report(design: Design, estimate: Estimate) -> BradleyTerryFit:
    theta = _abilities(design, estimate)
    covariance = None if estimate.spread is None else _ability_covariance(theta, estimate.spread.abilities)
    coefficients = _coefficients(design, estimate)
    position, position_se = _term(coefficients, "position")
    tie, tie_se = _term(coefficients, "tie")
    deviance, df_residual = _goodness(design, estimate)
    n = len(theta)
    return BradleyTerryFit(
        items=design.rows.items.to_list(),
        theta=theta,
        se=np.full(n, np.nan) if covariance is None else _errors(covariance, estimate.scale),
        position=position,
        position_se=position_se,
        tie=tie,
        tie_se=tie_se,
        coefficients=coefficients,
        loglik=estimate.optimum.evaluation.loglik,
        deviance=deviance,
        df_residual=df_residual,
        penalty="firth" if design.penalty == "firth" else estimate.model.ridge,
        engine=_engine(design, estimate),
        converged=estimate.optimum.converged,
        steps=estimate.optimum.steps,
        n_comparisons=float(design.cells.total.sum()),
        n_clusters=estimate.n_clusters,
        component=design.component,
        problems=_problems(design, estimate),
        graph=design.graph,
        model=_whole_model(design),
        abilities_covariance=covariance,
        df=estimate.df,
        worth=design.worth,
        mixture=estimate.mixture,
    )


def _errors(covariance: Floats, scale: Floats | None) -> Floats:
    return np.sqrt(np.maximum(covariance.diagonal() + (0.0 if scale is None else scale), 0.0))


def _whole_model(design: Design) -> Model:
    """All comparisons and all items together, for questions that are asked of the fit later."""
    cells = replace(design.cells.counted_as(design.worth), features=design.cells.features[:, design.identified])
    return Model(cells, design.model.outcomes, Groups(np.zeros_like(design.graph.component)))


def _abilities(design: Design, estimate: Estimate) -> Floats:
    n = estimate.model.n_items
    theta = estimate.optimum.point[:n].copy()
    if design.only_ties:
        theta[:] = np.nan
    runaway = estimate.optimum.runaway[:n]
    if estimate.optimum.is_runaway.any() and estimate.bread is not None:
        # along with what runs away, the information about some of the others may vanish
        variance = estimate.bread.abilities.diagonal()
        theta[(variance > _UNDETERMINED) | (variance < 0)] = np.nan
    theta[runaway != 0] = np.inf * runaway[runaway != 0]
    if not design.penalty:
        placement = design.graph.placement
        theta[placement != 0] = placement[placement != 0]
    return theta


def _ability_covariance(theta: Floats, covariance: Floats) -> Floats:
    beyond = ~np.isfinite(theta)
    if beyond.any():
        covariance = covariance.copy()
        covariance[beyond, :] = np.nan
        covariance[:, beyond] = np.nan
    return covariance


def _coefficients(design: Design, estimate: Estimate) -> pl.DataFrame:
    """One row for each term beside the abilities: position, covariates, tie."""
    model, has_tie = estimate.model, design.model.outcomes.has_tie
    found = estimate.optimum.point[model.n_items :].copy()
    runaway = estimate.optimum.runaway[model.n_items :]
    spread = np.full(len(found), np.nan)
    if estimate.spread is not None:
        spread = np.sqrt(np.maximum(estimate.spread.others.diagonal(), 0.0))
    spread[runaway != 0] = np.nan
    found[runaway != 0] = np.inf * runaway[runaway != 0]
    if has_tie and design.only_ties:
        found[-1] = np.inf
    kept = np.append(design.identified, [True] * has_tie).astype(bool)
    scales = np.append(design.scales, [1.0] * has_tie)
    values, errors = np.full(len(kept), np.nan), np.full(len(kept), np.nan)
    values[kept], errors[kept] = found, spread
    names = [*design.terms, *(["tie"] if has_tie else [])]
    return pl.DataFrame(
        {"term": names, "estimate": values / scales, "se": errors / scales},
        schema={"term": pl.String, "estimate": pl.Float64, "se": pl.Float64},
    )


def _term(coefficients: pl.DataFrame, name: str) -> tuple[float | None, float | None]:
    rows = coefficients.filter(pl.col("term") == name).rows()
    return (rows[0][1], rows[0][2]) if rows else (None, None)


def _goodness(design: Design, estimate: Estimate) -> tuple[float, int]:
    """The deviance from a model that fits every cell perfectly, and its degrees of freedom."""
    model, cells = estimate.model, design.model.cells
    perfect = sum(_perfect_loglik(part, has_tie=model.outcomes.has_tie) for part in cells.portions())
    # what a ridge joins beyond the comparisons is no parameter of theirs
    apart = max(len(model.groups.size), int(design.graph.component.max()) + 1)
    free = model.n_items - apart + model.n_features + model.outcomes.has_tie
    outcomes_free = 2 if model.outcomes.has_tie else 1
    return 2 * (perfect - estimate.optimum.evaluation.loglik), outcomes_free * len(cells.first) - free


def _perfect_loglik(cells: Cells, *, has_tie: bool) -> float:
    half = cells.ties / 2
    counts = [cells.wins, cells.ties, cells.losses] if has_tie else [cells.wins + half, cells.losses + half]
    return sum(float(xlogy(count, count / cells.total).sum()) for count in counts)


def _engine(design: Design, estimate: Estimate) -> str:
    parts = [design.model.outcomes.name]
    parts += ["half-ties"] if design.ties == "half" and design.cells.ties.any() else []
    parts += ["position"] if "position" in design.terms else []
    parts += ["covariates"] if set(design.terms) - {"position"} else []
    parts += [design.penalty if isinstance(design.penalty, str) else "ridge"] if design.penalty else []
    parts += ["clustered"] if estimate.n_clusters is not None else []
    return "+".join(parts)


def _problems(design: Design, estimate: Estimate) -> list[str]:
    """Everything there is to say, in the order in which it would be found out."""
    names = [str(item) for item in design.rows.items.to_list()]
    optimum, model = estimate.optimum, estimate.model
    said = problems.left_out_problems(design.rows.left_out)
    bridged = bool(design.penalty) and design.penalty != "firth"
    said += problems.graph_problems(design.graph, names, penalised=bool(design.penalty), bridged=bridged)
    said += problems.unidentified_problems(design.terms, design.identified)
    if design.only_ties:
        return said + problems.all_ties_problems(separated=design.graph.is_separated)
    parameters = names + [term for term, kept in zip(design.terms, design.identified, strict=True) if kept]
    parameters += ["the tie parameter"] if model.outcomes.has_tie else []
    runaway = [parameters[at] for at in np.flatnonzero(optimum.is_runaway)]
    said += problems.convergence_problems(converged=optimum.converged, steps=optimum.steps, runaway=runaway)
    said += problems.too_large_problems(model.n_items, EXACT_ERRORS_UP_TO)
    if estimate.bread is None and optimum.steps and not said:
        said += problems.singular_problems()
    has_position = design.terms[:1] == ("position",) and bool(design.identified[0])
    if has_position and estimate.bread is not None and not runaway:
        told = model.information(optimum.evaluation).corner[0, 0]
        said += problems.poor_position_problems(1 / (told * estimate.bread.others[0, 0]), model.cells)
    if design.ties == "half" and design.cells.ties.any():
        said += problems.half_tie_problems(float(design.cells.ties.sum()))
    if design.penalty == "eb":
        said += problems.learnt_ridge_problems(model.ridge, weakest=WEAKEST_RIDGE, strongest=STRONGEST_RIDGE)
    # a mixture over ridges counts each vote as what it is worth: no errors were taken from clusters
    if estimate.n_clusters is not None and estimate.mixture is None:
        said += problems.cluster_problems(estimate.n_clusters)
    return said


__all__ = ["Design", "Estimate", "report"]
