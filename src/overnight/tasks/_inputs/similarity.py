"""How alike two texts are: the share of their character 5-grams that both have (Jaccard), case and marks aside.

A plain measure that anybody can compute again. It finds texts that are the same but for a few words, and not those
that say the same in other words.
"""

import re
from typing import NamedTuple
from unicodedata import normalize

_GRAM = 5
_BETWEEN_WORDS = re.compile(r"[\W_]+")


def plain(text: str) -> str:
    """Small letters and digits with one space between words: what two texts are compared by."""
    return _BETWEEN_WORDS.sub(" ", normalize("NFKC", text).casefold()).strip()


def grams(text: str) -> frozenset[str]:
    """Every five characters in a row; a shorter text is one gram."""
    words = plain(text)
    return frozenset(words[at : at + _GRAM] for at in range(max(1, len(words) - _GRAM + 1)))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """From 0, nothing in common, to 1, the same."""
    together = len(one & other)
    return together / (len(one) + len(other) - together)


class Nearest(NamedTuple):
    """The most similar of the texts kept so far: its name, and how alike the two are."""

    name: str
    likeness: float


class Texts:
    """Texts that were kept, in order. One that is too much like any of them is not."""

    def __init__(self, most: float) -> None:
        """`most`: from this likeness on, a text counts as said already."""
        self._most = most
        self._kept: list[tuple[str, frozenset[str]]] = []

    def keep(self, name: str, text: str) -> Nearest | None:
        """None when the text is kept; else what it repeats."""
        own = grams(text)
        # No pair of sets can be more alike than the smaller is part of the larger.
        near = [
            Nearest(kept, alike)
            for kept, theirs in self._kept
            if min(len(own), len(theirs)) >= self._most * max(len(own), len(theirs))
            and (alike := likeness(own, theirs)) >= self._most
        ]
        if near:
            return max(near, key=lambda one: one.likeness)
        self._kept.append((name, own))
        return None
