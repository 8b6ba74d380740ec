"""A share and its interval from counts alone: what a page about a run that went well needs, without numpy."""

from dataclasses import dataclass
from math import nan, sqrt

from overnight.core.errors import WrongArgument
from overnight.rank.distributions import beta_quantile, normal_quantile, share_of_all, share_of_none, student_quantile

# Where an outcome was seen fewer times than this, Wilson's interval holds the truth too rarely.
FEW = 5


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


def counted_rate(yes: float, n: int, n_missing: int = 0, level: float = 0.95) -> Rate:
    """Of so many independent rows, so many of which are so."""
    if n == 0:
        return Rate(0, n_missing, nan, nan, 0.0, 1.0)
    share = yes / n
    few = min(yes, n - yes) < FEW
    low, high = exact_interval(yes, n, level) if few else wilson(share, n, quantile(level))
    return Rate(n, n_missing, share, sqrt(share * (1 - share) / n), low, high)


def quantile(level: float, n_clusters: int | None = None) -> float:
    """How many standard errors an interval reaches; Student's with few clusters."""
    if not 0 < level < 1:
        raise WrongArgument(f"level must lie between 0 and 1; found {level!r}")
    if n_clusters is None:
        return float(normal_quantile((1 + level) / 2))
    return float(student_quantile((1 + level) / 2, n_clusters - 1)) if n_clusters > 1 else nan


def exact_interval(yes: float, n: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's."""
    quantile(level)
    tail = (1 - level) / 2
    if yes == n:
        return share_of_all(tail, n), 1.0
    if yes == 0:
        return 0.0, share_of_none(tail, n)
    return float(beta_quantile(tail, yes, n - yes + 1)), float(beta_quantile(1 - tail, yes + 1, n - yes))


def wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # at the ends the interval ends there too; rounding must not leave it a hair short
    low = 0.0 if share == 0 else max(0.0, centre - reach)
    high = 1.0 if share == 1 else min(1.0, centre + reach)
    return low, high
