"""How often, with an interval that stays between zero and one, and holds the truth as often as it says.

Wilson's where both outcomes were seen often enough, Clopper and Pearson's where one was seen fewer than five times,
and Wilson's for the number of independent rows where rows are clustered. Where all rows of all clusters are alike,
Clopper and Pearson's for the number of clusters.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from overnight.analysis.samples import cluster_codes, mean_error, numbers
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints
from overnight.rank.columns import readable
from overnight.rank.shares import FEW, Rate, counted_rate, exact_interval, quantile, wilson
from overnight.rank.verdicts import as_frame, require_columns


@readable
def wilson_interval(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a share; with no rows there is nothing to say but (0, 1)."""
    if n <= 0:
        return 0.0, 1.0
    return wilson(successes / n, n, quantile(level))


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
    if cluster is None:
        return counted_rate(float(values.sum()), len(values), n_missing, level)
    if not len(values):
        return Rate(0, n_missing, np.nan, np.nan, 0.0, 1.0, 0)
    return _clustered(values, np.unique(cluster, return_inverse=True)[1], n_missing, level)


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
        low, high = exact_interval(share * n_clusters, n_clusters, level)
        return Rate(n, n_missing, share, error, low, high, n_clusters, n / n_clusters)
    effect = error**2 / independent
    holding = min(len(np.unique(codes[values == outcome])) for outcome in (0, 1))
    known = min(holding, n_clusters - 1)
    low, high = wilson(share, n / max(effect * n_clusters / (n_clusters - 1), 1.0), quantile(level, known + 1))
    problem = None
    if holding < FEW:
        problem = f"The rarer outcome is in {holding} of {n_clusters} clusters: the interval is wide for it."
    return Rate(n, n_missing, share, error, low, high, n_clusters, effect, problem)


__all__ = ["Rate", "rate", "rate_table", "wilson_interval"]
