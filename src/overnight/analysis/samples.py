"""Columns of numbers as the statistics here want them, and the errors of their means.

Rows of one cluster (a prompt, a conversation, a judge) may depend on each other: their residuals are added before
they are squared.
"""

from typing import Any

import numpy as np
import polars as pl

from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints, summed
from overnight.rank.columns import UNREADABLE, column_of


def numbers(values: Any, name: str = "values") -> Floats:
    """Floats with NaN for what is missing; booleans count as one and zero."""
    column = column_of(values, name)
    try:
        return column.cast(pl.Float64).to_numpy().astype(np.float64, copy=True)
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0]
        raise WrongArgument(f"{name} must hold numbers or true and false: {reason}") from error


def cluster_codes(cluster: Any, n: int) -> Ints:
    """Whole numbers from zero up, one for each distinct label."""
    labels = column_of(cluster, "cluster")
    if len(labels) != n:
        raise WrongArgument(f"cluster has {len(labels)} labels for {n} rows")
    if labels.null_count():
        raise WrongArgument(f"cluster has {labels.null_count()} rows without a label")
    labels = labels.to_physical() if isinstance(labels.dtype, pl.Enum) else labels
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


__all__ = ["cluster_codes", "mean_error", "numbers"]
