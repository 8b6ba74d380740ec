"""The judge that a notebook's arguments describe: backend, model and the provider's own words for its options."""

from typing import Any

import msgspec

from overnight.core.arguments import misfit
from overnight.core.ask import Model, Options
from overnight.core.errors import StudyError, WrongArgument, nearest
from overnight.core.wording import quoted
from overnight.providers import vendor
from overnight.study.models import takes
from overnight.tasks._pairs.answer_form import TAGS

ENDPOINTS = {"chat.completions": "chat", "responses": "responses"}
OPTIONS = (
    "temperature", "top_p", "max_tokens", "seed", "endpoint", "reasoning", "thinking_level", "thinking_budget_tokens",
    "include_thoughts", "include_raw",
)  # fmt: skip
_KINDS: dict[str, type] = {
    **dict.fromkeys(("temperature", "top_p"), float),
    **dict.fromkeys(("max_tokens", "seed", "thinking_budget_tokens"), int),
    **dict.fromkeys(("include_thoughts", "include_raw"), bool),
}
_PLAIN = ("top_p", "max_tokens", "seed")
_SHORT_ANSWER, _ANSWER_AFTER_THINKING = 768, 2048
_LEAST_THOUGHT = 1024
_WORDS = {"none": "off", "enabled": "on"}


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked and how, and what of the answers is wanted. Kept beside a run, so that a resumed one has it too."""

    backend: str
    model: str
    entry: dict[str, Any]
    include_thoughts: bool = False
    include_raw: bool = False
    max_retries: int = 3
    tags: tuple[str, str] = TAGS


def judge_of(
    backend: str, model: str, options: dict[str, Any], max_retries: int = 3, tags: tuple[str, str] = TAGS
) -> Judge:
    """Unknown options are refused with the nearest that there is."""
    for name, value in options.items():
        if name not in OPTIONS:
            raise StudyError(f"unknown option {quoted(name)}{nearest(name, OPTIONS)} (known: {', '.join(OPTIONS)})")
        if problem := misfit(value, _KINDS.get(name, str) | None):
            raise WrongArgument(f"{name}: {problem}")
    provider = vendor(backend).name
    thoughts = bool(options.get("include_thoughts"))
    entry = {name: options[name] for name in _PLAIN if options.get(name) is not None}
    entry |= {"model": f"{provider}/{model}", "thinking": _thinking(provider, options, thoughts=thoughts)}
    if options.get("endpoint") is not None:
        entry["api"] = _api(options["endpoint"])
    if provider == "anthropic":
        thinks = entry["thinking"] not in (None, "off")
        entry.setdefault("max_tokens", _ANSWER_AFTER_THINKING if thinks else _SHORT_ANSWER)
    entry["temperature"] = _temperature(provider, model, entry, options.get("temperature"))
    return Judge(
        backend=provider,
        model=model,
        entry={name: value for name, value in entry.items() if value is not None},
        include_thoughts=thoughts,
        include_raw=bool(options.get("include_raw")),
        max_retries=max_retries,
        tags=tags,
    )


def _thinking(provider: str, options: dict[str, Any], *, thoughts: bool) -> str | int | None:
    """Each provider's own word for thinking, in the study's; thoughts can only be shown where there are any."""
    given = options.get("thinking_level") or options.get("reasoning")
    word = None if given is None else _WORDS.get(str(given).lower(), str(given).lower())
    if provider == "anthropic":
        if thoughts and word in (None, "off"):
            word = "on"
        budget = options.get("thinking_budget_tokens")
        return int(budget or _LEAST_THOUGHT) if word == "on" else word
    return "low" if thoughts and word in (None, "off") else word


def _api(endpoint: str) -> str:
    if endpoint not in ENDPOINTS:
        raise StudyError(
            f"endpoint: wanted {' or '.join(ENDPOINTS)}, found {quoted(endpoint)}{nearest(endpoint, ENDPOINTS)}"
        )
    return ENDPOINTS[endpoint]


def _temperature(provider: str, model: str, entry: dict[str, Any], given: float | None) -> float | None:
    """As given; else 0, unless the model thinks or takes none."""
    if given is not None or entry["thinking"] not in (None, "off"):
        return given
    options = Options(
        temperature=0.0, thinking=entry["thinking"], max_tokens=entry.get("max_tokens"), api=entry.get("api")
    )
    return 0.0 if takes(Model(provider=provider, name=model, options=options)) else None
