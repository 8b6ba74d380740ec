"""How much models read and write, as far as their makers publish it; a model that nobody knows has no limit here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from overnight_emulator.answers.answering import Models, Turn
from overnight_emulator.patterns import ByModel, value_for
from overnight_emulator.truth import Truth

_CONTEXT = {
    "gpt-4.1*": 1_047_576,
    "gpt-4o*": 128_000,
    "gpt-4-turbo*": 128_000,
    "gpt-3.5-turbo*": 16_385,
    "gpt-5": 400_000,
    "gpt-5-*": 400_000,
    "gpt-5.1*": 400_000,
    "gpt-5*-chat-latest": 128_000,
    "o1*": 200_000,
    "o3*": 200_000,
    "o4-mini*": 200_000,
    "claude-2*": 200_000,
    "claude-3*": 200_000,
    "claude-haiku-4-5*": 200_000,
    "claude-opus-4-5*": 200_000,
    "gemini-2.0-flash*": 1_048_576,
    "gemini-2.5-*": 1_048_576,
    "gemini-3-*": 1_048_576,
}
_OUTPUT = {
    "gpt-4.1*": 32_768,
    "gpt-4o*": 16_384,
    "gpt-4-turbo*": 4_096,
    "gpt-3.5-turbo*": 4_096,
    "gpt-5": 128_000,
    "gpt-5-*": 128_000,
    "gpt-5.1*": 128_000,
    "gpt-5*-chat-latest": 16_384,
    "o1*": 100_000,
    "o3*": 100_000,
    "o4-mini*": 100_000,
    "gemini-2.0-flash*": 8_192,
    "gemini-2.5-*": 65_536,
    "gemini-3-*": 65_536,
}
_CONTEXT_OF, _OUTPUT_OF = ByModel(_CONTEXT, 0), ByModel(_OUTPUT, 0)


def most_input(model: str, truth: Truth) -> int | None:
    """The tokens that a prompt may have."""
    return _limit(model, truth.models.context_tokens, _CONTEXT_OF)


def most_output(model: str, truth: Truth) -> int | None:
    """The tokens that an answer may be allowed."""
    return _limit(model, truth.models.output_tokens, _OUTPUT_OF)


def too_long(models: Models, model: str, turns: Sequence[Turn]) -> bool:
    """Whether strict mode refuses a prompt for its length."""
    most = most_input(model, models.truth) if models.truth.strict else None
    return most is not None and models.input_tokens(turns, model) > most


def _limit(model: str, told: Mapping[str, int], known: ByModel[int]) -> int | None:
    found = value_for(model, told, otherwise=0) if told else 0
    return found or known[model] or None
