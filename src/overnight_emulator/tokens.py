"""Token counts: so many tokens per character, and for each picture or document, by model."""

from __future__ import annotations

import math
from collections.abc import Mapping

from overnight_emulator.patterns import value_for

TOKENS_PER_CHARACTER = 0.25
TOKENS_PER_FILE = 258


class TokenCount:
    def __init__(self, per_character: Mapping[str, float], per_file: Mapping[str, int] | None = None) -> None:
        self._settings = per_character
        self._per_file = per_file or {}
        self._rates: dict[str, float] = {}

    def of(self, characters: int, model: str) -> int:
        return math.ceil(characters * self._rate(model))

    def of_files(self, files: int, model: str) -> int:
        """What pictures, documents and sounds come to."""
        return files * value_for(model, self._per_file, otherwise=TOKENS_PER_FILE) if files else 0

    def characters(self, tokens: int, model: str) -> int:
        """How many characters so many tokens can hold."""
        return math.floor(tokens / self._rate(model))

    def _rate(self, model: str) -> float:
        rate = self._rates.get(model)
        if rate is None:
            rate = self._rates[model] = value_for(model, self._settings, otherwise=TOKENS_PER_CHARACTER)
        return rate
