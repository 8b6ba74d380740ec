"""Whether chains of draws found the same: split R-hat and the effective number of draws, on ranks.

As in Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021): each chain is cut in two, draws are replaced by normal
scores of their ranks, and the autocorrelations are summed in pairs until they no longer fall (Geyer).
"""

from typing import Final

import numpy as np
from scipy.stats import norm, rankdata

from overnight.rank.arrays import Floats

_OFFSET: Final = 3 / 8


def _halves(draws: Floats) -> Floats:
    """By chain and draw: twice as many chains of half the length, as normal scores."""
    half = draws.shape[1] // 2
    cut = np.concatenate([draws[:, :half], draws[:, -half:]])
    ranks = rankdata(cut, method="average").reshape(cut.shape)
    return np.asarray(norm.ppf((ranks - _OFFSET) / (cut.size + 1 - 2 * _OFFSET)))


def split_rhat(draws: Floats) -> float:
    """1 where all halves of all chains are alike; NaN never: what does not move at all is 1."""
    scores = _halves(draws)
    length = scores.shape[1]
    within = scores.var(axis=1, ddof=1).mean()
    if within <= 0:
        return 1.0
    between = length * scores.mean(axis=1).var(ddof=1)
    return float(np.sqrt(((length - 1) / length * within + between / length) / within))


def effective_size(draws: Floats) -> float:
    """As many independent draws would tell as much."""
    scores = _halves(draws)
    chains, length = scores.shape
    centred = scores - scores.mean(axis=1, keepdims=True)
    powers = np.abs(np.fft.rfft(centred, n=2 * length, axis=1)) ** 2
    covariance = np.fft.irfft(powers, axis=1)[:, :length] / length
    within = covariance[:, 0].mean() * length / (length - 1)
    if within <= 0:
        return float(chains * length)
    overall = within * (length - 1) / length + scores.mean(axis=1).var(ddof=1)
    correlation = 1 - (within - covariance.mean(axis=0) * length / (length - 1)) / overall
    correlation[0] = 1.0
    pairs = correlation[: length - length % 2].reshape(-1, 2).sum(axis=1)
    last = np.argmax(pairs < 0) if (pairs < 0).any() else len(pairs)
    falling = np.minimum.accumulate(pairs[: max(int(last), 1)])
    lag = max(2 * float(falling.sum()) - 1, 1 / np.log10(chains * length))
    return float(chains * length / lag)


__all__ = ["effective_size", "split_rhat"]
