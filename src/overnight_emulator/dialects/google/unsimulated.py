"""What this emulator does not do of Google's API: refused by name, so that nobody takes silence for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overnight_emulator.dialects.google.errors import GoogleError

PARTS = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
# What may stand beside the content of a part.
_BESIDE = frozenset({"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"})
_CONFIG = (
    *("responseLogprobs", "logprobs", "speechConfig", "imageConfig", "audioTimestamp", "enableAffectiveDialog"),
    *("modelSelectionConfig", "routingConfig", "enableEnhancedCivicAnswers", "audioTranscriptionConfig"),
    *("continuationToken", "generationOutputConfig", "modelArmorConfig", "responseFormat", "translationConfig"),
)
_BESIDE_CONFIG = ("cachedContent", "modelArmorConfig", "continuationToken", "generationOutputConfig")


def refuse_unsimulated(request: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    for name in _BESIDE_CONFIG:
        if request.get(name) is not None:
            raise _refused(_snake(name))
    for name in _CONFIG:
        if config.get(name):
            raise _refused(f"generation_config.{name}")
    other = [one for one in config.get("responseModalities") or () if str(one).upper() != "TEXT"]
    if other:
        raise _refused(f"generation_config.responseModalities: {other[0]}")


def check_parts(parts: list[dict[str, Any]], where: str) -> None:
    for place, part in enumerate(parts):
        told = [name for name in part if name not in _BESIDE]
        strange = next((name for name in told if name not in PARTS), None)
        if strange is not None:
            raise _refused(f"{where}.parts[{place}].{strange}")


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _refused(what: str) -> GoogleError:
    return GoogleError(400, f"{what}: not simulated by this emulator.")
