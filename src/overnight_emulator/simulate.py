"""What the emulator will answer, for tests: the same pure functions that the server uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Answer, Models, Prompt
from overnight_emulator.batches.rows import canonical
from overnight_emulator.dialects.anthropic.prompts import message_prompt
from overnight_emulator.dialects.bedrock.asking import read_prompt as converse_prompt
from overnight_emulator.dialects.google.generating import digest_of
from overnight_emulator.dialects.google.prompts import read_prompt as google_prompt
from overnight_emulator.dialects.google.spelling import camel
from overnight_emulator.dialects.lookalike.answers import read_prompt as lookalike_prompt
from overnight_emulator.dialects.openai.prompts import read_prompt as openai_prompt
from overnight_emulator.truth import Truth


def expected(
    seed: int, body: Mapping[str, Any], truth: Truth | None = None, dialect: str = "openai", model: str = ""
) -> Answer:
    """The answer to a request's body, as the dialect's vendor has it, under a truth with another seed.

    `model` is for vendors that are told it elsewhere than in the body.
    """
    models = Models(msgspec.structs.replace(truth or Truth(), seed=seed))
    return models.answer(_READERS[dialect](dict(body), model))


def expected_answer(
    seed: int, body: Mapping[str, Any], truth: Truth | None = None, dialect: str = "openai", model: str = ""
) -> str:
    """The text of that answer."""
    return expected(seed, body, truth, dialect, model).text


def _message(params: dict[str, Any], _: str) -> Prompt:
    return message_prompt(params, sha256(canonical(params)).digest())


def _content(body: dict[str, Any], model: str) -> Prompt:
    whole = {**camel(body), "model": model}
    return google_prompt(model, whole, digest_of(whole))


def _converse(body: dict[str, Any], model: str) -> Prompt:
    return converse_prompt({**body, "model": model})


def _chat(body: dict[str, Any], model: str) -> Prompt:
    return lookalike_prompt({**body, "model": body.get("model") or model})


_READERS: dict[str, Callable[[dict[str, Any], str], Prompt]] = {
    "anthropic": _message,
    "azure": _chat,
    "bedrock": _converse,
    "fireworks": _chat,
    "gemini": _content,
    "groq": _chat,
    "mistral": _chat,
    "together": _chat,
    "openai": lambda body, _: openai_prompt(body),
    "vertex": _content,
    "xai": _chat,
}
