"""How often, with an interval that stays between zero and one, and holds the truth as often as it says.

Wilson's where both outcomes were seen often enough, Clopper and Pearson's where one was seen fewer than five times,
and Wilson's for the number of independent rows where rows are clustered. Where all rows of all clusters are alike,
Clopper and Pearson's for the number of clusters.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from overnight.analysis.samples import cluster_codes, mean_error, numbers, quantile
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints
from overnight.rank.columns import readable
from overnight.rank.distributions import beta_quantile, share_of_all, share_of_none
from overnight.rank.verdicts import as_frame, require_columns

# Where an outcome was seen fewer times than this, Wilson's interval holds the truth too rarely.
_FEW = 5


@dataclass(frozen=True)
class Rate:
    """A share of yeses among the rows with an answer; `design_effect` is what clustering costs in rows."""

    n: int
    n_missing: int
    rate: float
    se: float
    rate_lwr: float
    rate_upr: float
    n_clusters: int | None = None
    design_effect: float | None = None
    # What the user should know of it; nothing where all is well.
    problem: str | None = None


@readable
def wilson_interval(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a share; with no rows there is nothing to say but (0, 1)."""
    if n <= 0:
        return 0.0, 1.0
    return _wilson(successes / n, n, quantile(level))


@readable
def rate(outcomes: Any, cluster: Any = None, level: float = 0.95) -> Rate:
    """The share of ones (or trues) among outcomes; missing ones are counted, and left out.

    With `cluster` (one label per outcome) the error is clustered, and Wilson's interval is drawn for the number of
    independent rows that such an error is worth. How well that error is known goes by the clusters that hold the rarer
    outcome: with few of them, Student's quantile makes the interval wide. One cluster alone tells of no error at all.
    """
    values = numbers(outcomes, "outcomes")
    present = ~np.isnan(values)
    if not np.isin(values[present], (0.0, 1.0)).all():
        raise WrongArgument("outcomes must be 0 or 1, true or false, or missing")
    codes = None if cluster is None else cluster_codes(cluster, len(values))[present]
    return _rate(values[present], codes, int((~present).sum()), level)


@readable
def rate_table(
    data: Any, outcome: str, by: str | Sequence[str] = (), cluster: str | None = None, level: float = 0.95
) -> pl.DataFrame:
    """One row for each group of `by`: `n, n_missing, rate, se, rate_lwr, rate_upr` (and clusters, if given)."""
    frame = as_frame(data)
    keys = [by] if isinstance(by, str) else list(by)
    require_columns(frame, [*keys, outcome, *([cluster] if cluster else [])])
    groups = [((), frame)] if not keys else frame.group_by(keys, maintain_order=True)
    rows = []
    for key, group in groups:
        found = rate(group.get_column(outcome), group.get_column(cluster) if cluster else None, level)
        rows.append(dict(zip(keys, key, strict=True)) | asdict(found))
    table = pl.DataFrame(rows, infer_schema_length=None)
    table = table if cluster else table.drop("n_clusters", "design_effect")
    table = table if table["problem"].count() else table.drop("problem")
    return table.sort(keys) if keys else table


def _rate(values: Floats, cluster: Ints | None, n_missing: int, level: float) -> Rate:
    n, yes = len(values), float(values.sum())
    if n == 0:
        return Rate(0, n_missing, np.nan, np.nan, 0.0, 1.0, None if cluster is None else 0)
    if cluster is not None:
        return _clustered(values, np.unique(cluster, return_inverse=True)[1], n_missing, level)
    share = yes / n
    few = min(yes, n - yes) < _FEW
    low, high = _exact(yes, n, level) if few else _wilson(share, n, quantile(level))
    return Rate(n, n_missing, share, float(np.sqrt(share * (1 - share) / n)), low, high)


def _clustered(values: Floats, codes: Ints, n_missing: int, level: float) -> Rate:
    n, share, n_clusters = len(values), float(values.mean()), int(codes.max()) + 1
    if n_clusters == 1:
        alone = "All rows are of one cluster: how far another cluster would differ cannot be known."
        return Rate(n, n_missing, share, np.nan, 0.0, 1.0, 1, None, alone)
    error = mean_error(values, codes)
    independent = share * (1 - share) / n
    if not independent:
        # a share of nought or one has no error to go by: each cluster then counts as one row, in which the limit is
        # exact, since a row is no likelier to differ than any of its cluster
        low, high = _exact(share * n_clusters, n_clusters, level)
        return Rate(n, n_missing, share, error, low, high, n_clusters, n / n_clusters)
    effect = error**2 / independent
    holding = min(len(np.unique(codes[values == outcome])) for outcome in (0, 1))
    known = min(holding, n_clusters - 1)
    low, high = _wilson(share, n / max(effect * n_clusters / (n_clusters - 1), 1.0), quantile(level, known + 1))
    problem = None
    if holding < _FEW:
        problem = f"The rarer outcome is in {holding} of {n_clusters} clusters: the interval is wide for it."
    return Rate(n, n_missing, share, error, low, high, n_clusters, effect, problem)


def _exact(yes: float, n: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's."""
    quantile(level)
    tail = (1 - level) / 2
    if yes == n:
        return share_of_all(tail, n), 1.0
    if yes == 0:
        return 0.0, share_of_none(tail, n)
    return float(beta_quantile(tail, yes, n - yes + 1)), float(beta_quantile(1 - tail, yes + 1, n - yes))


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * float(np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)))
    # at the ends the interval ends there too; rounding must not leave it a hair short
    low = 0.0 if share == 0 else max(0.0, centre - reach)
    high = 1.0 if share == 1 else min(1.0, centre + reach)
    return low, high


__all__ = ["Rate", "rate", "rate_table", "wilson_interval"]
