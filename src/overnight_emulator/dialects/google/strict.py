"""What Google's API checks before a model is asked: names of fields, limits of models, words of schemas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from overnight_emulator.answers.answering import Models
from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.dialects.google.prompts import turns_of
from overnight_emulator.model_limits import most_input, most_output
from overnight_emulator.strictness import out_of_range, unknown_field
from overnight_emulator.truth import Truth

# The name of the model is no part of a request's body, but stands beside it here.
_REQUEST = frozenset(
    {
        *("model", "contents", "systemInstruction", "generationConfig", "safetySettings", "tools", "toolConfig"),
        *("cachedContent", "labels", "modelArmorConfig", "serviceTier", "store"),
    }
)
_CONFIG = frozenset(
    {
        *("audioTimestamp", "audioTranscriptionConfig", "candidateCount", "enableAffectiveDialog"),
        *("enableEnhancedCivicAnswers", "frequencyPenalty", "imageConfig", "logprobs", "maxOutputTokens"),
        *("mediaResolution", "modelSelectionConfig", "presencePenalty", "responseFormat", "responseJsonSchema"),
        *("responseLogprobs", "responseMimeType", "responseModalities", "responseSchema", "routingConfig", "seed"),
        *("speechConfig", "stopSequences", "temperature", "thinkingConfig", "topK", "topP", "translationConfig"),
    }
)
_THINKING = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
_SCHEMA = frozenset(
    {
        *("additionalProperties", "defs", "ref", "anyOf", "default", "description", "enum", "example", "format"),
        *("items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties"),
        *("minimum", "nullable", "pattern", "properties", "propertyOrdering", "required", "title", "type"),
    }
)
_RANGES = {"presencePenalty": (-2, 2), "frequencyPenalty": (-2, 2)}


def check_strictly(model: str, request: dict[str, Any], truth: Truth, models: Models) -> None:
    """Of a request that has passed the rules."""
    config = request.get("generationConfig") or {}
    _check_names(request, _REQUEST, "")
    _check_names(config, _CONFIG, " at 'generation_config'")
    _check_names(config.get("thinkingConfig") or {}, _THINKING, " at 'generation_config.thinking_config'")
    _check_schema(config.get("responseSchema"), "generation_config.response_schema", 0)
    wrong = out_of_range(config, _RANGES)
    if wrong is not None:
        name, low, high = wrong
        raise GoogleError(400, f"Unable to submit request because {name} must be in the range [{low:g}, {high:g}].")
    longest, asked = most_output(model, truth), config.get("maxOutputTokens")
    if longest is not None and asked is not None and asked > longest:
        bounds = f"but the supported range is from 1 (inclusive) to {longest + 1} (exclusive)"
        raise GoogleError(400, f"Unable to submit request because it has a maxOutputTokens value of {asked} {bounds}.")
    most = most_input(model, truth)
    tokens = models.input_tokens(turns_of(request), model) if most is not None else 0
    if most is not None and tokens > most:
        message = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({most})."
        raise GoogleError(400, message)


def _check_names(found: Mapping[str, Any], known: Collection[str], where: str) -> None:
    strange = unknown_field(found, known)
    if strange is not None:
        message = f'Invalid JSON payload received. Unknown name "{strange}"{where}: Cannot find field.'
        raise GoogleError(400, message)


def _check_schema(schema: Any, where: str, depth: int) -> None:
    if not isinstance(schema, Mapping) or depth > 100:
        return
    _check_names(schema, _SCHEMA, f" at '{where}'")
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        _check_schema(part, f"{where}.properties[{name}]", depth + 1)
    _check_schema(schema.get("items"), f"{where}.items", depth + 1)
    for number, part in enumerate(schema.get("anyOf") or ()):
        _check_schema(part, f"{where}.any_of[{number}]", depth + 1)
