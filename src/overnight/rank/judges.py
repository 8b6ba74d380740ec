"""Several judges, one ranking: each judge has a position effect, a tie habit and a power to tell items apart.

The lead that judge k sees is `discrimination[k] * (theta[first] - theta[second]) + position[k]`. Discriminations
average one, so abilities are on the scale of an average judge: a judge near zero answers at random, one below
zero the wrong way round. Weak normal priors (a standard deviation of 1 on discriminations, of 2 on positions and
tie parameters) keep the terms of a judge with few verdicts finite; they fade as verdicts come in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array

from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints, summed
from overnight.rank.bradley_terry import fit_bt_model, is_ridge
from overnight.rank.columns import readable
from overnight.rank.fit import BradleyTerryFit
from overnight.rank.labels import complete, label_codes
from overnight.rank.newton import maximise
from overnight.rank.outcomes import Davidson, Evaluation
from overnight.rank.problems import convergence_problems
from overnight.rank.tally import WEIGHT_COLUMNS, Cells, Rows, count_cells, read_rows, row_cells
from overnight.rank.verdicts import as_frame, numeric_column, require_columns, wrong_choice

_TIES: Final = ("davidson", "drop")
_NEVER_TIES: Final = -40.0
_DISCRIMINATION_PRECISION: Final = 1.0
_HABIT_PRECISION: Final = 0.25
_LOGISTIC_VARIANCE: Final = np.pi**2 / 3


@dataclass(frozen=True)
class JudgeFit:
    """One ranking by an average judge (`fit`, which `summarize_bt_fit` takes), and a table of the judges.

    The table has `judge, n_verdicts, tie_share, position, position_se, discrimination, discrimination_se,
    reliability, agreement`: reliability is the share of the variance in what a judge perceives that is due to the
    items, and agreement the share of its decided verdicts that side with the joint ranking.
    """

    fit: BradleyTerryFit
    judges: pl.DataFrame

    @property
    def problems(self) -> list[str]:
        return self.fit.problems


@readable
def fit_judge_model(
    bt_data: Any,
    judge: str = "judge",
    position: bool = True,
    ties: str = "davidson",
    penalty: float = 0.0,
    cluster: Any = None,
) -> JudgeFit:
    """Fit one ranking to the verdicts of several judges (column `judge`), weighing each by how well it tells."""
    if ties not in _TIES:
        raise WrongArgument(wrong_choice("ties", ties, _TIES))
    if not is_ridge(penalty):
        raise WrongArgument(f"several judges go with a penalty of zero or more only; found {penalty!r}")
    frame = as_frame(bt_data)
    require_columns(frame, ["object1", "object2", "result", judge])
    complete(frame.get_column(judge), f"column {judge!r}", "a judge")
    pooled = fit_bt_model(frame, position=position, ties=ties, penalty=penalty, cluster=cluster)
    frame, cluster = _usable(frame, cluster, drop_ties=ties == "drop")
    rows = read_rows(frame, cluster=judge)
    names = [str(name) for name in label_codes(frame.get_column(judge))[0].to_list()]
    cells = count_cells(rows, ordered=True, by_cluster=True)
    if not (pooled.converged and np.isfinite(pooled.theta).all() and pooled.component.max() == 0):
        return JudgeFit(pooled, _tallied(names, cells))
    model = _JudgeModel(cells, pooled, len(names), has_position=position, ridge=float(penalty))
    optimum = maximise(model)
    covariance = optimum.evaluation.covariance()
    problems = list(pooled.problems)
    if cluster is not None:
        covariance = _clustered(model, optimum.point, covariance, rows, read_rows(frame, cluster=cluster))
    problems += convergence_problems(converged=optimum.converged, steps=optimum.steps, runaway=())
    fit = _averaged(model, pooled, optimum.point, covariance)
    fit = replace(fit, loglik=optimum.evaluation.loglik, converged=optimum.converged, problems=problems)
    return JudgeFit(fit, _table(names, model, optimum.point, covariance))


def _usable(frame: pl.DataFrame, cluster: Any, *, drop_ties: bool) -> tuple[pl.DataFrame, str | None]:
    """The rows that count (the pooled fit says which do not), with their clusters in a column."""
    if cluster is not None and not isinstance(cluster, str):
        frame = frame.with_columns(pl.Series("cluster of the row", cluster))
        cluster = "cluster of the row"
    result = numeric_column(frame, "result")
    first, second = (frame.get_column(side).cast(pl.String) for side in ("object1", "object2"))
    keep = result.is_not_null() & result.is_not_nan() & (first != second)
    for name in set(WEIGHT_COLUMNS).intersection(frame.columns):
        keep &= numeric_column(frame, name) > 0
    return frame.filter(keep & (result != 0.5) if drop_ties else keep), cluster


@dataclass(frozen=True)
class _JudgeModel:
    """Parameters in one vector: abilities, discriminations, positions (if any), tie parameters of judges who tie."""

    cells: Cells
    pooled: BradleyTerryFit
    n_judges: int
    has_position: bool
    ridge: float

    @property
    def n_items(self) -> int:
        return len(self.pooled.items)

    @cached_property
    def tying(self) -> Ints:
        """The judges who ever tie."""
        assert self.cells.cluster is not None
        return np.flatnonzero(summed(self.cells.cluster, self.cells.ties, self.n_judges) > 0)

    @cached_property
    def starts(self) -> Ints:
        """Where discriminations, positions and tie parameters begin, and where all ends."""
        lengths = [self.n_items, self.n_judges, self.n_judges * self.has_position, len(self.tying)]
        return np.cumsum(lengths)

    @cached_property
    def basis(self) -> Floats:
        """Directions that keep the sums of abilities and of discriminations."""
        size = int(self.starts[-1])
        kept = np.eye(size)
        for start, stop in ((0, self.starts[0]), (self.starts[0], self.starts[1])):
            kept[start, start:stop] = -1.0
            kept[start, start] = 0.0
        return np.delete(kept, [0, int(self.starts[0])], axis=1)

    @cached_property
    def centre(self) -> Floats:
        """Where the priors are centred; it is also where the search starts."""
        point = np.zeros(int(self.starts[-1]))
        items, judges, positions, _ = (int(at) for at in self.starts)
        point[:items] = self.pooled.theta
        point[items:judges] = 1.0
        point[judges:positions] = self.pooled.position or 0.0
        point[positions:] = self.pooled.tie or 0.0
        return point

    @cached_property
    def precision(self) -> Floats:
        items, judges, _, end = (int(at) for at in self.starts)
        lengths = [items, judges - items, end - judges]
        return np.repeat([self.ridge, _DISCRIMINATION_PRECISION, _HABIT_PRECISION], lengths)

    def start(self) -> Floats:
        return self.centre.copy()

    def evaluate(self, point: Floats, cells: Cells | None = None) -> "_JudgeEvaluation":
        cells = cells or self.cells
        assert cells.cluster is not None
        judge = cells.cluster
        items, judges, positions, _ = (int(at) for at in self.starts)
        apart = point[cells.first] - point[cells.second]
        keen = point[items + judge]
        lead = keen * apart + (point[judges + judge] if self.has_position else 0.0)
        tie = np.full(self.n_judges, _NEVER_TIES)
        tie[self.tying] = point[positions:]
        found = Davidson().evaluate(lead, tie[judge], cells.wins, cells.ties, cells.losses)
        return _JudgeEvaluation(self, found, self._lead_slopes(cells, judge, apart, keen), self._tie_slopes(judge))

    def objective(self, point: Floats, evaluation: "_JudgeEvaluation") -> float:
        away = self._away(point)
        return evaluation.loglik - float(away @ (self.precision * away)) / 2

    def score(self, point: Floats, evaluation: "_JudgeEvaluation") -> Floats:
        return evaluation.score() - self.precision * self._away(point)

    def information(self, evaluation: "_JudgeEvaluation") -> "_JudgeEvaluation":
        return evaluation

    def _away(self, point: Floats) -> Floats:
        """How far from the centre of the priors; abilities are drawn towards zero, if at all."""
        away = point - self.centre
        away[: self.n_items] = point[: self.n_items]
        away[self.starts[1] : self.starts[2]] = point[self.starts[1] : self.starts[2]]
        return away

    def _lead_slopes(self, cells: Cells, judge: Ints, apart: Floats, keen: Floats) -> csr_array:
        rows = np.arange(len(apart))
        columns = [cells.first, cells.second, self.starts[0] + judge]
        values = [keen, -keen, apart]
        if self.has_position:
            columns.append(self.starts[1] + judge)
            values.append(np.ones_like(apart))
        shape = (len(apart), int(self.starts[-1]))
        where = np.tile(rows, len(columns)), np.concatenate(columns)
        return coo_array((np.concatenate(values), where), shape=shape).tocsr()

    def _tie_slopes(self, judge: Ints) -> csr_array:
        place = np.full(self.n_judges, -1)
        place[self.tying] = np.arange(len(self.tying))
        rows = np.flatnonzero(place[judge] >= 0)
        columns = self.starts[2] + place[judge[rows]]
        return coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(judge), int(self.starts[-1]))).tocsr()


@dataclass(frozen=True)
class _JudgeEvaluation:
    """The likelihood at one point, and how each cell's lead and tie parameter move with every parameter."""

    model: _JudgeModel
    found: Evaluation
    lead_slopes: csr_array
    tie_slopes: csr_array

    @property
    def loglik(self) -> float:
        return self.found.loglik

    def score(self) -> Floats:
        by_lead, by_tie = self.lead_slopes.T @ self.found.lead_score, self.tie_slopes.T @ self.found.tie_score
        return np.asarray(by_lead + by_tie)

    def scores_by(self, label: Ints) -> Floats:
        """The score of every label's cells, one row each."""
        lead = self.lead_slopes.multiply(self.found.lead_score[:, None])
        tie = self.tie_slopes.multiply(self.found.tie_score[:, None])
        n = len(label)
        gather = coo_array((np.ones(n), (label, np.arange(n))), shape=(int(label.max()) + 1, n)).tocsr()
        return np.asarray((gather @ (lead + tie)).toarray())

    def solve(self, score: Floats) -> Floats:
        basis = self.model.basis
        return np.asarray(basis @ cho_solve(self._factor, basis.T @ score))

    def covariance(self) -> Floats:
        basis = self.model.basis
        return np.asarray(basis @ cho_solve(self._factor, basis.T))

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        curve, lead, tie = self.found.curvature, self.lead_slopes, self.tie_slopes
        crossed = (lead.T @ tie.multiply(curve.cross[:, None])).toarray()
        matrix = (lead.T @ lead.multiply(curve.lead[:, None])).toarray() + crossed + crossed.T
        matrix += (tie.T @ tie.multiply(curve.tie[:, None])).toarray()
        matrix[np.diag_indices_from(matrix)] += self.model.precision
        basis = self.model.basis
        factor, lower = cho_factor(basis.T @ matrix @ basis)
        return factor, lower


def _clustered(model: _JudgeModel, point: Floats, bread: Floats, rows: Rows, labels: Rows) -> Floats:
    """The sandwich: row by row, since a cluster and a judge may cut across each other."""
    assert labels.cluster is not None
    scores = model.evaluate(point, row_cells(rows, position=True)).scores_by(labels.cluster)
    if len(scores) < 2:
        return np.full_like(bread, np.nan)
    half = scores @ bread
    return np.asarray(half.T @ half)


def _averaged(model: _JudgeModel, pooled: BradleyTerryFit, point: Floats, covariance: Floats) -> BradleyTerryFit:
    """The pooled fit with the abilities of the joint model in place of its own."""
    n = model.n_items
    return replace(
        pooled,
        theta=point[:n],
        se=np.sqrt(np.maximum(covariance.diagonal()[:n], 0.0)),
        position=None,
        position_se=None,
        tie=None,
        tie_se=None,
        coefficients=pooled.coefficients.clear(),
        engine=f"judges+{pooled.engine}",
        abilities_covariance=covariance[:n, :n],
    )


def _tallied(names: Sequence[str], cells: Cells) -> pl.DataFrame:
    """What can be said of the judges without a fit."""
    assert cells.cluster is not None
    verdicts, ties = (summed(cells.cluster, counts, len(names)) for counts in (cells.total, cells.ties))
    nothing = np.full(len(names), np.nan)
    columns = ("position", "position_se", "discrimination", "discrimination_se", "reliability", "agreement")
    return pl.DataFrame(
        {"judge": names, "n_verdicts": verdicts, "tie_share": ties / verdicts} | dict.fromkeys(columns, nothing)
    )


def _table(names: Sequence[str], model: _JudgeModel, point: Floats, covariance: Floats) -> pl.DataFrame:
    cells, n_judges = model.cells, model.n_judges
    assert cells.cluster is not None
    items, judges, positions, _ = (int(at) for at in model.starts)
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    apart = point[cells.first] - point[cells.second]
    total, decided = cells.total, cells.wins + cells.losses
    spread = summed(cells.cluster, total * apart**2, n_judges) / summed(cells.cluster, total, n_judges)
    signal = point[items:judges] ** 2 * spread
    siding = np.where(apart > 0, cells.wins, np.where(apart < 0, cells.losses, decided / 2))
    agreeing, all_decided = (summed(cells.cluster, counts, n_judges) for counts in (siding, decided))
    habits = {}
    if model.has_position:
        habits = {"position": point[judges:positions], "position_se": errors[judges:positions]}
    found = habits | {
        "discrimination": point[items:judges],
        "discrimination_se": errors[items:judges],
        "reliability": signal / (signal + _LOGISTIC_VARIANCE),
        "agreement": agreeing / np.where(all_decided > 0, all_decided, np.nan),
    }
    return _tallied(names, cells).with_columns(**{name: pl.Series(values) for name, values in found.items()})


__all__ = ["JudgeFit", "fit_judge_model"]
