"""Do judges agree beyond chance? Cohen's kappa for two, Fleiss' for several, Krippendorff's alpha for anything.

Ratings are a table with one row per item and one column per judge; None is a rating that is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from overnight.analysis.ordered_labels import categories_of, coded, numeric
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints, check_draws, seeded
from overnight.rank.columns import readable, values_of
from overnight.rank.shares import quantile
from overnight.rank.verdicts import as_frame, require_columns, wrong_choice

WEIGHTS: Final = ("none", "linear", "quadratic")
# With fewer items, or fewer that the judges differed on, intervals are known to hold the truth too rarely.
_FEW_ITEMS: Final = 50
_FEW: Final = 5
SCALES: Final = ("nominal", "ordinal", "interval", "ratio")


@dataclass(frozen=True)
class Agreement:
    """A coefficient with its interval: one is perfect agreement, nought what chance would give, less is worse."""

    value: float
    se: float
    lwr: float
    upr: float
    observed: float
    expected: float
    n_items: int
    n_judges: int
    n_ratings: int
    # Why the interval may hold the truth less often than it says; nothing where all is well.
    problems: tuple[str, ...] = ()


@readable
def ratings_table(data: Any, item: str = "item_id", judge: str = "judge", label: str = "label") -> pl.DataFrame:
    """One row per item and one column per judge from one row per rating; a judge's last word on an item counts."""
    frame = as_frame(data)
    require_columns(frame, [item, judge, label])
    wide = frame.pivot(on=judge, index=item, values=label, aggregate_function="last", sort_columns=True)
    return wide.sort(item).drop(item)


@readable
def cohen_kappa(
    a: Any, b: Any, weights: str = "none", level: float = 0.95, order: Sequence[Any] | None = None
) -> Agreement:
    """Cohen's kappa of two judges; `weights` lets near misses count for ordered labels, from the least to the most.

    The order is `order`, or that of numbers or of an Enum's categories; for other texts it must be given. Items that
    either judge left out do not count. The error is Fleiss, Cohen and Everitt's, with Student's quantile.
    """
    if weights not in WEIGHTS:
        raise WrongArgument(wrong_choice("weights", weights, WEIGHTS))
    one, other = values_of(a, "a"), values_of(b, "b")
    if len(one) != len(other):
        raise WrongArgument(f"the judges rated {len(one)} and {len(other)} items; kappa needs as many of each")
    pairs = [(x, y) for x, y in zip(one, other, strict=True) if not _missing(x) and not _missing(y)]
    known = order or categories_of(a) or categories_of(b)
    codes, labels = coded([value for pair in pairs for value in pair], known, ordered=weights != "none")
    n, k = len(pairs), len(labels)
    if n == 0:
        return Agreement(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 0, 2, 0)
    joint = np.bincount(codes[0::2] * k + codes[1::2], minlength=k * k).reshape(k, k) / n
    credit = _credits(k, weights)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    observed, expected = float((credit * joint).sum()), float((credit * np.outer(rows, columns)).sum())
    if expected == 1:
        return Agreement(np.nan, np.nan, np.nan, np.nan, observed, expected, n, 2, 2 * n)
    value = (observed - expected) / (1 - expected)
    shared = (credit @ columns)[:, None] + (rows @ credit)[None, :]
    spread = float((joint * (credit - shared * (1 - value)) ** 2).sum()) - (value - expected * (1 - value)) ** 2
    error = float(np.sqrt(max(spread, 0.0) / n) / (1 - expected))
    found = Agreement(value, error, np.nan, np.nan, observed, expected, n, 2, 2 * n)
    return _with_interval(found, level, int(np.sum(codes[0::2] != codes[1::2])))


@readable
def fleiss_kappa(ratings: Any, level: float = 0.95) -> Agreement:
    """Fleiss' kappa of several judges; items need not have the same number of ratings, but at least two.

    The error is the jackknife's over items, which does not pretend that nobody agrees.
    """
    codes, labels = _matrix(ratings, None, ordered=False)
    counts = _counts(codes, len(labels))
    counts = counts[counts.sum(axis=1) >= 2]
    value, observed, expected = _fleiss(counts)
    n = len(counts)
    left_out = np.array([_fleiss(np.delete(counts, at, axis=0))[0] for at in range(n)]) if n > 2 else np.full(1, np.nan)
    error = float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())) if n > 2 else np.nan
    found = Agreement(value, error, np.nan, np.nan, observed, expected, n, codes.shape[1], int(counts.sum()))
    return _with_interval(found, level, _disagreed(counts))


@readable
def krippendorff_alpha(
    ratings: Any,
    scale: str = "nominal",
    level: float = 0.95,
    n_boot: int = 1000,
    seed: int = 0,
    order: Sequence[Any] | None = None,
) -> Agreement:
    """Krippendorff's alpha of any number of judges, with any ratings missing, on four scales.

    The interval is a percentile bootstrap over items, widened for few of them. Labels of an ordinal scale stand in the
    order of `order`, of numbers, or of an Enum's categories; for other texts it must be given.
    """
    if scale not in SCALES:
        raise WrongArgument(wrong_choice("scale", scale, SCALES))
    quantile(level)
    codes, labels = _matrix(ratings, order, ordered=scale == "ordinal")
    counts = _counts(codes, len(labels))
    counts = counts[counts.sum(axis=1) >= 2]
    n = len(counts)
    distance = _distances(labels, scale)
    value, observed, expected = _alpha(counts, distance, labels, n)
    if n_boot:
        check_draws("n_boot", n_boot)
    found = Agreement(value, np.nan, np.nan, np.nan, observed, expected, n, codes.shape[1], int(counts.sum()))
    if n == 0 or n_boot < 2:
        return found
    rng = seeded(seed)
    again = np.array([_alpha(counts[rng.integers(0, n, n)], distance, labels, n)[0] for _ in range(n_boot)])
    again = again[~np.isnan(again)]
    if len(again) < 2:
        return found
    # a bootstrap of few items is too narrow by the items it leaves out, and by the quantile
    wider = np.sqrt(n / (n - 1)) * quantile(level, n) / quantile(level) if n > 1 else np.nan
    ends = np.clip(value + wider * (np.quantile(again, [(1 - level) / 2, (1 + level) / 2]) - value), -1, 1)
    problems = _problems(n, _disagreed(counts))
    return replace(found, se=float(again.std(ddof=1)), lwr=float(ends[0]), upr=float(ends[1]), problems=problems)


def _with_interval(found: Agreement, level: float, disagreed: int) -> Agreement:
    """Student's, for so many items."""
    reach = quantile(level, found.n_items) * found.se
    low, high = max(-1.0, found.value - reach), min(1.0, found.value + reach)
    return replace(found, lwr=low, upr=high, problems=_problems(found.n_items, disagreed))


def _disagreed(counts: Floats) -> int:
    """On how many items the judges were not of one mind."""
    return int(np.sum(counts.max(axis=1) < counts.sum(axis=1))) if len(counts) else 0


def _problems(n: int, disagreed: int) -> tuple[str, ...]:
    """Where few items decide, no interval can be trusted: the next item might double what is known."""
    rarer = min(disagreed, n - disagreed)
    if n == 0 or (n >= _FEW_ITEMS and rarer >= _FEW):
        return ()
    kind = "agreed" if disagreed > n - disagreed else "differed"
    number = f"{n} items" if rarer >= _FEW else f"{n} items, and the judges {kind} on {rarer} of them"
    return (f"There are only {number}: the interval holds the truth less often than it says.",)


def _credits(k: int, weights: str) -> Floats:
    if weights == "none":
        return np.eye(k)
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / max(k - 1, 1)
    return np.asarray(1 - apart if weights == "linear" else 1 - apart**2)


def _fleiss(counts: Floats) -> tuple[float, float, float]:
    raters = counts.sum(axis=1)
    if not len(counts):
        return np.nan, np.nan, np.nan
    agreeing = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))
    observed = float(agreeing.mean())
    expected = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    return ((observed - expected) / (1 - expected) if expected < 1 else np.nan), observed, expected


def _alpha(
    counts: Floats, distance: Callable[[Floats], Floats], labels: Sequence[Any], n: int
) -> tuple[float, float, float]:
    """One minus observed over expected disagreement, from how often each label was given to each item."""
    if n == 0 or len(labels) == 0:
        return np.nan, np.nan, np.nan
    raters = counts.sum(axis=1)
    totals = counts.sum(axis=0)
    apart = distance(totals)
    within = ((counts @ apart) * counts).sum(axis=1) / (raters - 1)
    observed = float(within.sum() / raters.sum())
    expected = float(totals @ apart @ totals / (raters.sum() * (raters.sum() - 1)))
    return (1 - observed / expected if expected > 0 else np.nan), observed, expected


def _distances(labels: Sequence[Any], scale: str) -> Callable[[Floats], Floats]:
    """Squared distances between labels; an ordinal one depends on how often the labels between were given."""
    if scale == "nominal":
        return lambda totals: 1 - np.eye(len(totals))
    if scale == "ordinal":
        return _ordinal_distance
    values = numeric(labels, f"scale='{scale}'")
    apart = np.subtract.outer(values, values)
    if scale == "interval":
        return lambda _totals: np.asarray(apart**2)
    sums = np.add.outer(values, values)
    ratio = np.divide(apart, sums, out=np.zeros_like(apart), where=sums != 0)
    return lambda _totals: np.asarray(ratio**2)


def _ordinal_distance(totals: Floats) -> Floats:
    place = np.cumsum(totals) - totals / 2
    return np.asarray(np.subtract.outer(place, place) ** 2)


def _matrix(ratings: Any, order: Sequence[Any] | None, *, ordered: bool) -> tuple[Ints, list[Any]]:
    """Codes of the labels, items by judges, -1 where there is no rating; and the labels in order."""
    is_frame = isinstance(ratings, pl.DataFrame) or type(ratings).__module__.split(".")[0] == "pandas"
    if is_frame:
        # before it becomes a polars frame: that forgets the order of pandas' categories
        order = order or next(filter(None, (categories_of(ratings[name]) for name in ratings.columns)), None)
        ratings = as_frame(ratings)
    rows = ratings.rows() if is_frame else [tuple(_row(row)) for row in values_of(ratings, "ratings")]
    if len({len(row) for row in rows}) > 1:
        raise WrongArgument("every item needs one place for each judge; write None where a rating is missing")
    flat = [value for row in rows for value in row]
    present = [value for value in flat if not _missing(value)]
    codes, labels = coded(present, order, ordered=ordered)
    filled = np.full(len(flat), -1)
    filled[[at for at, value in enumerate(flat) if not _missing(value)]] = codes
    return filled.reshape(len(rows), -1 if rows else 0), labels


def _row(row: Any) -> list[Any]:
    return values_of(row.tolist() if hasattr(row, "tolist") else row, "ratings: a row")


def _counts(codes: Ints, k: int) -> Floats:
    """How many judges gave each label to each item."""
    table = np.zeros((len(codes), k))
    items, judges = np.nonzero(codes >= 0)
    np.add.at(table, (items, codes[items, judges]), 1)
    return table


def _missing(value: Any) -> bool:
    return value is None or bool(value != value)  # noqa: PLR0124  only NaN differs from itself


__all__ = ["Agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "ratings_table"]
