"""How long batches take, as far as those seen so far tell: durations are spread like their logarithms. Pure."""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from overnight.core.estimate import step_of

# Sizes within a doubling, down and up, are of one kind.
_NEAR = 4
_ENOUGH = 3
# Where few were seen, or of another size: a factor of two either way is nothing special.
_USUAL_SPREAD = math.log(2)
_NORMAL = NormalDist()


class Took(NamedTuple):
    """Batches that came back: how many, and the mean and spread of the logarithms of their seconds."""

    batches: int
    mean: float
    spread: float


class Window(NamedTuple):
    """Seconds until something is over: the middle, and between what nine of ten cases lie."""

    low: float
    middle: float
    high: float


def took(seen: Iterable[tuple[int, int, float, float]], rows: int) -> Took | None:
    """For batches of so many rows. `seen`: by step of size, how many, and the sums of logarithms and their squares."""
    known = [one for one in seen if one[1] > 0]
    near = [one for one in known if abs(one[0] - step_of(rows)) <= _NEAR]
    chosen = near if sum(one[1] for one in near) >= _ENOUGH else known
    count = sum(one[1] for one in chosen)
    if not count:
        return None
    mean = sum(one[2] for one in chosen) / count
    spread = math.sqrt(max(sum(one[3] for one in chosen) / count - mean**2, 0.0))
    if chosen is not near or count < _ENOUGH:
        spread = math.hypot(spread, _USUAL_SPREAD)
    # The mean of a few is not the mean of all.
    return Took(count, mean, max(spread, 0.05) * math.sqrt(1 + 1 / count))


def round_over(batches: Sequence[tuple[Took, int]]) -> Window:
    """When the last of some batches is back that are all under way at once: so many of each kind."""
    low, middle, high = (_when(batches, share) for share in (0.05, 0.5, 0.95))
    return Window(low, middle, high)


def _when(batches: Sequence[tuple[Took, int]], share: float) -> float:
    """By halving: the logarithm of the seconds by which all are back in this share of cases."""
    early = min(one.mean - 8 * one.spread for one, _ in batches)
    late = max(one.mean + 8 * one.spread for one, _ in batches)
    for _ in range(60):
        half = (early + late) / 2
        done = sum(count * math.log(max(_NORMAL.cdf((half - one.mean) / one.spread), 1e-300)) for one, count in batches)
        early, late = (half, late) if done < math.log(share) else (early, half)
    return math.exp(late)


def one_after_another(rounds: Sequence[Window]) -> Window:
    """Rounds that wait for each other: their middles add up, and what they are early or late by adds up in squares."""
    middle = sum(one.middle for one in rounds)
    early = math.sqrt(sum((one.middle - one.low) ** 2 for one in rounds))
    late = math.sqrt(sum((one.high - one.middle) ** 2 for one in rounds))
    return Window(max(middle - early, 0.0), middle, middle + late)
