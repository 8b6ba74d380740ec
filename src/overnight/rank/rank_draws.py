"""Ranks as probabilities: how often each item has each rank, and how sure the best few are, by draws from a fit.

The draws are normal around the abilities with the fit's own covariance, from a fixed seed: the same fit gives the
same numbers. With a prior that is learnt (`penalty="eb"`) they are draws from its posterior, which holds however the
pairs were chosen; by likelihood alone they are only as good as the errors are.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from overnight.core.arguments import checked
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints, check_draws, seeded
from overnight.rank.fit import BradleyTerryFit

_DRAWS: Final = 4_000
_AT_A_TIME: Final = 500
_JITTER: Final = 1e-10


@dataclass(frozen=True)
class RankProbabilities:
    """`table` has a row for each item, best first; `top_set`: how probable it is that the first `top` are the best."""

    table: pl.DataFrame
    top: int
    top_set: float


@checked
def rank_probabilities(
    fit: BradleyTerryFit, *, top: int = 1, draws: int = _DRAWS, seed: int = 0
) -> RankProbabilities | None:
    """`ID, theta, rank_mean, rank_median, rank_p2.5, rank_p97.5, p_best, p_top`; None where errors are not known."""
    if not 1 <= top <= len(fit.items):
        raise WrongArgument(f"top must be between 1 and {len(fit.items)}, the number of items; found {top!r}")
    check_draws("draws", draws)
    covariance = fit.covariance()
    if not (np.isfinite(fit.theta).all() and np.isfinite(covariance).all()):
        return None
    ranks = np.concatenate(list(_drawn(fit.theta, covariance, draws, seed)))
    return summarize_ranks(fit.items, fit.theta, ranks, top)


def _drawn(theta: Floats, covariance: Floats, draws: int, seed: int) -> Any:
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, _JITTER * max(values[-1], 0.0)))
    rng = seeded(seed)
    for begin in range(0, draws, _AT_A_TIME):
        noise = rng.standard_normal((min(_AT_A_TIME, draws - begin), len(theta)))
        yield ranks_of(theta + noise @ root.T)


def ranks_of(abilities: Floats) -> Ints:
    """The rank of each item in each draw, from 1 for the best."""
    order = np.argsort(-abilities, axis=1, kind="stable")
    ranks = np.empty(abilities.shape, dtype=np.int32)
    np.put_along_axis(ranks, order, np.arange(1, abilities.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
    return ranks.astype(np.intp)


def summarize_ranks(items: list[Any], theta: Floats, ranks: Ints, top: int) -> RankProbabilities:
    """Of ranks by draw and item."""
    low, middle, high = np.quantile(ranks, [0.025, 0.5, 0.975], axis=0)
    first = np.argsort(-theta, kind="stable")[:top]
    table = pl.DataFrame(
        {
            "ID": items,
            "theta": theta,
            "rank_mean": ranks.mean(axis=0),
            "rank_median": middle,
            "rank_p2.5": low,
            "rank_p97.5": high,
            "p_best": (ranks == 1).mean(axis=0),
            "p_top": (ranks <= top).mean(axis=0),
        }
    ).sort("theta", descending=True, maintain_order=True)
    return RankProbabilities(table, top, float((ranks[:, first] <= top).all(axis=1).mean()))


__all__ = ["RankProbabilities", "rank_probabilities", "ranks_of", "summarize_ranks"]
