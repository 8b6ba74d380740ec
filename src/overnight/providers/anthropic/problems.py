"""The rules a model's options break, in sentences: the field, what was found, what to write instead."""

from collections.abc import Iterator

from overnight.core.ask import Model
from overnight.providers.anthropic.families import (
    LEAST_BUDGET,
    NEWEST,
    OLDER,
    VERSION_FIELD,
    VERSIONS,
    Family,
    budget_of,
    family_of,
    sampling,
    thinking_choices,
    version_of,
)
from overnight.providers.writing import objects_in

# What Overnight itself writes into a request, or sends otherwise.
RESERVED: frozenset[str] = frozenset({"model", "messages", "system", "max_tokens", "stream", VERSION_FIELD})
_ESCAPE = "if you know that the model takes it, put it under `extra`"


def problems(model: Model) -> list[str]:
    """Empty when the combination may be sent."""
    family = family_of(model.name)
    checks = (_thinking, _budget, _sampling, _lengths, _foreign, _schema, _extra)
    return [sentence for check in checks for sentence in check(model, family)]


def _thinking(model: Model, family: Family) -> Iterator[str]:
    thinking = model.options.thinking
    choices = thinking_choices(family)
    if thinking is None or thinking in choices or (isinstance(thinking, int) and "a budget" in choices):
        return
    instead = f"write one of {', '.join(choices)}"
    if family.thinks == "never":
        yield f"thinking: '{thinking}' with {model.name}, which cannot think; leave it out"
    elif isinstance(thinking, int):
        yield f"thinking: a budget of {thinking} tokens with {model.name}, which decides itself; {instead}"
    elif thinking == "off":
        yield f"thinking: 'off' with {model.name}, which always thinks; {instead}"
    else:
        yield f"thinking: '{thinking}' with {model.name}, which does not take it; {instead}"


def _budget(model: Model, family: Family) -> Iterator[str]:
    budget, limit = budget_of(model), model.options.max_tokens
    if budget is None:
        return
    if budget < LEAST_BUDGET:
        yield f"thinking: a budget of {budget} tokens; Anthropic wants at least {LEAST_BUDGET:,}"
    elif limit is not None and limit <= budget:
        yield f"max_tokens: {limit} with {budget:,} tokens to think; it counts both, so write more than that"
    elif limit is None and budget >= family.longest:
        yield f"thinking: a budget of {budget:,} tokens; {model.name} writes at most {family.longest:,} in all"
    if model.options.temperature not in (None, 1):
        yield f"temperature: {model.options.temperature:g} with thinking, which takes only 1; leave one of them out"


def _sampling(model: Model, family: Family) -> Iterator[str]:
    for field, value in sampling(model).items():
        if not 0 <= value <= 1:
            yield f"{field}: {value:g}; Anthropic wants a number from 0 to 1"
        elif not family.samples:
            yield f"{field}: {value:g} with {model.name}, which takes none but 1; leave it out ({_ESCAPE})"
        elif version_of(model) == NEWEST:
            yield (
                f"{field}: {value:g} under version {NEWEST}, which takes none; leave it out, "
                f"or write {VERSION_FIELD}: '{OLDER}' under `extra`"
            )


def _lengths(model: Model, family: Family) -> Iterator[str]:
    limit = model.options.max_tokens
    if limit is not None and not 1 <= limit <= family.longest:
        yield f"max_tokens: {limit}; {model.name} takes from 1 to {family.longest:,}"
    for stop in model.options.stop:
        if not stop.strip():
            yield f"stop: {stop!r}; Anthropic wants more than white space"


def _foreign(model: Model, _: Family) -> Iterator[str]:
    if model.options.seed is not None:
        yield f"seed: {model.options.seed}; Anthropic has no seed, leave it out"
    if model.options.api is not None:
        yield f"api: '{model.options.api}'; Anthropic has one API, leave it out"


def _schema(model: Model, family: Family) -> Iterator[str]:
    schema = model.options.json_schema
    if schema is None:
        return
    if not family.schema:
        yield (
            f"json_schema: {model.name} cannot be held to a schema; leave it out and ask for tags, "
            f"or choose a newer model"
        )
        return
    for where, found in objects_in(schema, "json_schema"):
        if found.get("additionalProperties") is not False:
            yield f"{where}: an object without `additionalProperties: false`; add it"


def _extra(model: Model, _: Family) -> Iterator[str]:
    extra = model.options.extra
    for field in sorted((RESERVED - {VERSION_FIELD}) & extra.keys()):
        own = "max_tokens: set it beside `model`" if field == "max_tokens" else "leave it out"
        yield f"extra: `{field}` is written by Overnight and cannot be set; {own}"
    version = extra.get(VERSION_FIELD)
    if version is not None and version not in VERSIONS:
        yield f"extra: {VERSION_FIELD} '{version}'; wanted {' or '.join(VERSIONS)}"
