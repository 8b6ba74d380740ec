"""Pairs chosen in rounds: first by lot, then those whose verdict is most open.

How open a verdict is, is p(1-p), where p allows for how uncertain both abilities still are. Measures of information
and of the order's certainty choose no better (`make savings`), also where pairs are chosen two at a time; what counts
is that each round takes every sample once, or twice, and none of them more often: a round is chosen as a whole, and
no verdict of its own is known until the last has landed. So a round is made of whole matchings of the samples.

Each pair is asked once, all samples are tied together in the end, and the same verdicts give the same pairs.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_BY_THE_WAY = 0.002


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
        parts = _Parts(samples, tallies)
        yield from _most_open(believed(samples, tallies), tallies, size, seed, parts, left)


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


def _most_open(
    beliefs: Sequence[Belief], asked: Mapping[Places, Tally], size: int, seed: int, parts: _Parts, left: int
) -> Iterator[Places]:
    """The best first, no sample much more often than the others; neighbours by ability before the far ones.

    Of the pairs that are `left`, as many as it takes are kept for tying all samples together.
    """
    samples = len(beliefs)
    by_ability = sorted(range(samples), key=lambda place: (beliefs[place].ability, place))
    taken: set[Places] = set()
    most, evenly = 1, -(-2 * size // samples)
    reach = min(_NEIGHBOURS, samples - 1)
    while len(taken) < size:
        used: Counter[int] = Counter(place for pair in taken for place in pair)
        for pair in _by_worth(by_ability, beliefs, reach, seed):
            if len(taken) == size:
                break
            if pair in asked or pair in taken or max(used[pair[0]], used[pair[1]]) >= most:
                continue
            if left - len(taken) < parts.count and parts.count > 1 and parts.are_joined(*pair):
                continue
            taken.add(pair)
            used.update(pair)
            parts.join(*pair)
            yield pair
        # Each sample once, then each once more; where there are not enough within reach, look further.
        reach, most = min(2 * reach, samples - 1) if most >= evenly else reach, most + 1


def worth_of(one: Belief, other: Belief) -> tuple[float, float]:
    """How probable it is that the first wins, and how open that is: 1 where nobody can tell, 0 where it is foregone."""
    # A logistic over a normal of this variance, to a hundredth.
    chance = _chance((one.ability - other.ability) / sqrt(1 + pi * (one.variance + other.variance) / 8))
    return chance, 4 * chance * (1 - chance)


def _by_worth(by_ability: Sequence[int], beliefs: Sequence[Belief], reach: int, seed: int) -> list[Places]:
    worth: dict[Places, float] = {}
    for at in range(len(by_ability)):
        for one, other in ((by_ability[at], far) for far in by_ability[at + 1 : at + 1 + reach]):
            # Among pairs that are as open, those first that are known least: as of samples that came later.
            unknown = beliefs[one].variance + beliefs[other].variance
            worth[_in_order(one, other)] = worth_of(beliefs[one], beliefs[other])[1] + _BY_THE_WAY * unknown
    return sorted(worth, key=lambda pair: (-worth[pair], _lot(seed, "tie", *pair)))


def _chance(lead: float) -> float:
    return 1 / (1 + exp(-lead)) if lead >= 0 else exp(lead) / (1 + exp(lead))


def _in_order(one: int, other: int) -> Places:
    return (one, other) if one < other else (other, one)


def _lot(seed: int, *what: object) -> bytes:
    return hashlib.blake2b("\x1f".join(map(str, (seed, *what))).encode(), digest_size=8).digest()


__all__ = ["Belief", "Places", "Tally", "believed", "next_pairs", "worth_of"]
