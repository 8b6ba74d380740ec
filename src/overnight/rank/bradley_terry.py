"""Abilities from paired comparisons: Bradley and Terry's model with ties, position and covariates.

`fit_bt_model` looks at the comparisons before it fits them: what they cannot tell is said in words on the fit,
and stands as infinite or NaN in its numbers.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Flags, Ints
from overnight.rank.columns import readable
from overnight.rank.comparison_graph import ComparisonGraph, read_graph, within_groups
from overnight.rank.empirical_bayes import averaged, choose_ridge
from overnight.rank.firth import fisher_covariance, maximise_firth
from overnight.rank.fit import BradleyTerryFit
from overnight.rank.fit_report import Design, Estimate, report
from overnight.rank.laplacian import EXACT_ERRORS_UP_TO, Covariance, Groups, SingularInformationError
from overnight.rank.newton import Model, Optimum, maximise
from overnight.rank.outcomes import Curvature, Davidson, Evaluation, Outcomes, RaoKupper, WinOrLose
from overnight.rank.pair_votes import (
    FEW_PAIRS,
    covariance_by_pair,
    degrees_of_freedom,
    has_one_vote_each,
    read_pair_votes,
    worth_of_one_each,
)
from overnight.rank.sandwich import clustered_covariance
from overnight.rank.tally import (
    Cells,
    Rows,
    cluster_portions,
    count_cells,
    read_rows,
    row_cells,
    scaled_features,
    without_ties,
)
from overnight.rank.verdicts import wrong_choice

TIES: Final = ("davidson", "rao-kupper", "half", "drop")
PENALTIES: Final = ("firth", "eb")
_UNIDENTIFIED: Final = 1e-9
_MOST_TURNS: Final = 6
_SETTLED_WORTH: Final = 0.01


@readable
def fit_bt_model(
    bt_data: Any,
    position: bool = False,
    ties: str = "davidson",
    penalty: float | str = 0.0,
    cluster: Any = None,
    *,
    covariates: Sequence[str] = (),
    small_sample: bool = False,
    by_pair: bool = False,
) -> BradleyTerryFit:
    """Fit abilities to rows `object1, object2, result` (1, 0, 0.5 for a tie; `object1` was shown first).

    A column `count` (or `weight`) says how often a row was seen. `ties` is how ties are treated; without ties in
    the data the tie parameter is left out. `penalty` is a ridge on the abilities (one over their prior variance),
    "firth" for Firth's bias reduction, or "eb" to learn the ridge from the data. `cluster` names a column, or gives
    one label per row, for errors that allow comparisons of one cluster to depend on each other; `small_sample`
    multiplies that covariance by G / (G - 1), and takes Student's quantiles for G clusters. `by_pair` allows votes on
    the same two items to depend on each other, whoever gave them and in whatever order, with errors that hold for few
    votes too. `covariates` names columns of differences (first minus second), such as the difference in length;
    abilities are then those at equal covariates.
    """
    _check_choices(ties, penalty, covariates)
    if by_pair and cluster is not None:
        raise ValueError("by_pair and cluster both say which comparisons depend on each other; give one of them")
    rows = read_rows(bt_data, covariates, cluster)
    if ties == "drop":
        rows = without_ties(rows)
    design = _design(rows, position=position, covariates=tuple(covariates), ties=ties, penalty=penalty)
    estimate = _estimate(design)
    if by_pair and estimate.bread is not None and not has_one_vote_each(design.model.cells):
        design, estimate = _by_pair(design, estimate)
    if by_pair and design.graph.is_separated and not design.penalty:
        # What was fitted is only a part of the votes, and tells nothing of how much the others have in common.
        design = replace(design, worth=min(design.worth, worth_of_one_each(design.cells)))
    if cluster is not None and estimate.bread is not None:
        estimate = _clustered(design, estimate, small_sample=small_sample)
    return report(design, estimate)


def _check_choices(ties: str, penalty: float | str, covariates: Sequence[str]) -> None:
    if ties not in TIES:
        raise WrongArgument(wrong_choice("ties", ties, TIES))
    if isinstance(penalty, str):
        if penalty not in PENALTIES:
            raise WrongArgument(wrong_choice("penalty", penalty, (*PENALTIES, "a number")))
    elif not is_ridge(penalty):
        raise WrongArgument(f"penalty must be zero or more, 'firth' or 'eb'; found {penalty!r}")
    taken = {"position", "tie"} & set(covariates)
    if taken:
        raise WrongArgument(f"a covariate cannot be called {taken.pop()!r}, which is a term of the model's own")


def is_ridge(penalty: object) -> bool:
    """A number that can stand for one over a prior variance."""
    if isinstance(penalty, bool) or not isinstance(penalty, int | float | np.integer | np.floating):
        return False
    return 0 <= float(penalty) < np.inf


def _design(rows: Rows, *, position: bool, covariates: tuple[str, ...], ties: str, penalty: float | str) -> Design:
    """Everything that is known before fitting: counts, graph, and which terms the comparisons can identify."""
    scales = np.ones(position + len(covariates))
    if rows.features is not None:
        sizes = np.sqrt((rows.features**2).mean(axis=0))
        scales[int(position) :] = np.where(sizes > 0, sizes, 1.0)
        rows = scaled_features(rows, scales[int(position) :])
    cells = count_cells(rows, ordered=position)
    graph = read_graph(cells, len(rows.items))
    label = _zero_sum_groups(graph, penalty)
    model = Model(within_groups(cells, label), _outcomes(cells, ties), Groups(label))
    # a ridge must not pass for evidence, so this is asked within components whatever the penalty
    identified = _identified(model if penalty == 0 else replace(model, groups=Groups(graph.component)))
    return Design(
        rows=rows,
        cells=cells,
        graph=graph,
        model=replace(model, cells=replace(model.cells, features=model.cells.features[:, identified])),
        terms=("position",) * position + covariates,
        identified=identified,
        scales=scales,
        ties=ties,
        penalty=penalty,
    )


def _zero_sum_groups(graph: ComparisonGraph, penalty: float | str) -> Ints:
    """A ridge joins all items; Firth's penalty only those of a component; likelihood alone those in cycles of wins."""
    if penalty == "firth":
        return graph.component
    return np.zeros_like(graph.group) if penalty else graph.group


def _outcomes(cells: Cells, ties: str) -> Outcomes:
    if ties in ("half", "drop") or not cells.ties.any():
        return WinOrLose()
    return Davidson() if ties == "davidson" else RaoKupper()


def _identified(model: Model) -> Flags:
    """Which features are more than a combination of abilities and earlier features."""
    if not model.n_features or not len(model.cells.first):
        return np.ones(model.n_features, dtype=bool)
    information = model.information(model.evaluate(model.start()))
    return np.asarray(information.retained()[: model.n_features] > _UNIDENTIFIED)


def _estimate(design: Design) -> Estimate:
    model, penalty = design.model, design.penalty
    if not len(model.cells.first) or design.only_ties:
        return Estimate(model, _nothing_fitted(model), None, None)
    if penalty == "firth":
        optimum = maximise_firth(model)
    elif penalty == "eb":
        return _empirical_bayes(model)
    else:
        model = model.with_ridge(float(penalty))
        optimum = maximise(model)
    bread = _covariance(model, optimum, firth=penalty == "firth")
    return Estimate(model, optimum, bread, bread)


def _empirical_bayes(model: Model) -> Estimate:
    """The fit with the ridges that the data choose; an optimum that is not converged where they cannot."""
    try:
        shrinkage = choose_ridge(model, all_possible=True)
        model, optimum = model.with_ridge(shrinkage.ridge), shrinkage.optimum
        bread = _covariance(model, optimum, firth=False)
        if bread is None or len(shrinkage.possible) == 1:
            return Estimate(model, optimum, bread, bread)
        mean = averaged(model, shrinkage)
    except SingularInformationError:
        model = model.with_ridge(1.0)
        optimum = maximise(model)
        bread = _covariance(model, optimum, firth=False)
        return Estimate(model, optimum, bread, bread)
    optimum = replace(optimum, point=mean.point, evaluation=model.evaluate(mean.point))
    return Estimate(model, optimum, bread, mean.spread, scale=mean.scale, mixture=mean.mixture)


def _nothing_fitted(model: Model) -> Optimum[Evaluation]:
    empty = np.zeros(0)
    point = np.zeros(model.n_items + model.n_features + model.outcomes.has_tie)
    point[model.n_items :] = np.nan
    nothing = Evaluation(0.0, empty, empty, Curvature(empty, empty, empty))
    return Optimum(point, nothing, converged=True, runaway=np.zeros_like(point), steps=0)


def _covariance(model: Model, optimum: Optimum[Evaluation], *, firth: bool) -> Covariance | None:
    stopped_short = not optimum.converged and not optimum.is_runaway.any()
    if stopped_short or model.n_items > EXACT_ERRORS_UP_TO:
        return None
    try:
        if firth:
            return fisher_covariance(model, optimum.point)
        return model.information(optimum.evaluation).covariance()
    except SingularInformationError:
        return None


def _clustered(design: Design, estimate: Estimate, *, small_sample: bool) -> Estimate:
    assert estimate.bread is not None
    label, position = estimate.model.groups.label, "position" in design.terms

    def fitted_cells(portion: Rows) -> Cells:
        cells = within_groups(row_cells(portion, position=position), label)
        return replace(cells, features=cells.features[:, design.identified])

    portions = cluster_portions(design.rows)
    spread, n_clusters = clustered_covariance(
        estimate.model, estimate.optimum.point, estimate.bread, portions, fitted_cells
    )
    # the mixture over ridges knows nothing of clusters
    estimate = replace(estimate, n_clusters=n_clusters, mixture=None)
    if n_clusters < 2:
        return replace(estimate, spread=None)
    if not small_sample:
        return replace(estimate, spread=spread)
    df = np.full(estimate.model.n_items, n_clusters - 1.0)
    return replace(estimate, spread=spread.scaled(n_clusters / (n_clusters - 1)), df=df)


def _by_pair(design: Design, estimate: Estimate) -> tuple[Design, Estimate]:
    """Errors by pair; or, where the prior is learnt, a fit in which each vote counts as what it is worth."""
    if design.penalty == "eb":
        return _discounted(design, estimate)
    assert estimate.bread is not None
    votes = read_pair_votes(estimate.model, estimate.optimum.point, estimate.bread)
    n_pairs = len(votes.low)
    if n_pairs < 2:
        return design, replace(estimate, spread=None, n_clusters=n_pairs)
    # What is asked of the fit later, such as its reliability, must not count the same evidence twice either; but
    # votes that only repeat each other are still one together.
    design = replace(design, worth=max(votes.worth, worth_of_one_each(design.model.cells)))
    if n_pairs < FEW_PAIRS:
        # a sandwich of so few is mostly luck: all errors grow alike, by what votes on a pair have in common
        spread = estimate.bread.scaled(votes.dispersion)
        df = np.full(estimate.model.n_items, max(1.0, n_pairs - estimate.model.n_items + 1.0))
    else:
        spread = covariance_by_pair(votes, estimate.bread)
        df = degrees_of_freedom(votes, estimate.bread)
    return design, replace(estimate, spread=spread, n_clusters=n_pairs, df=df)


def _discounted(design: Design, estimate: Estimate) -> tuple[Design, Estimate]:
    """What votes are worth depends on the fit, and the fit on what they are worth: a few turns settle it."""
    whole, worth, n_pairs = design.model.cells, 1.0, 0
    for _ in range(_MOST_TURNS):
        if estimate.bread is None:
            break
        # in the units of whole votes: what they tell, and the errors that one of each would leave
        model = replace(estimate.model, cells=whole)
        votes = read_pair_votes(model, estimate.optimum.point, estimate.bread.scaled(worth))
        before, worth, n_pairs = worth, votes.worth, len(votes.low)
        design = replace(design, model=replace(design.model, cells=whole.counted_as(worth)), worth=worth)
        estimate = _estimate(design)
        if abs(worth - before) <= _SETTLED_WORTH * before:
            break
    return design, replace(estimate, n_clusters=n_pairs)


__all__ = ["PENALTIES", "TIES", "fit_bt_model", "is_ridge"]
