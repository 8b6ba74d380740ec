"""Pairs chosen in rounds: first by lot, then those that put most samples in their places.

A verdict tells most where nobody can foresee it and little is known of both samples. What it tells is worth most where
samples stand close together: there, a small error of an ability is an error of many ranks, while far from the others
even a large one moves none. So a round asks more often about samples in the crowd than about those at the ends, and
each pair that is taken leaves less to be learnt from the next one about the same samples (`make savings`).

Each pair is asked once, all samples are tied together in the end, and the same verdicts give the same pairs.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import exp, pi, sqrt
from typing import NamedTuple

from overnight.core.errors import StudyError
from overnight.tasks._pairs.pairing import PairPlan, pair_count

# Abilities are held to a normal prior of this variance, so that an unbeaten sample stays finite.
_PRIOR = 4.0
_SWEEPS = 40
_CLOSE = 1e-3
# Partners are looked for among so many neighbours by ability at first; further away where these are used up.
_NEIGHBOURS = 12
# How much a crowd counts: less than in proportion, because who stands in it is not sure. Abilities so close are as one.
_CROWD, _STEP = 0.7, 0.1
# In a round, a sample is taken at most so many times more often than on average.
_MORE_OFTEN = 2


class Tally(NamedTuple):
    """How often the first of two beat the second, ties as a half, and out of how many verdicts."""

    wins: float
    verdicts: int


Places = tuple[int, int]


class Belief(NamedTuple):
    """What verdicts say of a sample: its ability on the logit scale, and how sure that is."""

    ability: float
    variance: float


def next_pairs(samples: int, tallies: Mapping[Places, Tally], plan: PairPlan, seed: int) -> Iterator[Places]:
    """The pairs of the next round, each as the places of its samples, the lower first; none when all are asked.

    `tallies` holds every pair that was asked before, those without a verdict too.
    """
    if samples < 2:
        raise StudyError(f"pairs: {samples} sample makes no pair")
    total = plan.count(pair_count(samples))
    left = total - len(tallies)
    size = min(round_size(samples, total, plan.rounds), left)
    if not tallies:
        yield from _net(samples, size, seed)
    elif size > 0:
        yield from _Round(believed(samples, tallies), tallies, size, seed).pairs(_Parts(samples, tallies), left)


def round_size(samples: int, total: int, rounds: int) -> int:
    """Pairs of a round: as many whole matchings as come nearest to what so many rounds take."""
    matching = -(-samples // 2)
    return matching * max(1, round(total / rounds / matching))


def _net(samples: int, size: int, seed: int) -> Iterator[Places]:
    """Rings through all samples in an order drawn by lot, each with a stride of its own.

    Of a ring, every other pair comes first: these take each sample once, all of them together twice.
    """
    ring = sorted(range(samples), key=lambda place: _lot(seed, "ring", place))
    strides = [1, *sorted(range(2, samples // 2 + 1), key=lambda stride: _lot(seed, "stride", stride))]
    taken: set[Places] = set()
    for stride in strides:
        for at in sorted(range(samples), key=lambda place: place // stride % 2):
            if len(taken) == size:
                return
            pair = _in_order(ring[at], ring[(at + stride) % samples])
            if pair not in taken:
                taken.add(pair)
                yield pair


def believed(samples: int, tallies: Mapping[Places, Tally]) -> list[Belief]:
    """The most probable abilities under the prior, sample by sample until they hardly move."""
    met: list[list[tuple[int, float, int]]] = [[] for _ in range(samples)]
    for (one, other), (wins, verdicts) in tallies.items():
        if verdicts:
            met[one].append((other, wins, verdicts))
            met[other].append((one, verdicts - wins, verdicts))
    abilities = [0.0] * samples
    variances = [_PRIOR] * samples
    for _ in range(_SWEEPS):
        furthest = 0.0
        for place, others in enumerate(met):
            slope, curve = -abilities[place] / _PRIOR, 1 / _PRIOR
            for other, wins, verdicts in others:
                chance = _chance(abilities[place] - abilities[other])
                slope += wins - verdicts * chance
                curve += verdicts * chance * (1 - chance)
            step = slope / curve
            abilities[place] += step
            variances[place] = 1 / curve
            furthest = max(furthest, abs(step))
        if furthest < _CLOSE:
            break
    return [Belief(*both) for both in zip(abilities, variances, strict=True)]


class _Parts:
    """Which samples are tied together by pairs, directly or over others."""

    def __init__(self, samples: int, pairs: Iterable[Places]) -> None:
        self.count = samples
        self._above = list(range(samples))
        for one, other in pairs:
            self.join(one, other)

    def _top(self, place: int) -> int:
        while self._above[place] != place:
            self._above[place] = place = self._above[self._above[place]]
        return place

    def are_joined(self, one: int, other: int) -> bool:
        return self._top(one) == self._top(other)

    def join(self, one: int, other: int) -> None:
        if not self.are_joined(one, other):
            self._above[self._top(one)] = self._top(other)
            self.count -= 1


class _Round:
    """The pair that tells most is taken first; then what is left to be learnt about its samples is less."""

    def __init__(self, beliefs: Sequence[Belief], asked: Mapping[Places, Tally], size: int, seed: int) -> None:
        self._abilities = [belief.ability for belief in beliefs]
        # As they will be when the verdicts on the pairs that were taken have come.
        self._variances = [belief.variance for belief in beliefs]
        self._crowds: list[float] = [crowd**_CROWD for crowd in _crowds(beliefs)]
        self._asked, self._size, self._seed = asked, size, seed
        self._order = sorted(range(len(beliefs)), key=lambda place: (self._abilities[place], place))
        self._taken: set[Places] = set()
        self._used: Counter[int] = Counter()

    def pairs(self, parts: _Parts, left: int) -> Iterator[Places]:
        """Of the pairs that are `left`, as many as it takes are kept for tying all samples together."""
        samples = len(self._order)
        evenly = -(-2 * self._size // samples)
        most = evenly + min(evenly, _MORE_OFTEN)
        reach = min(_NEIGHBOURS, samples - 1)
        while len(self._taken) < self._size:
            for pair in self._best_first(reach, most):
                if left - len(self._taken) < parts.count and parts.count > 1 and parts.are_joined(*pair):
                    continue
                self._take(pair)
                parts.join(*pair)
                yield pair
                if len(self._taken) == self._size:
                    return
            # Where there are not enough within reach, look further, and then at samples that were taken often.
            reach, most = min(2 * reach, samples - 1), most + (reach == samples - 1)

    def _best_first(self, reach: int, most: int) -> Iterator[Places]:
        """Pairs of neighbours by ability. One whose samples were taken meanwhile is weighed anew in its turn."""
        near = (
            _in_order(one, other)
            for rank, one in enumerate(self._order)
            for other in self._order[rank + 1 : rank + 1 + reach]
        )
        heap = [(-self._worth(pair), _lot(self._seed, "tie", *pair), pair, self._used_by(pair))
                for pair in near if self._is_free(pair, most)]  # fmt: skip
        heapify(heap)
        while heap:
            _, lot, pair, used = heappop(heap)
            now = self._used_by(pair)
            if max(now) >= most:
                continue
            if now == used:
                yield pair
            else:
                heappush(heap, (-self._worth(pair), lot, pair, now))

    def _is_free(self, pair: Places, most: int) -> bool:
        return max(self._used_by(pair)) < most and pair not in self._taken and pair not in self._asked

    def _used_by(self, pair: Places) -> tuple[int, int]:
        return self._used[pair[0]], self._used[pair[1]]

    def _worth(self, pair: Places) -> float:
        """How much smaller the errors of both become, counted by how many samples stand within an error."""
        told = self._learnt(pair)
        return sum(told * self._crowds[place] * self._variances[place] * sqrt(self._variances[place]) for place in pair)

    def _learnt(self, pair: Places) -> float:
        """By how much a variance shrinks for each of its squares, when the verdict is in."""
        one, other = pair
        wide = 1 + pi * (self._variances[one] + self._variances[other]) / 8
        chance = _chance((self._abilities[one] - self._abilities[other]) / sqrt(wide))
        return chance * (1 - chance) / wide

    def _take(self, pair: Places) -> None:
        told = self._learnt(pair)
        for place in pair:
            self._variances[place] -= told * self._variances[place] ** 2
        self._taken.add(pair)
        self._used.update(pair)


def _crowds(beliefs: Sequence[Belief]) -> list[float]:
    """How many samples stand where each one stands, for each log-odd: as probable as their places are."""
    steps: dict[int, list[float]] = {}
    for belief in beliefs:
        steps.setdefault(round(belief.ability / _STEP), []).append(belief.variance)
    groups = [(step * _STEP, len(own), sum(own) / len(own)) for step, own in sorted(steps.items())]
    return [
        sum(
            count * exp(-((belief.ability - at) ** 2) / (2 * (belief.variance + variance)))
            / sqrt(2 * pi * (belief.variance + variance))
            for at, count, variance in groups
        )
        for belief in beliefs
    ]  # fmt: skip


def worth_of(one: Belief, other: Belief) -> tuple[float, float]:
    """How probable it is that the first wins, and how open that is: 1 where nobody can tell, 0 where it is foregone."""
    # A logistic over a normal of this variance, to a hundredth.
    chance = _chance((one.ability - other.ability) / sqrt(1 + pi * (one.variance + other.variance) / 8))
    return chance, 4 * chance * (1 - chance)


def _chance(lead: float) -> float:
    return 1 / (1 + exp(-lead)) if lead >= 0 else exp(lead) / (1 + exp(lead))


def _in_order(one: int, other: int) -> Places:
    return (one, other) if one < other else (other, one)


def _lot(seed: int, *what: object) -> bytes:
    return hashlib.blake2b("\x1f".join(map(str, (seed, *what))).encode(), digest_size=8).digest()


__all__ = ["Belief", "Places", "Tally", "believed", "next_pairs", "worth_of"]
