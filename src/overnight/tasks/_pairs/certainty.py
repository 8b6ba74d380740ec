"""How sure an order is by its verdicts: the numbers that rounds are stopped by, and that `precision.parquet` tells.

All of them come from the fit that `rankings.parquet` is made of, whose prior is learnt and whose reliability a coin
does not get: so a rule cannot hold for what the tables do not show.
"""

import hashlib
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from overnight.rank import ability_intervals, rank_probabilities
from overnight.tasks._pairs.rankings import READABLE, fitted
from overnight.tasks._pairs.stopping import Known, Until

if TYPE_CHECKING:
    from overnight.rank import BradleyTerryFit

_NEEDED = ("item_id", "first_id", "second_id", "verdict")
# Fewer samples than these in both halves give no correlation to speak of.
_FEWEST_SHARED = 4


def readable(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """The verdicts of a stage as far as they can be ranked."""
    columns: dict[str, list[Any]] = {name: [] for name in _NEEDED}
    for row in rows:
        for name in _NEEDED:
            columns[name].append(row[name])
    frame = pl.DataFrame(columns, schema=dict.fromkeys(_NEEDED, pl.String))
    return frame.filter(pl.col("verdict").is_in(READABLE)).with_columns(subject=pl.lit(None, pl.String))


def known_by(
    read: pl.DataFrame, until: Until | None = None, fit: "BradleyTerryFit | None" = None, *, halves: bool = True
) -> Known:
    """By all readable verdicts so far. `fit`: theirs, where it is there already.

    `halves`: whether two halves are fitted as well, which takes twice as long as all the rest.
    """
    if read.is_empty():
        return Known()
    fit = fitted(read, adaptive=True) if fit is None else fit
    low, high = ability_intervals(fit)
    errors = [float(error) for error in fit.se if isfinite(error)]
    widths = [float(width) for width in high - low if isfinite(width)]
    return Known(
        mean_se=sum(errors) / len(errors) if errors else None,
        reliability=_finite(fit.reliability),
        width=sum(widths) / len(widths) if len(widths) == len(fit.items) else None,
        top_certainty=None if until is None or until.top is None else top_certainty(fit, until.top),
        split_half=split_half(read) if halves else None,
    )


def top_certainty(fit: "BradleyTerryFit", top: int) -> float | None:
    """How probable it is that the `top` best samples are those that stand first."""
    if top >= len(fit.items):
        return 1.0
    found = rank_probabilities(fit, top=top)
    return None if found is None else found.top_set


def split_half(read: pl.DataFrame) -> float | None:
    """The correlation of two rankings, each by half of the pairs, stepped up to all of them (Spearman and Brown).

    Which half a pair is in, its name alone decides. Where a half has no spread, nothing agrees.
    """
    halves = [
        _abilities(read.filter(pl.col("item_id").map_elements(_half, return_dtype=pl.Int64) == half)) for half in (0, 1)
    ]
    shared = sorted(set(halves[0]) & set(halves[1]))
    if len(shared) < _FEWEST_SHARED:
        return None
    one, other = (np.array([half[name] for name in shared]) for half in halves)
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    together = float(np.corrcoef(one, other)[0, 1])
    return 0.0 if not isfinite(together) or together <= 0 else 2 * together / (1 + together)


def _abilities(half: pl.DataFrame) -> dict[str, float]:
    if half.is_empty():
        return {}
    fit = fitted(half, adaptive=True)
    return {name: float(ability) for name, ability in zip(fit.items, fit.theta, strict=True) if isfinite(ability)}


def _half(name: str) -> int:
    return hashlib.blake2b(name.encode(), digest_size=1).digest()[0] % 2


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
