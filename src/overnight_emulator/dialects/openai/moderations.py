"""Moderations: which kinds of harm a text names, as OpenAI writes it. A text is flagged for the kinds it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from overnight_emulator.answers.answering import Models
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.chance import Chance
from overnight_emulator.dialects.openai.errors import ApiError

USUAL_MODEL = "omni-moderation-latest"
_CATEGORIES = (
    *("harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent"),
    *("self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors"),
    *("violence", "violence/graphic"),
)
_SURE, _LITTLE = 0.9, 0.01


def moderate(models: Models, body: Mapping[str, Any], digest: bytes) -> Reply:
    model = str(body.get("model") or USUAL_MODEL)
    given = inputs_of(body)
    results = [_result(text, pictures, Chance(0)) for text, pictures in given]
    tokens = models.tokens.of(sum(len(text) for text, _ in given), model)
    told = {"id": f"modr-{digest.hex()[:29]}", "model": model, "results": results}
    return Reply(200, told, Usage(input_tokens=tokens))


def inputs_of(body: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """The texts that are looked at, each with whether pictures come with it; parts together are one."""
    given = body.get("input")
    if isinstance(given, str):
        return [(given, False)]
    if isinstance(given, list) and given and all(isinstance(one, str) for one in given):
        return [(one, False) for one in given]
    parts = given if isinstance(given, list) else []
    if not parts or not all(isinstance(one, dict) and one.get("type") in {"text", "image_url"} for one in parts):
        message = "Invalid 'input': wanted a string, strings, or parts of text and image_url."
        raise ApiError(400, message, param="input", code="invalid_value")
    words = "\n".join(str(part.get("text")) for part in parts if part["type"] == "text")
    return [(words, any(part["type"] == "image_url" for part in parts))]


def _result(text: str, pictures: bool, chance: Chance) -> dict[str, Any]:
    named = {name: _names(text.lower(), name) for name in _CATEGORIES}
    scores = {name: (_SURE if named[name] else _LITTLE) * chance.share(name, text) for name in _CATEGORIES}
    scores = {name: round(max(score, 0.5), 6) if named[name] else round(score, 6) for name, score in scores.items()}
    seen = ["text", "image"] if pictures else ["text"]
    return {
        "flagged": any(named.values()),
        "categories": named,
        "category_scores": scores,
        "category_applied_input_types": dict.fromkeys(_CATEGORIES, seen),
    }


def _names(text: str, category: str) -> bool:
    return all(re.search(rf"\b{re.escape(word)}", text) for word in category.split("/"))
