"""Votes on one pair depend on each other: both orders, replicates and several judges ask about the same two things.

Two ways to allow for that. Where abilities are fitted by likelihood, the estimates stay and the errors are a sandwich
over unordered pairs, each pair's score divided by the root of what its own votes leave of it (Bell and McCaffrey's
correction; every pair moves the fit towards itself, so that plain residuals are too small). Where the prior is learnt
from the comparisons, each vote counts as so much of an independent one: else the prior would learn from the same
evidence again and again.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from overnight.rank.arrays import Floats, Ints, summed
from overnight.rank.laplacian import Covariance
from overnight.rank.newton import Model
from overnight.rank.sandwich import cluster_scores
from overnight.rank.tally import Cells

# A pair that decides an item's ability alone has no residual; its share is held below all.
_MOST_LEVERAGE: Final = 0.95
# From so many degrees of freedom on, Student's quantiles are the normal ones.
_MANY_PAIRS: Final = 200
# So many pairs tell how much the votes on one have in common.
FEW_PAIRS: Final = 30


@dataclass(frozen=True)
class PairVotes:
    """By unordered pair: its items, what its votes say against the fit, and how much they tell at all."""

    low: Ints
    high: Ints
    scores: csr_array
    told: Floats
    leverage: Floats
    # All votes together.
    total: float

    @property
    def dispersion(self) -> float:
        """How many votes on a pair are worth one that is independent of the others; never less than one."""
        expected = float((self.told * (1 - self.leverage)).sum())
        against = np.asarray(self.scores[np.arange(len(self.low)), self.low]).ravel()
        return max(1.0, float(against @ against) / expected) if expected > 0 else 1.0

    @property
    def worth(self) -> float:
        """How much of an independent vote each one is. A few pairs cannot tell: then each pair counts as one vote."""
        if len(self.low) >= FEW_PAIRS:
            return 1 / self.dispersion
        return min(1 / self.dispersion, len(self.low) / self.total)


def has_one_vote_each(cells: Cells) -> bool:
    """No pair was asked about twice, so that there is nothing to depend on."""
    return bool((_votes(cells) <= 1).all())


def worth_of_one_each(cells: Cells) -> float:
    """How much each vote is worth when all votes on a pair together count as one."""
    votes = _votes(cells)
    return min(1.0, len(votes) / float(votes.sum()))


def _votes(cells: Cells) -> Floats:
    """By unordered pair."""
    n = int(max(cells.first.max(), cells.second.max())) + 1
    pairs, which = np.unique(_pairs(cells, n), return_inverse=True)
    return summed(which, cells.total, len(pairs))


def read_pair_votes(model: Model, point: Floats, bread: Covariance) -> PairVotes:
    cells, n = model.cells, model.n_items
    order = np.argsort(_pairs(cells, n), kind="stable")
    ordered = cells.picked(order)
    pair = _pairs(ordered, n)
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    scores = cluster_scores(model, point, ordered.clustered_by(pair))
    told = np.add.reduceat(model.evaluate(point, ordered).curvature.lead, starts)
    low, high = pair[starts] // n, pair[starts] % n
    spread = bread.abilities
    variance = spread[low, low] + spread[high, high] - 2 * spread[low, high]
    return PairVotes(low, high, scores, told, np.clip(told * variance, 0.0, _MOST_LEVERAGE), float(cells.total.sum()))


def covariance_by_pair(votes: PairVotes, bread: Covariance) -> Covariance:
    n = len(bread.abilities)
    full = bread.full()
    factor = 1 / np.sqrt(1 - votes.leverage)
    scores = votes.scores.multiply(factor[:, None]).tocsr()
    spread = full @ (scores.T @ scores).toarray() @ full
    return Covariance(spread[:n, :n], spread[:n, n:], spread[n:, n:])


def degrees_of_freedom(votes: PairVotes, bread: Covariance) -> Floats:
    """For each item, how many equally telling pairs its error rests on (Satterthwaite's).

    Those of others tell something of it too; where its own are many, they are enough.
    """
    spread, n = bread.abilities, len(bread.abilities)

    def by_item(values: Floats) -> Floats:
        return summed(votes.low, values, n) + summed(votes.high, values, n)

    found = _equally_telling(by_item(votes.told), by_item(votes.told**2))
    for item in np.flatnonzero(found < _MANY_PAIRS):
        share = (spread[item, votes.low] - spread[item, votes.high]) ** 2 * votes.told
        found[item] = _equally_telling(share.sum(keepdims=True), (share**2).sum(keepdims=True))[0]
    return found


def _equally_telling(total: Floats, squared: Floats) -> Floats:
    ratio: Floats = np.divide(total**2, squared, out=np.ones_like(total), where=squared > 0)
    return np.maximum(ratio, 1.0)


def _pairs(cells: Cells, n_items: int) -> Ints:
    low, high = np.minimum(cells.first, cells.second), np.maximum(cells.first, cells.second)
    return low.astype(np.int64) * n_items + high


__all__ = [
    "FEW_PAIRS",
    "PairVotes",
    "covariance_by_pair",
    "degrees_of_freedom",
    "has_one_vote_each",
    "read_pair_votes",
    "worth_of_one_each",
]
