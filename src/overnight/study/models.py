"""The models of a study: what may be written about one, and what it comes to at its provider."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast, get_args

import msgspec

from overnight.core.ask import Model, Options, Thinking
from overnight.core.errors import UnknownName, nearest
from overnight.core.wording import quoted
from overnight.prices.known_models import doubt_about
from overnight.providers import notices, resolve_model, vendor
from overnight.study.buckets import StudyBuckets
from overnight.study.origin import Origin, Route
from overnight.study.places import check_places, pool_notes, pool_of
from overnight.study.schema import read_schema

THINKING_WORDS: tuple[str, ...] = get_args(get_args(Thinking)[0])
APIS = ("chat", "responses")


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One entry of `models`. A list of thinking settings is as many arms."""

    model: str
    thinking: str | int | list[str | int] | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    system: str | None = None
    json_schema: str | dict[str, Any] | None = None
    api: str | None = None
    extra: dict[str, Any] = {}
    key: str | None = None
    keys: list[str] | None = None
    base_url: str | list[str] | None = None
    # Its name is meant as it is, though it looks like that of a known model mistyped.
    new: bool = False


class Candidate(NamedTuple):
    """One model with one thinking setting; `entry` is its place in the study's list."""

    entry: int
    model: Model
    system: str | None


def entries(written: Sequence[str | ModelEntry]) -> tuple[ModelEntry, ...]:
    return tuple(ModelEntry(model=entry) if isinstance(entry, str) else entry for entry in written)


def check_models(written: Sequence[str | ModelEntry], origin: Origin, key: str = "models") -> None:
    """Everything about the entries that can be known without a provider. `key` is where they stand in the study."""
    if not written:
        raise origin.error((key,), "at least one model is needed")
    for index, entry in enumerate(entries(written)):
        _check_entry(entry, origin, (key, index))


def _check_entry(entry: ModelEntry, origin: Origin, route: Route) -> None:
    if not entry.model.strip():
        raise origin.error(route, "the name of the model is empty")
    _check_between(entry.temperature, 2, origin, (*route, "temperature"))
    _check_between(entry.top_p, 1, origin, (*route, "top_p"))
    if entry.max_tokens is not None and entry.max_tokens < 1:
        raise origin.error((*route, "max_tokens"), f"{entry.max_tokens} is less than 1")
    if entry.api is not None and entry.api not in APIS:
        near = nearest(entry.api, APIS)
        raise origin.error((*route, "api"), f"wanted chat or responses, found '{entry.api}'{near}")
    if any(not stop for stop in _listed(entry.stop)):
        raise origin.error((*route, "stop"), "an empty text stops nothing")
    if entry.system is not None and not entry.system.strip():
        raise origin.error((*route, "system"), "the text is empty")
    _check_thinking(entry, origin, (*route, "thinking"))
    check_places(entry, origin, route)


def _check_between(value: float | None, most: int, origin: Origin, route: Route) -> None:
    if value is not None and not 0 <= value <= most:
        raise origin.error(route, f"{value:g} is not between 0 and {most}")


def _check_thinking(entry: ModelEntry, origin: Origin, route: Route) -> None:
    listed = isinstance(entry.thinking, list)
    settings = _listed(entry.thinking)
    if listed and not settings:
        raise origin.error(route, "the list is empty")
    for index, setting in enumerate(settings):
        here = (*route, index) if listed else route
        if isinstance(setting, int) and setting < 1:
            raise origin.error(here, f"a token budget of {setting} is less than 1; to switch thinking off write off")
        if isinstance(setting, str) and setting not in THINKING_WORDS:
            choices = f"wanted {', '.join(THINKING_WORDS)} or a token budget"
            raise origin.error(here, f"{choices}, found {quoted(setting)}{nearest(setting, THINKING_WORDS)}")
        if setting in settings[:index]:
            raise origin.error(here, f"{setting} is listed twice")


def resolve_models(
    written: Sequence[str | ModelEntry], origin: Origin, buckets: StudyBuckets | None = None, key: str = "models"
) -> tuple[list[Candidate], list[str]]:
    """Every entry with every thinking setting, passed by its provider's rules; and what the user should know."""
    candidates: list[Candidate] = []
    notes: list[str] = []
    for index, entry in enumerate(entries(written)):
        provider, name = _resolved_name(entry, origin, (key, index), buckets)
        notes += _check_name(entry, provider, name, origin, (key, index))
        stored = buckets.of(provider) if buckets is not None else None
        if "/" not in entry.model:
            notes.append(f"{key}[{index}]: {entry.model} is taken as {provider}/{name}")
        notes += pool_notes(entry, f"{key}[{index}]")
        for options in _options(entry, origin, (key, index)):
            pool = pool_of(entry)
            model = Model(
                provider=provider, name=name, options=options, key=pool[0].key, base_url=pool[0].base_url,
                buckets=stored, pool=pool if len(pool) > 1 else (),
            )  # fmt: skip
            _check_rules(model, origin, (key, index))
            notes += notices(model)
            candidates.append(Candidate(index, model, entry.system))
    return candidates, list(dict.fromkeys(notes))


def _resolved_name(entry: ModelEntry, origin: Origin, route: Route, buckets: StudyBuckets | None) -> tuple[str, str]:
    try:
        return resolve_model(entry.model, bucketed=buckets.providers if buckets is not None else ())
    except UnknownName as error:
        raise origin.error(route, str(error), UnknownName) from None


def _check_name(entry: ModelEntry, provider: str, name: str, origin: Origin, route: Route) -> list[str]:
    """A slip is refused before it fails a batch; a name that may be new is only pointed out.

    Another address may have names of its own.
    """
    doubt = None if entry.new or entry.base_url is not None else doubt_about(provider, name)
    if doubt is None:
        return []
    known = f"{provider}/{doubt.nearest}"
    if not doubt.slip:
        return [f"{entry.model} is not known here (the nearest is {known}); it is asked as it is written"]
    meant = f"if it is a new model, say so: {{model: {entry.model}, new: true}}"
    raise origin.error(route, f"no model '{entry.model}' is known; did you mean '{known}'? {meant}", UnknownName)


def _options(entry: ModelEntry, origin: Origin, route: Route) -> list[Options]:
    shared = Options(
        temperature=entry.temperature,
        top_p=entry.top_p,
        max_tokens=entry.max_tokens,
        seed=entry.seed,
        stop=tuple(_listed(entry.stop)),
        json_schema=read_schema(entry.json_schema, origin, (*route, "json_schema")),
        api=cast(Literal["chat", "responses"] | None, entry.api),
        extra=entry.extra,
    )
    settings = _listed(entry.thinking) or [None]
    return [msgspec.structs.replace(shared, thinking=setting) for setting in settings]


def takes(model: Model) -> bool:
    """Whether the model's provider has nothing against it and its options."""
    return not _problems(model)


def _problems(model: Model) -> list[str]:
    return vendor(model.provider).format.problems(model)


def _check_rules(model: Model, origin: Origin, route: Route) -> None:
    """A provider's sentence begins with the field that it is about."""
    problems = _problems(model)
    if not problems:
        return
    field, colon, rest = problems[0].partition(": ")
    if colon and field in ModelEntry.__struct_fields__:
        raise origin.error((*route, field), "; ".join([rest, *problems[1:]]))
    raise origin.error(route, "; ".join(problems))


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
