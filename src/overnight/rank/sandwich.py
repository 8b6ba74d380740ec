"""Errors that survive dependence: comparisons of one prompt, or by one judge, are not independent of each other.

The covariance is V B V, where V is the inverse information and B sums, over clusters, the outer product of the
cluster's whole score.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from scipy.sparse import coo_array, csr_array

from overnight.rank.arrays import Floats
from overnight.rank.laplacian import Covariance
from overnight.rank.newton import Model
from overnight.rank.tally import Cells, Rows

_MOST_THREADS: Final = 4  # each holds a portion and its product


def clustered_covariance(
    model: Model, point: Floats, bread: Covariance, portions: Iterable[Rows], cells_of: Callable[[Rows], Cells]
) -> tuple[Covariance, int]:
    """The covariance and the number of clusters; no cluster may be in two portions."""
    full = bread.full()
    meat = np.zeros_like(full)
    n, n_clusters = model.n_items, 0

    def squared_scores(portion: Rows) -> tuple[csr_array, int]:
        by_cluster = cluster_scores(model, point, cells_of(portion))
        return by_cluster.T @ by_cluster, by_cluster.shape[0]

    # products of sparse matrices let other threads go on, and are added in the order of the portions
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as threads:
        for squared, clusters in threads.map(squared_scores, portions):
            rows = np.repeat(np.arange(len(meat)), np.diff(squared.indptr))
            meat[rows, squared.indices] += squared.data
            n_clusters += clusters
    spread = full @ meat @ full
    return Covariance(spread[:n, :n], spread[:n, n:], spread[n:, n:]), n_clusters


def cluster_scores(model: Model, point: Floats, cells: Cells) -> csr_array:
    """One row per cluster, one column per parameter; the cells stand cluster by cluster."""
    assert cells.cluster is not None
    evaluation = model.evaluate(point, cells)
    cluster = np.cumsum(np.diff(cells.cluster, prepend=cells.cluster[:1]) != 0)
    n, width = model.n_items, model.n_features
    lead = evaluation.lead_score
    columns = [cells.first, cells.second, *(np.full(len(lead), n + at) for at in range(width))]
    values = [lead, -lead, *(lead * feature for feature in cells.features.T)]
    if model.outcomes.has_tie:
        columns.append(np.full(len(lead), n + width))
        values.append(evaluation.tie_score)
    rows = np.tile(cluster, len(columns))
    shape = (int(cluster[-1]) + 1 if len(cluster) else 0, n + width + model.outcomes.has_tie)
    return coo_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=shape).tocsr()


__all__ = ["cluster_scores", "clustered_covariance"]
