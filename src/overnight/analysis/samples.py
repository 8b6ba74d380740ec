"""Columns of numbers as the statistics here want them, and the errors of their means.

Rows of one cluster (a prompt, a conversation, a judge) may depend on each other: their residuals are added before
they are squared.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm, t

from overnight.rank.arrays import Floats, Ints, summed


def numbers(values: Any, name: str = "values") -> Floats:
    """Floats with NaN for what is missing; booleans count as one and zero."""
    column = values if isinstance(values, pl.Series) else pl.Series(name, _plain(values), strict=False)
    try:
        return column.cast(pl.Float64).to_numpy().astype(np.float64, copy=True)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name} must hold numbers or true and false: {error}") from error


def cluster_codes(cluster: Any, n: int) -> Ints:
    """Whole numbers from zero up, one for each distinct label."""
    labels = cluster if isinstance(cluster, pl.Series) else pl.Series("cluster", _plain(cluster), strict=False)
    if len(labels) != n:
        raise ValueError(f"cluster has {len(labels)} labels for {n} rows")
    if labels.null_count():
        raise ValueError(f"cluster has {labels.null_count()} rows without a label")
    return labels.rank("dense").to_numpy().astype(np.int64) - 1


def mean_error(values: Floats, cluster: Ints | None = None) -> float:
    """The standard error of a mean of complete values; clusters make it Miller's clustered one."""
    n = len(values)
    if n < 2:
        return np.nan
    residuals = values - values.mean()
    if cluster is None:
        return float(np.sqrt(residuals @ residuals / (n - 1) / n))
    sums = summed(cluster, residuals, int(cluster.max()) + 1)
    return float(np.sqrt(sums @ sums) / n)


def quantile(level: float, n_clusters: int | None = None) -> float:
    """How many standard errors an interval reaches; Student's with few clusters."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; found {level!r}")
    if n_clusters is None:
        return float(norm.ppf((1 + level) / 2))
    return float(t.ppf((1 + level) / 2, n_clusters - 1)) if n_clusters > 1 else np.nan


def _plain(values: Any) -> Sequence[Any]:
    """pandas columns and numpy arrays as lists that polars reads; other sequences as they are."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


__all__ = ["cluster_codes", "mean_error", "numbers", "quantile"]
