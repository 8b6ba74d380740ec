"""Token counts: so many tokens per character, by model."""

from __future__ import annotations

import math
from collections.abc import Mapping

from overnight_emulator.patterns import value_for

TOKENS_PER_CHARACTER = 0.25


class TokenCount:
    def __init__(self, per_character: Mapping[str, float]) -> None:
        self._settings = per_character
        self._rates: dict[str, float] = {}

    def of(self, characters: int, model: str) -> int:
        return math.ceil(characters * self._rate(model))

    def characters(self, tokens: int, model: str) -> int:
        """How many characters so many tokens can hold."""
        return math.floor(tokens / self._rate(model))

    def _rate(self, model: str) -> float:
        rate = self._rates.get(model)
        if rate is None:
            rate = self._rates[model] = value_for(model, self._settings, otherwise=TOKENS_PER_CHARACTER)
        return rate
