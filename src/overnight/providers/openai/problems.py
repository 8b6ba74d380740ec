"""The rules a model's options break, in sentences: the field, what was found, what to write instead."""

from collections.abc import Iterator
from typing import Any

from overnight.core.ask import Model
from overnight.providers.openai.families import Family, api_of, effort_of, family_of, thinking_choices
from overnight.providers.openai_api.body import RESERVED
from overnight.providers.writing import objects_in

_SMALLEST_RESPONSES_CAP = 16
_MOST_STOPS = 4
_ESCAPE = "if you know that the model takes it, put it under `extra`"


def problems(model: Model) -> list[str]:
    """Empty when the combination may be sent."""
    family = family_of(model.name)
    checks = (_api, _thinking, _sampling, _lengths, _chat_only, _schema, _extra)
    return [sentence for check in checks for sentence in check(model, family)]


def _api(model: Model, family: Family) -> Iterator[str]:
    if api_of(model) not in family.apis:
        yield (
            f"api: '{model.options.api}' with {model.name}, which answers only on the Responses API; "
            f"write `api: responses` or leave it out"
        )


def _thinking(model: Model, family: Family) -> Iterator[str]:
    thinking = model.options.thinking
    choices = ", ".join(thinking_choices(family))
    if thinking is None or thinking in thinking_choices(family):
        return
    if isinstance(thinking, int):
        yield f"thinking: a budget of {thinking} tokens; OpenAI has none, write one of {choices}"
    elif not family.reasons:
        yield f"thinking: '{thinking}' with {model.name}, whose thinking cannot be set; leave it out"
    elif thinking == "off":
        yield f"thinking: 'off' with {model.name}, which always thinks; write one of {choices}"
    else:
        yield f"thinking: '{thinking}' with {model.name}, which does not take it; write one of {choices}"


def _sampling(model: Model, family: Family) -> Iterator[str]:
    for field, value, highest in (
        ("temperature", model.options.temperature, 2),
        ("top_p", model.options.top_p, 1),
    ):
        if value is None:
            continue
        if not 0 <= value <= highest:
            yield f"{field}: {value:g}; wanted a number from 0 to {highest}"
        elif value != 1 and family.sampling == "never":
            yield (
                f"{field}: {value:g} with {model.name}, a reasoning model that takes only 1; leave it out ({_ESCAPE})"
            )
        elif value != 1 and family.sampling == "unless thinking" and effort_of(model) not in (None, "none"):
            yield (
                f"{field}: {value:g} with thinking {model.options.thinking}; {model.name} takes only 1 "
                f"while it thinks: leave it out, or write `thinking: off` ({_ESCAPE})"
            )


def _lengths(model: Model, family: Family) -> Iterator[str]:
    cap = model.options.max_tokens
    least = _SMALLEST_RESPONSES_CAP if "responses" in family.apis and api_of(model) == "responses" else 1
    if cap is not None and cap < least:
        yield f"max_tokens: {cap}; the {api_of(model)} API wants at least {least}"


def _chat_only(model: Model, family: Family) -> Iterator[str]:
    options = model.options
    on_responses = api_of(model) == "responses"
    way_out = (
        "write `api: chat` (thoughts are then not kept) or leave it out" if "chat" in family.apis else "leave it out"
    )
    if options.seed is not None and on_responses:
        yield f"seed: {options.seed} on the Responses API, which has no seed; {way_out}"
    if not options.stop:
        return
    if not family.stop:
        yield f"stop: not taken by {model.name}; leave it out ({_ESCAPE})"
    elif on_responses:
        yield f"stop: not taken by the Responses API; {way_out}"
    elif len(options.stop) > _MOST_STOPS:
        yield f"stop: {len(options.stop)} sequences; OpenAI takes at most {_MOST_STOPS}"


def _schema(model: Model, family: Family) -> Iterator[str]:
    schema = model.options.json_schema
    if schema is None:
        return
    if not family.schema:
        yield (
            f"json_schema: {model.name} cannot be held to a schema; leave it out and ask for tags, "
            f"or choose a newer model"
        )
    elif schema.get("type") != "object":
        yield "json_schema: the outermost `type` must be object; put the value into a field of one"
    else:
        yield from _loose_objects(schema)


def _loose_objects(schema: dict[str, Any]) -> Iterator[str]:
    """Strict mode wants every object closed and every field of it required, at any depth."""
    for where, found in objects_in(schema, "json_schema"):
        if found.get("additionalProperties") is not False:
            yield f"{where}: an object without `additionalProperties: false`; add it"
        required = found.get("required")
        missing = [name for name in found["properties"] if name not in (required if isinstance(required, list) else ())]
        if missing:
            yield f"{where}: {', '.join(missing)} not in `required`; OpenAI wants every field there"


def _extra(model: Model, _: Family) -> Iterator[str]:
    extra = model.options.extra
    for field in sorted(RESERVED & extra.keys()):
        yield f"extra: `{field}` is written by Overnight and cannot be set; leave it out"
    if extra.get("n", 1) != 1:
        yield f"extra: `n: {extra['n']}` would pay for answers that are not kept; write `replicates: {extra['n']}`"
