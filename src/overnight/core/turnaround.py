"""How long batches take, as far as those seen so far tell: durations are spread like their logarithms. Pure."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

from overnight.core.estimate import step_of

# Sizes within a doubling, down and up, are of one kind; so many steps are a doubling.
_NEAR = _DOUBLING = 4
_ENOUGH = 3
# Before any was seen, batches of a provider differ by so much, which counts as half of one that was seen.
_USUAL_SPREAD, _USUAL_WEIGHT = 0.35, 0.5
# How much those of other providers differ counts as so many of its own at most.
_MOST_ELSEWHERE = 8.0
# For each doubling of the size, batches may take so much longer, or not as long.
_DOUBT_OF_A_DOUBLING = 0.07
# A plan is played through so many times and mirrored: what was early is late, and the other way round.
_PLAYS = 200
# Batches of a leg are followed one by one up to so many; of more, several go together, the last of which counts.
_MOST_FOLLOWED, _FOLLOWED_IN_ALL = 64, 1_000
_NORMAL = NormalDist()


class Took(NamedTuple):
    """Batches that came back: how many, and the logarithms of their seconds.

    `spread` is how much one differs from another, `doubt` how far the mean may be off for all of them together, and
    `differences` how many differences between batches the spread is known from.
    """

    batches: int
    mean: float
    spread: float
    doubt: float
    differences: float = 1_000.0


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


def took(
    seen: Iterable[tuple[int, int, float, float]],
    rows: int,
    elsewhere: Iterable[Iterable[tuple[int, int, float, float]]] = (),
) -> Took | None:
    """For batches of so many rows. `seen`: by step of size, how many, and the sums of logarithms and their squares.

    `elsewhere` has the same of each other provider: how long batches take is a provider's own, but how much they differ
    is much alike, and one that was hardly seen yet is known the better by others.
    """
    known = [one for one in seen if one[1] > 0]
    near = [one for one in known if abs(one[0] - step_of(rows)) <= _NEAR]
    chosen = near if sum(one[1] for one in near) >= _ENOUGH else known
    count, mean, squares = _summed(chosen)
    if not count:
        return None
    usual, weight = _usual(elsewhere)
    differences = count - 1 + weight
    spread = math.sqrt((squares + weight * usual) / differences)
    # The mean of a few is not the mean of all; and those of another size may take longer, or not as long.
    doublings = math.sqrt(sum(one[1] * (one[0] - step_of(rows)) ** 2 for one in chosen) / count) / _DOUBLING
    of_another_size = 0.0 if chosen is near else _DOUBT_OF_A_DOUBLING * doublings
    doubt = math.hypot(spread / math.sqrt(count), of_another_size)
    return Took(count, mean, spread, doubt, max(differences, 2.0))


def _summed(seen: Iterable[tuple[int, int, float, float]]) -> tuple[int, float, float]:
    """How many, their mean, and the sum of the squares of what they differ from it."""
    kept = list(seen)
    count = sum(one[1] for one in kept)
    mean = sum(one[2] for one in kept) / max(count, 1)
    return count, mean, max(sum(one[3] for one in kept) - count * mean**2, 0.0)


def _usual(elsewhere: Iterable[Iterable[tuple[int, int, float, float]]]) -> tuple[float, float]:
    """The square of how much batches differ that are not the provider's own, and how many differences that is worth."""
    squares, weight = _USUAL_WEIGHT * _USUAL_SPREAD**2, _USUAL_WEIGHT
    for provider in elsewhere:
        count, _, own = _summed(provider)
        squares, weight = squares + own, weight + max(count - 1, 0)
    return squares / weight, min(weight, _MOST_ELSEWHERE)


def over(stages: Sequence[Work]) -> Window:
    """When all of it is over: played through many times, always with the same luck.

    What a batch draws hangs on nothing but its place. So with more batches, no play is over any earlier.
    """
    legs = sum(len(legs) for stage in stages for legs in stage.arms)
    most = max(1, min(_MOST_FOLLOWED, _FOLLOWED_IN_ALL // max(legs, 1)))
    luck = _Luck()
    ends: dict[str, list[list[float]]] = {}
    for stage in stages:
        before = _begins(stage, ends)
        own = [
            lane
            for arm, legs_of_arm in enumerate(stage.arms)
            for lane in _landed(legs_of_arm, before, luck, f"{stage.name}\x1f{arm}", most)
        ]
        ends[stage.name] = own or before
    whole = sorted(map(max, zip(*(lane for lanes in ends.values() for lane in lanes), strict=True)))
    low, high = (whole[round(share * (len(whole) - 1))] for share in (0.05, 0.95))
    return Window(low, whole[_PLAYS], high)


class _Luck:
    """What is drawn, play by play: the same for the same name. In the last play nothing is early or late."""

    def __init__(self) -> None:
        self._common: dict[str, list[tuple[float, float]]] = {}

    def shares(self, name: str) -> list[float]:
        """Between 0 and 1, evenly: each play has its mirror image."""
        draw = random.Random(name)
        steps = list(range(_PLAYS))
        draw.shuffle(steps)
        low = [(step + 0.5) / (2 * _PLAYS) for step in steps]
        half = [share if draw.random() < 0.5 else 1 - share for share in low]
        return [*half, *(1 - share for share in half), 0.5]

    def common(self, reason: str, differences: float) -> list[tuple[float, float]]:
        """How far all batches of a reason are off together, and how much wider they spread than it looked."""
        name = f"{reason}\x1f{differences}"
        if name not in self._common:
            draw, half = random.Random(f"spread {name}"), differences / 2
            wider = [math.sqrt(half / draw.gammavariate(half, 1.0)) for _ in range(_PLAYS)]
            off = [_NORMAL.inv_cdf(share) for share in self.shares(reason)]
            self._common[name] = list(zip(off, [*wider, *wider, 1.0], strict=True))
        return self._common[name]


def _begins(stage: Work, ends: Mapping[str, list[list[float]]]) -> list[list[float]]:
    """The moments, in each play, at which there is something for it to ask."""
    before = ends.get(stage.after or "", [[0.0] * (2 * _PLAYS + 1)])
    return [list(map(max, zip(*before, strict=True)))] if stage.waits else before


def _landed(legs: Sequence[Leg], before: list[list[float]], luck: _Luck, place: str, most: int) -> list[list[float]]:
    """When each batch of the last turn is back, play by play. A batch begins when all is there that it is made of."""
    for turn, leg in enumerate(legs):
        mean, spread, doubt = leg.took.mean, leg.took.spread, leg.took.doubt
        common = luck.common(leg.reason, leg.took.differences)
        lanes = min(leg.batches, most)
        after = []
        for lane in range(lanes):
            # The last of so many: as late as none of them is later.
            power = 1 / (leg.batches // lanes + (lane < leg.batches % lanes))
            starts = _start(before, lane, lanes)
            after.append([
                start + math.exp(mean + wider * (doubt * off + spread * _NORMAL.inv_cdf(share**power)))
                for start, share, (off, wider) in zip(
                    starts, luck.shares(f"{place}\x1f{turn}\x1f{lane}"), common, strict=True
                )
            ])  # fmt: skip
        before = after
    return before


def _start(before: list[list[float]], lane: int, lanes: int) -> list[float]:
    if lane >= len(before):
        return before[lane % len(before)]
    return list(map(max, zip(*before[lane::lanes], strict=True)))
