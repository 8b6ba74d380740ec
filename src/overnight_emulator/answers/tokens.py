"""Token counts: so many tokens per character, and for each picture or document, by model."""

from __future__ import annotations

import math
from collections.abc import Mapping

from overnight_emulator.patterns import ByModel

TOKENS_PER_CHARACTER = 0.25
TOKENS_PER_FILE = 258


class TokenCount:
    def __init__(self, per_character: Mapping[str, float], per_file: Mapping[str, int] | None = None) -> None:
        self._rates = ByModel(per_character, TOKENS_PER_CHARACTER)
        self._per_file = ByModel(per_file or {}, TOKENS_PER_FILE)

    def of(self, characters: int, model: str) -> int:
        return math.ceil(characters * self._rates[model])

    def of_files(self, files: int, model: str) -> int:
        """What pictures, documents and sounds come to."""
        return files * self._per_file[model] if files else 0

    def characters(self, tokens: int, model: str) -> int:
        """How many characters so many tokens can hold."""
        return math.floor(tokens / self._rates[model])
