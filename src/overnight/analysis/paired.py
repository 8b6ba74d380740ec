"""Two models on the same items: what is common to an item cancels, so differences are measured item by item."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from overnight.analysis.samples import cluster_codes, mean_error, numbers
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats
from overnight.rank.columns import readable
from overnight.rank.distributions import chi_squared_tail, coin_chance, coin_test, normal_tail, student_tail
from overnight.rank.shares import quantile
from overnight.rank.verdicts import BadVerdicts, as_frame, numeric_column, require_columns


@dataclass(frozen=True)
class PairedDifference:
    """The mean of a minus b over the items that both have, with its error, interval and p-value."""

    n: int
    n_missing: int
    mean_a: float
    mean_b: float
    difference: float
    se: float
    difference_lwr: float
    difference_upr: float
    p: float
    correlation: float


@dataclass(frozen=True)
class McNemar:
    """Yes and no of two models on the same items; only the items on which they differ tell them apart.

    `p` is the exact sign test, `p_mid` its mid-p version (closer to its nominal level), `p_chi2` the test with
    continuity correction. The interval of the difference of the two rates is Bonett and Price's.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    p: float
    p_mid: float
    chi2: float
    p_chi2: float
    difference: float
    difference_lwr: float
    difference_upr: float


@readable
def paired_difference(a: Any, b: Any, cluster: Any = None, level: float = 0.95) -> PairedDifference:
    """Compare two columns of scores row by row; rows where either is missing are counted, and left out."""
    one, other = numbers(a, "a"), numbers(b, "b")
    if len(one) != len(other):
        raise WrongArgument(f"a has {len(one)} rows and b has {len(other)}; pairs need as many of each")
    present = ~(np.isnan(one) | np.isnan(other))
    codes = None
    if cluster is not None:
        labels = cluster_codes(cluster, len(one))[present]
        codes = np.unique(labels, return_inverse=True)[1]
    one, other = one[present], other[present]
    n = len(one)
    if n < 2:
        nothing = [np.nan] * 8
        return PairedDifference(n, int((~present).sum()), *nothing)
    apart = one - other
    units = n if codes is None else int(codes.max()) + 1
    error, reach = mean_error(apart, codes), quantile(level, units)
    found = float(apart.mean())
    return PairedDifference(
        n=n,
        n_missing=int((~present).sum()),
        mean_a=float(one.mean()),
        mean_b=float(other.mean()),
        difference=found,
        se=error,
        difference_lwr=found - reach * error,
        difference_upr=found + reach * error,
        p=_student_p(found, error, units),
        correlation=_correlation(one, other),
    )


@readable
def mcnemar(a: Any, b: Any, level: float = 0.95) -> McNemar:
    """McNemar's test on two columns of yes and no; rows where either is missing are left out."""
    one, other = numbers(a, "a"), numbers(b, "b")
    if len(one) != len(other):
        raise WrongArgument(f"a has {len(one)} rows and b has {len(other)}; pairs need as many of each")
    present = ~(np.isnan(one) | np.isnan(other))
    one, other = one[present], other[present]
    if not np.isin(np.concatenate([one, other]), (0.0, 1.0)).all():
        raise WrongArgument("a and b must be 0 or 1, true or false, or missing")
    both, only_a = int((one * other).sum()), int((one * (1 - other)).sum())
    only_b = int(((1 - one) * other).sum())
    return mcnemar_counts(both, only_a, only_b, len(one) - both - only_a - only_b, level)


@readable
def mcnemar_counts(both: int, only_a: int, only_b: int, neither: int, level: float = 0.95) -> McNemar:
    """The same from the four counts."""
    if min(both, only_a, only_b, neither) < 0:
        raise WrongArgument(f"counts cannot be less than nought; found {min(both, only_a, only_b, neither)}")
    n, differ = both + only_a + only_b + neither, only_a + only_b
    p = coin_test(only_a, differ) if differ else 1.0
    p_mid = p - coin_chance(only_a, differ) if differ and only_a != only_b else p
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / differ if differ else 0.0
    if n == 0:
        low, high = -1.0, 1.0
    else:
        # one imagined item in each of the two cells that differ keeps the interval honest in small samples
        up, down = (only_a + 1) / (n + 2), (only_b + 1) / (n + 2)
        reach = quantile(level) * float(np.sqrt((up + down - (up - down) ** 2) / (n + 2)))
        low, high = max(-1.0, up - down - reach), min(1.0, up - down + reach)
    return McNemar(
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=neither,
        p=p,
        p_mid=p_mid,
        chi2=statistic,
        p_chi2=chi_squared_tail(statistic, 1),
        difference=(only_a - only_b) / n if n else np.nan,
        difference_lwr=low,
        difference_upr=high,
    )


@readable
def compare_models(
    data: Any,
    score: str,
    model: str = "model",
    item: str = "item_id",
    cluster: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Every two models over the items they share; several scores of one model on one item are averaged first.

    Columns: `model_a, model_b, n, n_missing, mean_a, mean_b, difference, se, difference_lwr, difference_upr, p,
    p_holm, correlation`; `n_missing` counts items that only one of the two has, and `p_holm` allows for the number
    of comparisons made.
    """
    frame = as_frame(data)
    keys = [item] if cluster is None or cluster == item else [item, cluster]
    require_columns(frame, [*keys, model])
    scores = frame.with_columns(numeric_column(frame, score).fill_nan(None).alias("score")).drop_nulls("score")
    wide = scores.group_by([*keys, model], maintain_order=True).agg(pl.col("score").mean())
    wide = wide.pivot(on=model, index=keys, values="score").sort(keys)
    if wide.height != wide.get_column(item).n_unique():
        raise BadVerdicts(f"column {cluster!r} has more than one value for some items of {item!r}")
    models = sorted(name for name in wide.columns if name not in keys)
    rows: list[dict[str, Any]] = []
    for one, other in combinations(models, 2):
        either = wide.filter(pl.col(one).is_not_null() | pl.col(other).is_not_null())
        labels = None if cluster is None else either.get_column(cluster)
        found = paired_difference(either.get_column(one), either.get_column(other), labels, level)
        fields = {name: getattr(found, name) for name in PairedDifference.__dataclass_fields__}
        rows.append({"model_a": one, "model_b": other} | fields)
    table = pl.DataFrame(rows, infer_schema_length=None)
    if table.is_empty():
        return table
    adjusted = pl.Series("p_holm", holm(table.get_column("p").to_numpy()))
    return table.insert_column(table.columns.index("p") + 1, adjusted)


@readable
def holm(p: Any) -> Floats:
    """Holm's p-values for several tests at once; missing ones stay missing, and do not count."""
    p = numbers(p, "p")
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def _student_p(difference: float, error: float, units: int) -> float:
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    size = abs(difference) / error
    return float(2 * (student_tail(size, units - 1) if units > 1 else normal_tail(size)))


def _correlation(one: Floats, other: Floats) -> float:
    if one.std() == 0 or other.std() == 0:
        return np.nan
    return float(np.corrcoef(one, other)[0, 1])


__all__ = ["McNemar", "PairedDifference", "compare_models", "holm", "mcnemar", "mcnemar_counts", "paired_difference"]
