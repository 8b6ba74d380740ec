"""What the emulator will answer, for tests: the same pure functions that the server uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from overnight_emulator.answering import Answer, Models, Prompt
from overnight_emulator.dialects.anthropic.prompts import message_prompt
from overnight_emulator.dialects.openai.prompts import read_prompt
from overnight_emulator.rows import canonical
from overnight_emulator.truth import Truth


def expected(seed: int, body: Mapping[str, Any], truth: Truth | None = None, dialect: str = "openai") -> Answer:
    """The answer to a request's body, as the dialect's vendor has it, under a truth with another seed."""
    models = Models(msgspec.structs.replace(truth or Truth(), seed=seed))
    return models.answer(_READERS[dialect](dict(body)))


def expected_answer(seed: int, body: Mapping[str, Any], truth: Truth | None = None, dialect: str = "openai") -> str:
    """The text of that answer."""
    return expected(seed, body, truth, dialect).text


def _message(params: dict[str, Any]) -> Prompt:
    return message_prompt(params, sha256(canonical(params)).digest())


_READERS: dict[str, Callable[[dict[str, Any]], Prompt]] = {"openai": read_prompt, "anthropic": _message}
