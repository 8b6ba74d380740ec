"""Errors that survive dependence: comparisons of one prompt, or by one judge, are not independent of each other.

The covariance is V B V, where V is the inverse information and B sums, over clusters, the outer product of the
cluster's whole score.
"""

from collections.abc import Iterable

import numpy as np
from scipy.sparse import coo_array, csr_array

from overnight.rank.arrays import Floats
from overnight.rank.laplacian import Covariance
from overnight.rank.newton import Model
from overnight.rank.tally import Cells


def clustered_covariance(
    model: Model, point: Floats, bread: Covariance, portions: Iterable[Cells]
) -> tuple[Covariance, int]:
    """The covariance and the number of clusters; no cluster may be in two portions."""
    full = bread.full()
    meat = np.zeros_like(full)
    n, n_clusters = model.n_items, 0
    for cells in portions:
        if not len(cells.first):
            continue
        by_cluster = _scores(model, point, cells)
        n_clusters += by_cluster.shape[0]
        squared = (by_cluster.T @ by_cluster).tocoo()
        meat[squared.row, squared.col] += squared.data
    spread = full @ meat @ full
    return Covariance(spread[:n, :n], spread[:n, n:], spread[n:, n:]), n_clusters


def _scores(model: Model, point: Floats, cells: Cells) -> csr_array:
    """One row per cluster, one column per parameter."""
    assert cells.cluster is not None
    evaluation = model.evaluate(point, cells)
    cluster = np.unique(cells.cluster, return_inverse=True)[1]
    n, width = model.n_items, model.n_features
    lead = evaluation.lead_score
    columns = [cells.first, cells.second, *(np.full(len(lead), n + at) for at in range(width))]
    values = [lead, -lead, *(lead * feature for feature in cells.features.T)]
    if model.outcomes.has_tie:
        columns.append(np.full(len(lead), n + width))
        values.append(evaluation.tie_score)
    rows = np.tile(cluster, len(columns))
    shape = (int(cluster.max()) + 1, n + width + model.outcomes.has_tie)
    return coo_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=shape).tocsr()


__all__ = ["clustered_covariance"]
