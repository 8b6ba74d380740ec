"""The models that the price list knows, and names that look like one of them mistyped.

A wrong name fails a whole batch at its provider. A new model must stay usable on the day it appears: a name is taken
for a slip only where its letters are a little off and its numbers are those of a known model.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from overnight.prices.catalogue import CATALOGUE_IDS, newest
from overnight.prices.price_list import Seller

# So many letters may be off, and in a short name only one.
_MOST_SLIPS = 2
_SHORT_NAME = 8


class Doubt(NamedTuple):
    """A name that nobody knows, and the known one that is nearest. `slip`: it is that one, mistyped."""

    nearest: str
    slip: bool


def known_models(provider: str) -> list[str]:
    """What a provider's own models are called when they are asked; none where the list does not have the provider."""
    seller = _seller(provider)
    return [] if seller is None else list(dict.fromkeys(listing.asked_as for listing in seller.models))


@lru_cache(maxsize=1024)
def doubt_about(provider: str, model: str) -> Doubt | None:
    """None for a known name, and for one that is like no other."""
    seller = _seller(provider)
    if seller is None or model in known_models(provider) or newest().prices.find_short(seller, model) is not None:
        return None
    name = model.lower()
    near = [(slips, one) for one in known_models(provider) if (slips := _slips(name, one.lower())) is not None]
    if not near:
        return None
    same = [(slips, one) for slips, one in near if _digits(one) == _digits(name)]
    return Doubt(min(same or near)[1], bool(same))


def _seller(provider: str) -> Seller | None:
    return newest().prices.seller(CATALOGUE_IDS.get(provider, provider))


def _digits(name: str) -> str:
    return "".join(re.findall(r"\d", name))


def _slips(one: str, other: str) -> int | None:
    """How many letters are added, left out, changed or exchanged with their neighbours; None for more than a few."""
    most = _MOST_SLIPS if min(len(one), len(other)) >= _SHORT_NAME else 1
    if abs(len(one) - len(other)) > most:
        return None
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1] if row[-1] <= most else None
