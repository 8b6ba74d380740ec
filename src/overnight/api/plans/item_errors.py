"""How far an estimate is off, judged by the items that were asked first: what they cost beside what was reckoned.

All that is asked about one item belongs together: arms share its difficulty, turns and later stages its answers. So the
errors of a plan are those of whole items, and what two arms owe to the same items is added before it is squared.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from overnight.api.plans.estimating import ArmEstimate, Place
from overnight.api.plans.experience import Answers
from overnight.core.estimate import ENOUGH, Line, factors, line_of
from overnight.ledger.answers import Sized

# So many arms are told apart; more of them are taken to go up and down together, which is the worst case.
_MOST_ARMS = 40


class SeenArm(NamedTuple):
    """An arm of which the run has rows, and how many requests are to come."""

    place: Place
    answers: Answers
    estimate: ArmEstimate
    requests: int


class _Errors(NamedTuple):
    """Of one arm, by item, in nano-dollars; and what a deviation of one item comes to over all that are to come."""

    by_item: Mapping[str, float]
    scale: float


def risks_by_items(arms: Sequence[SeenArm]) -> dict[Place, dict[str, float]]:
    """By arm and reason. An arm of which too few items were seen is left out."""
    sizes = _first_sizes(arms)
    errors = {arm.place: _errors(arm, sizes) for arm in arms}
    known = {place: one for place, one in errors.items() if one is not None}
    places = list(known)
    if len(places) > _MOST_ARMS:
        alone = {place: math.sqrt(_product(one, one)) for place, one in known.items()}
        return {place: {"items": deviation} for place, deviation in alone.items()}
    table = [[_product(known[one], known[other]) for other in places] for one in places]
    owed = factors(table)
    return {
        place: {f"items {number}": part for number, part in enumerate(owed[row], 1) if part}
        for row, place in enumerate(places)
    }


def _first_sizes(arms: Sequence[SeenArm]) -> dict[str, float]:
    """Of each item, the bytes of the smallest request about it: what was known of it before there was any answer."""
    sizes: dict[str, float] = {}
    for arm in arms:
        for row in arm.answers.rows:
            sizes[row.item] = min(sizes.get(row.item, math.inf), row.bytes)
    return sizes


def _errors(arm: SeenArm, sizes: Mapping[str, float]) -> _Errors | None:
    rows, (rate_in, rate_out) = arm.answers.rows, arm.estimate.rates()
    grown = _sizes_by_turn(rows, sizes)
    found: dict[str, float] = defaultdict(float)
    for row in rows:
        # As a plan reckons: what answers add to a request is not known, but goes with what its item is.
        size = grown[row.turn].tokens(sizes[row.item]) if row.turn in grown else row.bytes
        found[row.item] += rate_in * (row.input - arm.estimate.requests.line_of(row.turn).tokens(size))
        found[row.item] += rate_out * (row.output - arm.answers.length(size, row.turn))
    count = len(found)
    if count < ENOUGH or not arm.requests:
        return None
    mean = sum(found.values()) / count
    ahead = arm.requests / (len(rows) / count)
    # By chance in those to come, and because those seen are few, for which the spread itself is not sure either.
    scale = math.sqrt(ahead + ahead**2 / count) * math.sqrt(count / (count - 3))
    return _Errors({item: error - mean for item, error in found.items()}, scale / math.sqrt(count))


def _sizes_by_turn(rows: Sequence[Sized], sizes: Mapping[str, float]) -> dict[int, Line]:
    """How the requests of a turn go with their items, where they are not the first about them."""
    turns: dict[int, list[Sized]] = defaultdict(list)
    for row in rows:
        turns[row.turn].append(row)
    found = {}
    for turn, own in turns.items():
        line = line_of((sizes[row.item], row.bytes, 1) for row in own)
        if line is not None and any(row.bytes != sizes[row.item] for row in own):
            found[turn] = line
    return found


def _product(one: _Errors, other: _Errors) -> float:
    shared = one.by_item.keys() & other.by_item.keys()
    return one.scale * other.scale * sum(one.by_item[item] * other.by_item[item] for item in sorted(shared))
