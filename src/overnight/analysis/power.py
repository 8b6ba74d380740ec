"""How many are enough? The answers are for plans: they assume what a pilot or a guess says about spread and ties."""

from typing import Any, Final

import numpy as np
from scipy.optimize import brentq

from overnight.analysis.rates import wilson_interval
from overnight.core.arguments import checked
from overnight.core.errors import WrongArgument
from overnight.rank.distributions import normal_quantile
from overnight.rank.outcomes import Davidson
from overnight.rank.shares import quantile

_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(81)
_MOST_PAIRS: Final = 10_000_000


@checked
def design_effect(cluster_size: float, icc: float) -> float:
    """By how much clusters inflate a variance: their size and how alike rows of one cluster are (0 to 1)."""
    return 1 + (cluster_size - 1) * icc


@checked
def pairs_for_interval(
    half_width: float,
    n_items: int,
    spread: float = 1.0,
    tie_share: float = 0.0,
    design_effect: float = 1.0,
    level: float = 0.95,
) -> int:
    """Comparisons for which the difference of two items is known to within `half_width` (in log-odds).

    Pairs are taken to be drawn at random from `n_items` items whose abilities have the standard deviation `spread`
    (about 1 for a noisy judge, 3 for a decisive one); `tie_share` is the share of ties between equals.
    """
    if n_items < 2:
        raise WrongArgument(f"comparing needs two items or more; found {n_items!r}")
    _positive(half_width=half_width, design_effect=design_effect)
    needed = (quantile(level) / half_width) ** 2 * (n_items - 1) / _told_by_one(spread, tie_share) * design_effect
    return int(np.ceil(needed))


@checked
def interval_for_pairs(
    n_pairs: int,
    n_items: int,
    spread: float = 1.0,
    tie_share: float = 0.0,
    design_effect: float = 1.0,
    level: float = 0.95,
) -> float:
    """The half-width of the interval of a difference that so many comparisons give: `pairs_for_interval` backwards."""
    if n_items < 2:
        raise WrongArgument(f"comparing needs two items or more; found {n_items!r}")
    _positive(n_pairs=n_pairs, design_effect=design_effect)
    told = n_pairs * _told_by_one(spread, tie_share) / design_effect
    return float(quantile(level) * np.sqrt((n_items - 1) / told))


@checked
def rows_for_rate(half_width: float, rate: float = 0.5, design_effect: float = 1.0, level: float = 0.95) -> int:
    """Rows for which Wilson's interval of a rate is no wider than `half_width` to either side, on average."""
    _positive(half_width=half_width, design_effect=design_effect)
    if not 0 <= rate <= 1:
        raise WrongArgument(f"rate must lie between 0 and 1; found {rate!r}")

    def too_wide(n: float) -> float:
        low, high = wilson_interval(rate * n, n, level)
        return (high - low) / 2 - half_width

    if too_wide(1.0) <= 0:
        return 1
    return int(np.ceil(brentq(too_wide, 1.0, 1e12, rtol=1e-12) * design_effect))


@checked
def items_for_difference(
    difference: float,
    between: float,
    within_a: float = 0.0,
    within_b: float = 0.0,
    samples_a: int = 1,
    samples_b: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Items for which a difference in mean score between two models is found, both answering every item (Miller).

    `between` is the variance, over items, of the difference of the two expected scores; `within_a` and `within_b` are
    the mean variances of repeated answers to one item, of which `samples_a` and `samples_b` are averaged.
    """
    _positive(difference=abs(difference), samples_a=samples_a, samples_b=samples_b)
    _between(alpha=alpha, power=power)
    for name, value in (("between", between), ("within_a", within_a), ("within_b", within_b)):
        if value < 0:
            raise WrongArgument(f"{name} is a variance, which cannot be less than nought; found {value!r}")
    reach = normal_quantile(1 - alpha / 2) + normal_quantile(power)
    variance = between + within_a / samples_a + within_b / samples_b
    return int(np.ceil(reach**2 * variance / difference**2))


@checked
def pairs_to_detect(win_rate: float, tie_share: float = 0.0, alpha: float = 0.05, power: float = 0.8) -> int:
    """Comparisons of two candidates for which an exact sign test finds a win rate (among decided ones) other than half.

    The smallest number from which on the power does not fall below the one asked for.
    """
    if not 0 <= win_rate <= 1 or win_rate == 0.5:
        raise WrongArgument(f"win_rate must lie between 0 and 1 and differ from one half; found {win_rate!r}")
    if not 0 <= tie_share < 1:
        raise WrongArgument(f"tie_share must be at least 0 and less than 1; found {tie_share!r}")
    _between(alpha=alpha, power=power)
    # power of the exact test goes up in a saw-tooth: look back from a number that is surely enough
    guess = _normal_guess(win_rate, alpha, power)
    if guess > _MOST_PAIRS:
        return int(np.ceil(guess / (1 - tie_share)))
    sizes = np.arange(1, int(guess * 1.5) + 60)
    enough = _sign_test_power(sizes, win_rate, alpha) >= power
    short = np.flatnonzero(~enough)
    decided = int(sizes[short[-1]]) + 1 if len(short) else 1
    return int(np.ceil(decided / (1 - tie_share)))


def _told_by_one(spread: float, tie_share: float) -> float:
    """The mean information of one comparison about the difference of its two items."""
    if not 0 <= tie_share < 1:
        raise WrongArgument(f"tie_share must be at least 0 and less than 1; found {tie_share!r}")
    lead = np.sqrt(2.0) * spread * _NODES
    tie = Davidson().start(tie_share) if tie_share else -np.inf
    zeros = np.zeros_like(lead)
    curvature = Davidson().evaluate(lead, max(tie, -700.0), zeros, zeros, zeros + 1.0).curvature.lead
    return float(_NODE_WEIGHTS @ curvature / _NODE_WEIGHTS.sum())


def _normal_guess(win_rate: float, alpha: float, power: float) -> float:
    reach = normal_quantile(1 - alpha / 2) / 2 + normal_quantile(power) * np.sqrt(win_rate * (1 - win_rate))
    return float((reach / (win_rate - 0.5)) ** 2)


def _sign_test_power(sizes: Any, win_rate: float, alpha: float) -> Any:
    # It takes a third of a second and 40 MB, which nobody else needs who looks at verdicts.
    from scipy.stats import binom  # noqa: PLC0415

    rejected_up_to = binom.ppf(alpha / 2, sizes, 0.5)
    rejected_up_to = np.where(binom.cdf(rejected_up_to, sizes, 0.5) > alpha / 2, rejected_up_to - 1, rejected_up_to)
    return binom.cdf(rejected_up_to, sizes, win_rate) + binom.sf(sizes - rejected_up_to - 1, sizes, win_rate)


def _positive(**settings: float) -> None:
    for name, value in settings.items():
        if not value > 0:
            raise WrongArgument(f"{name} must be more than nought; found {value!r}")


def _between(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 < value < 1:
            raise WrongArgument(f"{name} must lie between 0 and 1; found {value!r}")


__all__ = [
    "design_effect",
    "interval_for_pairs",
    "items_for_difference",
    "pairs_for_interval",
    "pairs_to_detect",
    "rows_for_rate",
]
