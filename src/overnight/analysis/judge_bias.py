"""Does a judge favour a candidate, its own answers above all?

Every score is set against what the other judges gave the *same answer*: `delta` is how much higher this judge
scores this candidate. A judge who is lenient with everyone has a high delta everywhere; `excess` takes that away,
by comparing with the judge's deltas on the other candidates. Errors are clustered by item.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from overnight.rank.arrays import Floats, summed
from overnight.rank.columns import readable
from overnight.rank.distributions import normal_tail
from overnight.rank.labels import named, places
from overnight.rank.shares import quantile
from overnight.rank.verdicts import BadVerdicts, as_frame, numeric_column, require_columns


@dataclass(frozen=True)
class JudgeBias:
    """`table` has one row for each judge and candidate; `self_preference` is the mean excess of judges for their own.

    Table columns: `judge, model, is_self, n, score, others, delta, delta_se, delta_lwr, delta_upr, excess, excess_se,
    excess_lwr, excess_upr`. `n_left_out` counts scores that no other judge gave the same answer.
    """

    table: pl.DataFrame
    self_preference: float
    self_preference_se: float
    self_preference_lwr: float
    self_preference_upr: float
    p: float
    n_items: int
    n_left_out: int

    def matrix(self, column: str = "delta") -> pl.DataFrame:
        """One column of the table as judges by candidates."""
        return self.table.pivot(on="model", index="judge", values=column)


@readable
def judge_bias(
    data: Any,
    score: str = "score",
    judge: str = "judge",
    model: str = "model",
    item: str = "item_id",
    own: Mapping[str, str] | None = None,
    level: float = 0.95,
) -> JudgeBias:
    """Deltas of every judge for every candidate, from one score per judge, candidate and item.

    `own` maps judges (and candidates) to the family they belong to; without it a judge's own candidate is the one of
    the same name. Yes and no may be scored as 1 and 0, wins in comparisons as 1, 0.5 and 0.
    """
    frame = as_frame(data)
    require_columns(frame, [judge, model, item])
    scores = pl.DataFrame(
        {
            "judge": named(frame[judge])[0],
            "model": named(frame[model])[0],
            "item": named(frame[item])[0],
            "score": numeric_column(frame, score).fill_nan(None),
        }
    ).drop_nulls()
    scores = scores.group_by("judge", "model", "item").agg(pl.col("score").mean()).sort("judge", "model", "item")
    answer = pl.col("score").sum().over("model", "item"), pl.len().over("model", "item")
    scored = scores.with_columns(
        ((answer[0] - pl.col("score")) / (answer[1] - 1)).alias("others"), answer[1].alias("k")
    )
    shared = scored.filter(pl.col("k") > 1)
    if shared.is_empty():
        raise BadVerdicts("no answer was scored by two judges, so no judge can be set against the others")
    families = dict(own or {})
    return _bias(shared, families, level, n_left_out=scored.height - shared.height)


def _bias(shared: pl.DataFrame, families: Mapping[str, str], level: float, *, n_left_out: int) -> JudgeBias:
    cells = shared.select("judge", "model").unique().sort("judge", "model")
    judges, models = (cells.get_column(name).cast(pl.String).to_list() for name in ("judge", "model"))
    cell = (
        shared.join(cells.with_row_index("cell"), on=["judge", "model"], maintain_order="left")
        .get_column("cell")
        .to_numpy()
    )
    item = places(shared.get_column("item")).rank("dense").to_numpy().astype(np.int64) - 1
    score, others = (shared.get_column(name).to_numpy() for name in ("score", "others"))
    n = np.bincount(cell, minlength=cells.height).astype(np.float64)
    delta = summed(cell, score - others, cells.height) / n
    # what each item contributes to each delta: any combination's error is the root of the sum of its squares
    influence = np.zeros((int(item.max()) + 1, cells.height))
    np.add.at(influence, (item, cell), (score - others - delta[cell]) / n[cell])
    contrast = _against_other_candidates(judges)
    excess, reach = contrast @ delta, quantile(level)
    delta_se, excess_se = _errors(influence), _errors(influence @ contrast.T)
    is_self = np.array([families.get(j, j) == families.get(m, m) for j, m in zip(judges, models, strict=True)])
    table = pl.DataFrame(
        {
            "judge": judges,
            "model": models,
            "is_self": is_self,
            "n": n.astype(np.int64),
            "score": summed(cell, score, cells.height) / n,
            "others": summed(cell, others, cells.height) / n,
            **_interval("delta", delta, delta_se, reach),
            **_interval("excess", excess, excess_se, reach),
        }
    )
    known = is_self & ~np.isnan(excess)
    weights = known / known.sum() if known.any() else np.full(len(known), np.nan)
    found = float(np.nansum(weights * np.where(known, excess, 0.0))) if known.any() else np.nan
    error = float(_errors(influence @ contrast[known].T @ weights[known][:, None])[0]) if known.any() else np.nan
    p = float(2 * normal_tail(abs(found) / error)) if error and error > 0 else np.nan
    ends = found - reach * error, found + reach * error
    return JudgeBias(table, found, error, *ends, p, int(item.max()) + 1, n_left_out)


def _against_other_candidates(judges: list[str]) -> Floats:
    """Each delta minus the mean of the same judge's other deltas; NaN for a judge with one candidate."""
    names = np.array(judges)
    same = (names[:, None] == names).astype(np.float64)
    np.fill_diagonal(same, 0.0)
    among = same.sum(axis=1, keepdims=True)
    return np.asarray(np.where(among > 0, np.eye(len(names)) - same / np.maximum(among, 1), np.nan))


def _errors(influence: Floats) -> Floats:
    return np.asarray(np.sqrt((influence**2).sum(axis=0)))


def _interval(name: str, values: Floats, errors: Floats, reach: float) -> dict[str, Floats]:
    return {
        name: values,
        f"{name}_se": errors,
        f"{name}_lwr": values - reach * errors,
        f"{name}_upr": values + reach * errors,
    }


__all__ = ["JudgeBias", "judge_bias"]
