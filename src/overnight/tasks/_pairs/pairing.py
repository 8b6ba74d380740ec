"""Pairs of samples: which are compared, in which order, and which of them the other way round as well.

Every choice is drawn from the seed and the pair alone. So the same study makes the same pairs, a larger `n` or
`reverse` keeps all that a smaller one had, and samples that are added at the end disturb little.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import isqrt
from typing import Literal, NamedTuple, Protocol

import msgspec

from overnight.core.errors import RowDamaged, StudyError, nearest
from overnight.tasks._pairs.stopping import Until

Select = Literal["all", "sample", "adaptive"]
Order = Literal["given", "random", "alternate"]

_ROUNDS = 4
_ESCAPES = (("%", "%25"), (":", "%3A"), ("#", "%23"))


class Pair(NamedTuple):
    """Two samples in the order of the forward direction; `occurrence` counts votes on the same two, from 1."""

    first: str
    second: str
    occurrence: int = 1
    both_orders: bool = False


class PairPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How pairs are chosen from the candidates: all, a sample, or in rounds; in which order, how many in both."""

    select: Select = "all"
    n: int | None = None
    share: float | None = None
    order: Order = "random"
    reverse: float = 0.0
    seed: int = 0
    rounds: int = 6
    until: Until | None = None

    def count(self, candidates: int) -> int:
        """How many pairs are asked."""
        if self.select == "all":
            return candidates
        wanted = self.n if self.n is not None else int((self.share or 0.0) * candidates)
        return min(max(wanted, 1), candidates)


class Listed(NamedTuple):
    """A pair as somebody listed it, and the place where it stands."""

    place: str
    first: str
    second: str


Listing = Callable[[], Iterable[Listed]]


class _Candidates(Protocol):
    """Pairs by number, with a parity that says which of them `alternate` turns round."""

    def __len__(self) -> int: ...
    def pair(self, number: int) -> tuple[Pair, int]: ...


class _Everyone:
    """Each sample with each one before it: samples that are added at the end leave the numbers as they are."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return pair_count(len(self._ids))

    def pair(self, number: int) -> tuple[Pair, int]:
        second = (1 + isqrt(8 * number + 1)) // 2
        first = number - pair_count(second)
        # Parity by the places of both: so each sample stands first in half of its pairs.
        return Pair(self._ids[first], self._ids[second]), (first + second + 1) % 2


class _AsListed:
    """Somebody's own list; a pair that stands there again, in either order, is another vote."""

    def __init__(self, ids: Sequence[str], listed: Iterable[Listed]) -> None:
        known = set(ids)
        seen: Counter[frozenset[str]] = Counter()
        self._pairs: list[Pair] = []
        for place, first, second in listed:
            _check_listed(place, first, second, known)
            both = frozenset((first, second))
            seen[both] += 1
            self._pairs.append(Pair(first, second, seen[both]))

    def __len__(self) -> int:
        return len(self._pairs)

    def pair(self, number: int) -> tuple[Pair, int]:
        return self._pairs[number], number % 2


def _check_listed(place: str, first: str, second: str, known: set[str]) -> None:
    for sample in (first, second):
        if sample not in known:
            raise StudyError(f"{place}: there is no sample '{sample}'{nearest(sample, known)}")
    if first == second:
        raise StudyError(f"{place}: '{first}' cannot be compared with itself")


def pair_count(samples: int) -> int:
    """How many pairs so many samples make."""
    return samples * (samples - 1) // 2


def planned_pairs(
    ids: Sequence[str],
    plan: PairPlan,
    listing: Listing | None = None,
    check: Callable[[int], None] = lambda _: None,
) -> Iterator[Pair]:
    """The pairs of a plan among these samples, or among those listed. `check` is told their number before the first."""
    candidates: _Candidates = _Everyone(ids) if listing is None else _AsListed(ids, listing())
    if len(candidates) == 0:
        raise StudyError(f"pairs: {len(ids)} sample makes no pair" if listing is None else "pairs: none are listed")
    check(plan.count(len(candidates)))
    chosen = _chosen(len(candidates), plan)
    least = _least_reversed(candidates, chosen, plan)
    for number in chosen:
        pair, parity = candidates.pair(number)
        turned = _turned(pair, parity, plan)
        yield turned._replace(both_orders=plan.reverse >= 1 or _lot(pair, "reverse", plan) <= least)


def shown_pair(pair: Pair, parity: int, plan: PairPlan) -> Pair:
    """One pair by itself, as the plan would show it; in both orders if its own lot says so."""
    turned = _turned(pair, parity, plan)
    return turned._replace(both_orders=plan.reverse >= 1 or _lot(pair, "reverse", plan) < plan.reverse * 2**64)


def _chosen(candidates: int, plan: PairPlan) -> Sequence[int]:
    wanted = plan.count(candidates)
    if wanted == candidates:
        return range(candidates)
    return sorted(islice(shuffled(candidates, plan.seed), wanted))


def _turned(pair: Pair, parity: int, plan: PairPlan) -> Pair:
    turn = parity == 1 if plan.order == "alternate" else plan.order == "random" and _lot(pair, "order", plan) % 2 == 1
    return pair._replace(first=pair.second, second=pair.first) if turn else pair


def _least_reversed(candidates: _Candidates, chosen: Sequence[int], plan: PairPlan) -> int:
    """Pairs with a lot up to this one are asked in both orders: as many as the share says, to the pair."""
    wanted = int(len(chosen) * plan.reverse + 0.5)
    if wanted == 0 or plan.reverse >= 1:
        return -1
    return sorted(_lot(candidates.pair(number)[0], "reverse", plan) for number in chosen)[wanted - 1]


def _lot(pair: Pair, purpose: str, plan: PairPlan) -> int:
    text = f"{plan.seed}\x1f{purpose}\x1f{pair_id(pair)}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


def shuffled(total: int, seed: int) -> Iterator[int]:
    """Every number below `total` once, in an order that depends on the seed alone: a Feistel network.

    A larger total puts its new numbers in between, as long as it needs no more bits; nothing is held in memory.
    """
    half = max(1, -(-(total - 1).bit_length() // 2))
    mask = (1 << half) - 1
    key = seed.to_bytes(16, "big", signed=True)
    for number in range(1 << 2 * half):
        left, right = number >> half, number & mask
        for step in range(_ROUNDS):
            digest = hashlib.blake2b(right.to_bytes(8) + bytes([step]), digest_size=8, key=key).digest()
            left, right = right, left ^ int.from_bytes(digest) & mask
        place = left << half | right
        if place < total:
            yield place


def pair_id(pair: Pair) -> str:
    """`S01:S02`, with `#2` for the second vote on the two. Marks inside an id are escaped, so it can be read back."""
    name = f"{_escaped(pair.first)}:{_escaped(pair.second)}"
    return name if pair.occurrence == 1 else f"{name}#{pair.occurrence}"


def pair_of(name: str) -> Pair:
    """The pair that `pair_id` has named."""
    both, _, occurrence = name.partition("#")
    first, _, second = both.partition(":")
    try:
        return Pair(_unescaped(first), _unescaped(second), int(occurrence or 1))
    except ValueError as error:
        raise RowDamaged(name, "names no pair") from error


def _escaped(sample: str) -> str:
    for mark, written in _ESCAPES:
        sample = sample.replace(mark, written)
    return sample


def _unescaped(written: str) -> str:
    for mark, escape in reversed(_ESCAPES):
        written = written.replace(escape, mark)
    return written
