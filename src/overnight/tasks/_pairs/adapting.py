"""Pairs chosen in rounds: first a net that ties all samples together, then those that would tell most.

What a verdict would tell is p(1-p)(u+v): how open it is, times how uncertain the two abilities still are. Each pair is
asked once. A round spreads its pairs over the samples, because it is chosen as a whole: no verdict of its own is known
until the last has landed. The same verdicts give the same pairs.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import exp
from typing import NamedTuple

from overnight.core.errors import StudyError
from overnight.tasks._pairs.pairing import PairPlan, pair_count

# The first round: this part of all pairs, but every sample at least twice.
_FIRST_SHARE = 0.25
# Abilities are held to a normal prior of this variance, so that an unbeaten sample stays finite.
_PRIOR = 4.0
_SWEEPS = 40
_CLOSE = 1e-3
# Partners are looked for among so many neighbours by ability at first; further away where these are used up.
_NEIGHBOURS = 12


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
    first = min(total, max(samples, round(total * _FIRST_SHARE)))
    if not tallies:
        yield from _net(samples, first, seed)
        return
    even = -(-(total - first) // max(1, plan.rounds - 1))
    size = min(max(even, -(-samples // 2)), total - len(tallies))
    if size > 0:
        yield from _most_telling(believed(samples, tallies), tallies, size, seed)


def _net(samples: int, size: int, seed: int) -> Iterator[Places]:
    """Rings through all samples in an order drawn by lot, each with a stride of its own: connected by the first."""
    ring = sorted(range(samples), key=lambda place: _lot(seed, "ring", place))
    strides = [1, *sorted(range(2, samples // 2 + 1), key=lambda stride: _lot(seed, "stride", stride))]
    taken: set[Places] = set()
    for stride in strides:
        for at in range(samples):
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


def _most_telling(beliefs: Sequence[Belief], asked: Mapping[Places, Tally], size: int, seed: int) -> Iterator[Places]:
    """The best first, no sample much more often than the others; neighbours by ability before the far ones."""
    samples = len(beliefs)
    by_ability = sorted(range(samples), key=lambda place: (beliefs[place].ability, place))
    taken: set[Places] = set()
    most = -(-2 * size // samples)
    reach = min(_NEIGHBOURS, samples - 1)
    while len(taken) < size:
        used: Counter[int] = Counter(place for pair in taken for place in pair)
        for pair in _by_worth(by_ability, beliefs, reach, seed):
            if len(taken) == size:
                break
            if pair not in asked and pair not in taken and max(used[pair[0]], used[pair[1]]) < most:
                taken.add(pair)
                used.update(pair)
                yield pair
        # Not enough within reach: look further, and let samples come once more.
        reach, most = min(2 * reach, samples - 1), most + 1


def worth_of(one: Belief, other: Belief) -> tuple[float, float]:
    """How probable it is that the first wins, and what a verdict would tell."""
    chance = _chance(one.ability - other.ability)
    return chance, chance * (1 - chance) * (one.variance + other.variance)


def _by_worth(by_ability: Sequence[int], beliefs: Sequence[Belief], reach: int, seed: int) -> list[Places]:
    worth: dict[Places, float] = {}
    for at in range(len(by_ability)):
        for one, other in ((by_ability[at], far) for far in by_ability[at + 1 : at + 1 + reach]):
            worth[_in_order(one, other)] = worth_of(beliefs[one], beliefs[other])[1]
    return sorted(worth, key=lambda pair: (-worth[pair], _lot(seed, "tie", *pair)))


def _chance(lead: float) -> float:
    return 1 / (1 + exp(-lead)) if lead >= 0 else exp(lead) / (1 + exp(lead))


def _in_order(one: int, other: int) -> Places:
    return (one, other) if one < other else (other, one)


def _lot(seed: int, *what: object) -> bytes:
    return hashlib.blake2b("\x1f".join(map(str, (seed, *what))).encode(), digest_size=8).digest()


__all__ = ["Belief", "Places", "Tally", "believed", "next_pairs", "worth_of"]
