"""In what a server that speaks OpenAI's batch API may differ from OpenAI."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from overnight_emulator.batches.batch import WINDOW_SECONDS, Batch
from overnight_emulator.dialects.openai.objects import batch_object
from overnight_emulator.dialects.openai.paging import page
from overnight_emulator.dialects.openai.rules import CHAT, EMBEDDINGS, MODERATIONS, RESPONSES

_DURATION = re.compile(r"(\d{1,4})([hd])")
_SECONDS = {"h": 3_600, "d": 86_400}


class Terms(Struct, frozen=True):
    """`windows` tells in words which there are; `longest` is the longest of them, in seconds."""

    endpoints: tuple[str, ...] = (CHAT, RESPONSES, EMBEDDINGS, MODERATIONS)
    windows: str = "'24h'"
    longest: int = WINDOW_SECONDS
    ends_late: bool = False
    """Whether a batch that is past its window runs on."""
    show: Callable[[Batch, float], dict[str, Any]] = batch_object
    page: Callable[[Sequence[dict[str, Any]], int], dict[str, Any]] = page

    def window(self, word: str) -> int | None:
        """In seconds; None for one that is not offered."""
        found = _DURATION.fullmatch(word)
        seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
        return seconds if WINDOW_SECONDS <= seconds <= self.longest else None

    def expires_after(self, word: str) -> float:
        return 1e12 if self.ends_late else self.window(word) or math.inf


OPENAI_TERMS = Terms()
