"""How long batches take, as far as those seen so far tell: durations are spread like their logarithms. Pure."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from overnight.core.estimate import step_of

# Sizes within a doubling, down and up, are of one kind.
_NEAR = 4
_ENOUGH = 3
# Before any was seen, a factor of two either way is nothing special; that counts as much as one batch that was seen.
_USUAL_SPREAD = math.log(2)
# Of more batches in a row the last one is hardly later; and how often a plan is played through.
_MOST_BATCHES = 256
_FEWEST_PLAYS, _MOST_PLAYS, _DRAWS = 200, 1_000, 100_000


class Took(NamedTuple):
    """Batches that came back: how many, and the logarithms of their seconds.

    `spread` is how much one differs from another, `doubt` how far the mean may be off for all of them together.
    """

    batches: int
    mean: float
    spread: float
    doubt: float


class Leg(NamedTuple):
    """Batches that go side by side. Legs with the same `reason` are off together."""

    reason: str
    took: Took
    batches: int


class Work(NamedTuple):
    """A stage: each of its arms has a leg for each turn.

    It goes on from the batches of the stage `after`, one by one as they land, or `waits` for the last of them.
    """

    name: str
    arms: Sequence[Sequence[Leg]]
    after: str | None = None
    waits: bool = False


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
    squares = max(sum(one[3] for one in chosen) - count * mean**2, 0.0)
    spread = math.sqrt((squares + _USUAL_SPREAD**2) / count)
    # The mean of a few is not the mean of all; and those of another size may take longer, or not as long.
    doubt = spread / math.sqrt(count)
    return Took(count, mean, spread, doubt if chosen is near else math.hypot(doubt, _USUAL_SPREAD))


def over(stages: Sequence[Work]) -> Window:
    """When all of it is over: played through many times, always with the same luck."""
    batches = sum(min(leg.batches, _MOST_BATCHES) for stage in stages for legs in stage.arms for leg in legs)
    plays = max(_FEWEST_PLAYS, min(_MOST_PLAYS, _DRAWS // max(batches, 1)))
    luck = random.Random(0)
    ends = sorted(_played(stages, luck) for _ in range(plays))
    low, middle, high = (ends[min(int(share * plays), plays - 1)] for share in (0.05, 0.5, 0.95))
    return Window(low, middle, high)


def _played(stages: Sequence[Work], luck: random.Random) -> float:
    off: dict[str, float] = {}
    ends: dict[str, list[float]] = {}
    for stage in stages:
        before = _begins(stage, ends)
        ends[stage.name] = [end for legs in stage.arms for end in _landed(legs, before, off, luck)] or before
    return max(max(one) for one in ends.values())


def _begins(stage: Work, ends: Mapping[str, list[float]]) -> list[float]:
    """The moments at which there is something for it to ask."""
    before = ends.get(stage.after or "", [0.0])
    return [max(before)] if stage.waits else before


def _landed(legs: Sequence[Leg], before: list[float], off: dict[str, float], luck: random.Random) -> list[float]:
    """When each batch of the last turn is back. A batch begins when all is there that it is made of."""
    for leg in legs:
        shift = off.setdefault(leg.reason, luck.gauss(0.0, 1.0)) * leg.took.doubt
        count = min(leg.batches, _MOST_BATCHES)
        starts = [
            max(before[place::count]) if place < len(before) else before[place % len(before)] for place in range(count)
        ]
        before = [start + math.exp(leg.took.mean + shift + leg.took.spread * luck.gauss(0.0, 1.0)) for start in starts]
    return before
