"""The rules a model's options break at Google, in sentences: the field, what was found, what to write instead."""

from collections.abc import Iterator
from typing import Any

from overnight.core.ask import Model
from overnight.providers.google_api.body import RESERVED
from overnight.providers.google_api.families import Family, budget_fits, family_of, thinking_choices
from overnight.providers.google_api.schema import schema_problems

_MOST_STOPS = 5


def problems(model: Model, *, imported: bool) -> list[str]:
    """Empty when the combination may be sent; `imported`: through Vertex's importer of tables."""
    family = family_of(model.name)
    found = [*_api(model), *_thinking(model, family), *_sampling(model), *_lengths(model), *_extra(model)]
    if model.options.json_schema is not None and (imported or not family.json_schema):
        found += schema_problems(model.options.json_schema, imported=imported)
    if imported:
        found += _unimportable("extra", model.options.extra)
    return found


def _api(model: Model) -> Iterator[str]:
    if model.options.api is not None:
        yield f"api: '{model.options.api}'; Google's models answer on one API only, leave it out"


def _thinking(model: Model, family: Family) -> Iterator[str]:
    thinking = model.options.thinking
    choices = thinking_choices(family)
    if thinking is None or thinking in choices or not family.known:
        return
    wanted = ", ".join(choices)
    if not family.thinks:
        yield f"thinking: '{thinking}' with {model.name}, which does not think; leave it out"
    elif isinstance(thinking, int):
        if family.budgets is None:
            yield f"thinking: a budget of {thinking} tokens, which {model.name} ignores; write one of {wanted}"
        elif not budget_fits(thinking, family):
            low, high = family.budgets
            yield f"thinking: a budget of {thinking} tokens; {model.name} takes {low} to {high}, or one of {wanted}"
    elif thinking == "off":
        yield f"thinking: 'off' with {model.name}, which always thinks; write one of {wanted}"
    else:
        yield f"thinking: '{thinking}' with {model.name}, which does not take it; write one of {wanted}"


def _sampling(model: Model) -> Iterator[str]:
    for field, value, highest in (
        ("temperature", model.options.temperature, 2),
        ("top_p", model.options.top_p, 1),
    ):
        if value is not None and not 0 <= value <= highest:
            yield f"{field}: {value:g}; wanted a number from 0 to {highest}"


def _lengths(model: Model) -> Iterator[str]:
    options = model.options
    if options.max_tokens is not None and options.max_tokens < 1:
        yield f"max_tokens: {options.max_tokens}; wanted at least 1"
    thinking = options.thinking
    if isinstance(thinking, int) and options.max_tokens is not None and thinking >= options.max_tokens:
        yield (
            f"max_tokens: {options.max_tokens}, which a thinking budget of {thinking} uses up; "
            f"thoughts count, so allow more"
        )
    if len(options.stop) > _MOST_STOPS:
        yield f"stop: {len(options.stop)} sequences; Google takes at most {_MOST_STOPS}"


def _extra(model: Model) -> Iterator[str]:
    extra = model.options.extra
    for field in sorted(RESERVED & extra.keys()):
        yield f"extra: `{field}` is written by Overnight and cannot be set; leave it out"
    for name in ("generationConfig", "generation_config"):
        config = extra.get(name, {})
        if not isinstance(config, dict):
            yield f"extra: `{name}` must be a mapping"
        elif config.get("candidateCount", 1) != 1:
            n = config["candidateCount"]
            yield f"extra: `candidateCount: {n}` would pay for answers that are not kept; write `replicates: {n}`"


def _unimportable(where: str, value: Any) -> Iterator[str]:
    """One such value fails a whole batch at Vertex."""
    if value is None or (isinstance(value, dict) and not value and where != "extra"):
        found = "null" if value is None else "empty"
        yield f"extra: `{where.removeprefix('extra.')}` is {found}, which Vertex cannot read; leave it out"
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _unimportable(f"{where}.{name}", part)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _unimportable(f"{where}[{place}]", part)
