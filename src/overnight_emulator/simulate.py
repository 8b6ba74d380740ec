"""What the emulator will answer, for tests: the same pure functions that the server uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from overnight_emulator.answering import Answer, Models
from overnight_emulator.dialects.openai.prompts import read_prompt
from overnight_emulator.truth import Truth


def expected(seed: int, body: Mapping[str, Any], truth: Truth | None = None) -> Answer:
    """The answer to an OpenAI body (chat completions or responses) under a truth with another seed."""
    models = Models(msgspec.structs.replace(truth or Truth(), seed=seed))
    return models.answer(read_prompt(dict(body)))


def expected_answer(seed: int, body: Mapping[str, Any], truth: Truth | None = None) -> str:
    """The text of that answer."""
    return expected(seed, body, truth).text
