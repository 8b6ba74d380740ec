"""Embeddings: a text as a direction, the same for the same text, and near to that of a text with the same words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from hashlib import blake2b
from random import Random

from overnight_emulator.chance import Chance

_WORD = re.compile(r"\w+")
# How much of a direction is a text's own, beside that of its words.
_OWN = 0.2
_HELD = 4_096


class Embedder:
    """The vectors of one truth, of length 1. Those of words are kept, as they come again."""

    def __init__(self, seed: int) -> None:
        self._chance = Chance(seed)
        self._words: dict[tuple[str, int], list[float]] = {}

    def vector(self, text: str, model: str, size: int) -> list[float]:
        words = [word.lower() for word in _WORD.findall(text)] or [""]
        total = [_OWN * value for value in self._direction(f"{model}\0{text}", size)]
        for word in words[:_HELD]:
            total = [one + other for one, other in zip(total, self._kept(f"{model}\0{word}", size), strict=True)]
        return _unit(total)

    def _kept(self, word: str, size: int) -> list[float]:
        found = self._words.get((word, size))
        if found is None:
            if len(self._words) >= _HELD:
                self._words.clear()
            found = self._words[word, size] = self._direction(word, size)
        return found

    def _direction(self, name: str, size: int) -> list[float]:
        digest = blake2b(f"{self._chance.seed}:{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        draw = Random(int.from_bytes(digest, "big")).random
        return _unit([draw() - 0.5 for _ in range(size)])


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [round(value / length, 8) for value in vector]
