"""Differences of two on the same items, for a run's report: with intervals that hold for all of them at once.

A handful of items is not taken for more than it is: while so few differ that as many tosses of a coin could
have done the same, no difference is told, however alike they all are.
"""

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from typing import Any, NamedTuple

import polars as pl

from overnight.core.wording import number_of
from overnight.reporting import Figure, Interval, Intervals, Table
from overnight.reporting.wording import listed, number_text, span_text

# With more there would be too many pairs of them for anybody to read.
MOST_COMPARED = 8
_CHANCE = 0.05


class Difference(NamedTuple):
    """One less another on the same items; its interval holds for all such differences at once."""

    one: str
    other: str
    items: int
    value: float
    # None where they are not known: too few items differ, or all by the same.
    low: float | None
    high: float | None
    # On how many items, or clusters of them, the two are not the same.
    differing: int
    # Whether it is a difference at all: its interval is on one side of nought, and enough items differ.
    told: bool


def differences(
    frame: pl.DataFrame, word: str, names: Sequence[str], *, who: str = "arm", cluster: str | None = None
) -> list[Difference]:
    """Every two on the items that both have. Bonferroni's intervals: all of them hold together.

    `frame` has `item_id`, the column `who`, the values in `word`, and `cluster`, where items depend on each other.
    """
    pairs = list(combinations(names, 2))
    keys = ["item_id"] if cluster is None else ["item_id", cluster]
    means = (
        frame.drop_nulls(word)
        .group_by(*keys, who)
        .agg(pl.col(word).mean(), pl.col(word).count().alias("n"))
        .sort(*keys, who)
    )
    once = means["n"].max() == 1
    wide = means.pivot(on=who, index=keys, values=word, maintain_order=True)
    found = []
    for one, other in pairs:
        if {one, other} <= set(wide.columns):
            label = pl.col("item_id" if cluster is None else cluster).alias("unit")
            both = wide.select(label, a=pl.col(one), b=pl.col(other)).drop_nulls(["a", "b"])
            if both.height >= 2:
                found.append(_difference(one, other, both, _CHANCE / len(pairs), once=once))
    return found


def _difference(one: str, other: str, both: pl.DataFrame, alarm: float, *, once: bool) -> Difference:
    units = both.group_by("unit", maintain_order=True).agg(apart=(pl.col("a") - pl.col("b")).mean())
    # numpy takes a tenth of a second and 20 MB, which a report without two arms need not wait for.
    from overnight.analysis import mcnemar, paired_difference  # noqa: PLC0415

    differing = int((units["apart"].abs() > 1e-12).sum())
    alone = units.height == both.height
    low: float | None
    high: float | None
    if alone and once and set(both["a"]) | set(both["b"]) <= {0.0, 1.0}:
        exact = mcnemar(both["a"], both["b"], 1 - alarm)
        value, low, high = exact.difference, exact.difference_lwr, exact.difference_upr
    elif units.height < 2:
        value, low, high = float(both["a"].mean() or 0) - float(both["b"].mean() or 0), None, None  # type: ignore[arg-type]
    else:
        apart = paired_difference(both["a"], both["b"], None if alone else both["unit"], level=1 - alarm)
        # Residuals add up to nought, which makes the error of few clusters too small by this.
        wider = 1.0 if alone else sqrt(units.height / (units.height - 1))
        value, reach = apart.difference, wider * (apart.difference_upr - apart.difference)
        low, high = value - reach, value + reach
        if not high > low:
            low = high = None  # all differ by the same: how far another would is not known
    # The least p of an exact test: all that differ do so on one side.
    enough = 2.0 ** (1 - differing) <= alarm
    one_sided = (low is None or low > 0 or (high is not None and high < 0)) and value != 0
    if not enough and one_sided:
        low = high = None
    return Difference(one, other, both.height, value, low, high, differing, told=enough and one_sided)


def difference_text(
    found: Sequence[Difference], does: str, *, percent: bool, decimals: int = 0, those: str = "arms"
) -> str:
    """Which differ, by the interval of the difference; the honest words where none does."""
    if not found:
        return f"The {those} cannot be compared: no two of them have two items in common."
    told = sorted((one for one in found if one.told), key=lambda one: (-abs(one.value), one.one, one.other))
    together = "" if len(found) == 1 else f", intervals that hold for all {len(found)} differences at once"
    if not told:
        if len(found) == 1:
            span = _span(found[0], percent=percent, decimals=decimals)
            return f"No difference between {found[0].one} and {found[0].other} can be told ({span})."
        return f"No difference between any two {those} can be told (95% confidence{together})."
    words = []
    for one in told:
        ahead, behind = (one.one, one.other) if one.value > 0 else (one.other, one.one)
        words.append(f"{ahead} {does} than {behind} ({_span(one, percent=percent, decimals=decimals)})")
    return f"{listed(words, 3)} (95% confidence{together})."


def _span(one: Difference, *, percent: bool, decimals: int) -> str:
    """The difference as it is more than nought, with its interval."""
    sign = 1 if one.value >= 0 else -1
    scale, places = (100.0, 1) if percent else (1.0, decimals)
    by = f"by {number_text(scale * sign * one.value, places)}{' points' if percent else ''}"
    if one.low is None or one.high is None:
        return f"{by}; {one.differing:,} differ, over {number_of(one.items, 'item')}"
    low, high = sorted((sign * one.low, sign * one.high))
    return f"{by}, {span_text(scale * low, scale * high, decimals=places)}"


def difference_figure(
    found: Sequence[Difference], name: str, title: str, axis: str, *, percent: bool, those: str = "arm"
) -> Figure:
    drawn = [Interval(f"{one.one} \u2212 {one.other}", one.value, one.low, one.high, _note(one)) for one in found]
    columns: dict[str, Sequence[Any]] = {
        those: [one.one for one in found],
        "less": [one.other for one in found],
        "items": [one.items for one in found],
        "differing": [one.differing for one in found],
        "difference": [one.value for one in found],
        "lwr": [one.low for one in found],
        "upr": [one.high for one in found],
    }
    return Figure(
        name=name,
        title=title,
        caption=f"One {those} less another, on the items that both have; intervals hold for all of these differences "
        "at once (95%). Where one crosses nought, or there is none, no difference can be told.",
        drawing=Intervals(rows=drawn, axis=axis, reference=0.0, percent=percent),
        numbers=Table(columns=columns, forms=dict.fromkeys(("difference", "lwr", "upr"), "percent" if percent else 2)),
    )


def _note(one: Difference) -> str:
    if one.low is None and not one.told:
        return f"{one.differing:,} differ: too few"
    return f"{one.items:,} items"
