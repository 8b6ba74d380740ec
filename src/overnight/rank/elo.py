"""Elo ratings: one comparison after another moves the winner up and the loser down by what the result surprised.

`fit_elo_model` follows EloChoice (Clark et al. 2018): several runs over shuffled sequences, ratings rounded at
every step, and a reliability that asks how often the higher-rated item won. `rate_elo` is the plain rating.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from polars import selectors

from overnight.rank.arrays import Ints, check_draws, seeded
from overnight.rank.columns import readable
from overnight.rank.labels import label_codes
from overnight.rank.tally import Rows, read_rows
from overnight.rank.verdicts import BadVerdicts, as_frame, require_columns

_SCALE: Final = 400.0


@dataclass(frozen=True)
class EloFit:
    """Mean ratings over the runs, and how reliable the sequence of ratings was, for each run and on average."""

    elo: pl.DataFrame
    reliability: float
    reliability_weighted: float
    runs: pl.DataFrame
    ratings: pl.DataFrame
    engine: str = "EloChoice"


@dataclass(frozen=True, slots=True)
class _Run:
    ratings: list[float]
    decided: int
    upsets: int
    weight: float
    upset_weight: float

    @property
    def reliability(self) -> float:
        return 1 - self.upsets / self.decided if self.decided else np.nan

    @property
    def reliability_weighted(self) -> float:
        return 1 - self.upset_weight / self.weight if self.weight else np.nan


@readable
def fit_elo_model(
    elo_data: Any, runs: int = 5, k: float = 100, start: float = 0, rounding: bool = True, seed: int = 0
) -> EloFit:
    """Rate rows `winner, loser`: the first run in the order of the rows, each later one in a shuffled order.

    Reliability is one minus the share of upsets among the comparisons that had a favourite (the weighted one
    counts each by the difference in rating), averaged over the runs.
    """
    check_draws("runs", runs)
    ids, winner, loser = _sequence(elo_data)
    rng = seeded(seed)
    done = []
    for run in range(runs):
        order = rng.permutation(len(winner)) if run else np.arange(len(winner))
        played = zip(winner[order].tolist(), loser[order].tolist(), strict=True)
        done.append(_play(list(played), [start] * len(ids), k, rounding=rounding))
    ratings = np.array([run.ratings for run in done])
    by_run = pl.DataFrame(
        {
            "run": range(1, runs + 1),
            "reliability": [run.reliability for run in done],
            "reliability_weighted": [run.reliability_weighted for run in done],
            "decided": [run.decided for run in done],
        }
    )
    return EloFit(
        elo=pl.DataFrame({"ID": ids, "elo": ratings.mean(axis=0)}),
        reliability=float(np.mean(by_run.get_column("reliability").to_numpy())),
        reliability_weighted=float(np.mean(by_run.get_column("reliability_weighted").to_numpy())),
        runs=by_run,
        ratings=pl.DataFrame({"ID": ids, **{f"run_{at}": row for at, row in enumerate(ratings, start=1)}}),
    )


@readable
def rate_elo(bt_data: Any, k: float = 32, start: float = 1500) -> pl.DataFrame:
    """Plain Elo over rows `object1, object2, result` in their order, ties included: columns `ID, elo`, best first."""
    rows = read_rows(bt_data)
    rating = [float(start)] * len(rows.items)
    played = (np.repeat(column, _times(rows)).tolist() for column in (rows.first, rows.second, rows.outcome))
    for first, second, outcome in zip(*played, strict=True):
        expected = 1 / (1 + 10 ** ((rating[second] - rating[first]) / _SCALE))
        moved = k * (outcome / 2 - expected)
        rating[first] += moved
        rating[second] -= moved
    return pl.DataFrame({"ID": rows.items, "elo": rating}).sort("elo", "ID", descending=[True, False])


def _times(rows: Rows) -> Ints:
    """How often each row is played."""
    if rows.count is None:
        return np.ones(len(rows.first), dtype=np.int64)
    times = rows.count.astype(np.int64)
    if (times != rows.count).any():
        raise BadVerdicts("Elo is played comparison by comparison: counts must be whole numbers")
    return times


def _sequence(elo_data: Any) -> tuple[list[Any], Ints, Ints]:
    """Sorted ids, and each row's winner and loser among them; rows of an item against itself do not count."""
    frame = as_frame(elo_data)
    require_columns(frame, ["winner", "loser"])
    sides = frame.select("winner", "loser").with_columns(selectors.float().fill_nan(None)).drop_nulls()
    labels, (winner, loser) = label_codes(sides.get_column("winner"), sides.get_column("loser"))
    apart = winner != loser
    if not apart.any():
        raise BadVerdicts("there is no comparison to rate: no row has a winner and another loser")
    present, codes = np.unique(np.concatenate([winner[apart], loser[apart]]), return_inverse=True)
    half = len(codes) // 2
    return labels[present].to_list(), codes[:half], codes[half:]


def _play(sequence: Sequence[tuple[int, int]], rating: list[float], k: float, *, rounding: bool) -> _Run:
    decided = upsets = 0
    weight = upset_weight = 0.0
    for winner, loser in sequence:
        above, below = rating[winner], rating[loser]
        ahead = above - below
        if ahead:
            decided += 1
            weight += abs(ahead)
        if ahead < 0:
            upsets += 1
            upset_weight -= ahead
        gained = k * (1 - 1 / (1 + 10 ** (ahead / _SCALE)))
        above, below = above - gained + k, below + gained - k
        rating[winner] = _rounded(above) if rounding else above
        rating[loser] = _rounded(below) if rounding else below
    return _Run(rating, decided, upsets, weight, upset_weight)


def _rounded(value: float) -> int:
    """The nearest whole number, halves away from zero (Python's own `round` would take halves to even)."""
    return int(value + 0.5) if value >= 0 else -int(0.5 - value)


__all__ = ["EloFit", "fit_elo_model", "rate_elo"]
