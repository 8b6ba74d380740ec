"""Anthropic's model families: how each of them thinks, and what it refuses. One place for every rule about a name."""

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

import msgspec

from overnight.core.ask import Model
from overnight.providers.contract import ModelRules

Version = Literal["2023-06-01", "2026-10-21"]
NEWEST: Version = "2026-10-21"
OLDER: Version = "2023-06-01"
VERSIONS: tuple[Version, ...] = (OLDER, NEWEST)
# The name, under `extra`, by which a study chooses the version of the API itself.
VERSION_FIELD = "anthropic_version"

LEAST_BUDGET = 1_024
# What the words for thinking come to where a model thinks by a budget of tokens.
BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384}
_LEVELS = ("low", "medium", "high")
# Room for an answer that nobody has set a limit for, and for what is thought before it.
ANSWER_TOKENS = 4_096
ADAPTIVE_TOKENS = 16_384


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """`thinks`: by a budget of tokens, by itself (with an effort), never, or nobody knows.

    `off` is the type that switches thinking off: empty where leaving it out does, None where nothing does.
    """

    name: str
    patterns: tuple[str, ...]
    thinks: Literal["budget", "adaptive", "never", "unknown"] = "adaptive"
    off: str | None = "disabled"
    samples: bool = False
    prefill: bool = True
    schema: bool = True
    longest: int = 128_000


UNKNOWN = Family(name="any other name", patterns=("*",), thinks="unknown", samples=True)

FAMILIES: tuple[Family, ...] = (
    Family(name="Fable 5.1, Opus 5.5", patterns=("claude-fable-5-1*", "claude-opus-5-5*"), off=None, prefill=False),
    Family(name="Sonnet 5.5", patterns=("claude-sonnet-5-5*",), off="between_tools"),
    Family(name="Haiku 5.5", patterns=("claude-haiku-5-5*",)),
    Family(name="Opus 5, Sonnet 5", patterns=("claude-opus-5*", "claude-sonnet-5*")),
    Family(name="Opus 4.7, 4.8", patterns=("claude-opus-4-7*", "claude-opus-4-8*"), off=""),
    Family(
        name="Opus 4.6, Sonnet 4.6",
        patterns=("claude-opus-4-6*", "claude-sonnet-4-6*"),
        thinks="budget",
        off="",
        samples=True,
    ),
    Family(
        name="4.5",
        patterns=("claude-*-4-5*",),
        thinks="budget",
        off="",
        samples=True,
        longest=64_000,
    ),
    Family(
        name="4, 4.1, 3.7",
        patterns=("claude-opus-4*", "claude-sonnet-4*", "claude-3-7*"),
        thinks="budget",
        off="",
        samples=True,
        schema=False,
        longest=64_000,
    ),
    Family(
        name="3.5 and older",
        patterns=("claude-3*", "claude-2*", "claude-instant*"),
        thinks="never",
        off="",
        samples=True,
        schema=False,
        longest=8_192,
    ),
    UNKNOWN,
)


@lru_cache(maxsize=1024)
def family_of(name: str) -> Family:
    return next(family for family in FAMILIES if any(fnmatchcase(name, one) for one in family.patterns))


def version_of(model: Model) -> Version:
    """The newest, unless the study chooses, or asks for sampling of a model that has it in the older one only."""
    chosen = model.options.extra.get(VERSION_FIELD)
    if chosen is not None:
        return OLDER if chosen == OLDER else NEWEST
    return OLDER if sampling(model) and family_of(model.name).samples else NEWEST


def sampling(model: Model) -> dict[str, float]:
    """What is asked for beyond the default, which is 1 for both."""
    asked = {"temperature": model.options.temperature, "top_p": model.options.top_p}
    return {field: value for field, value in asked.items() if value not in (None, 1)}


def thinking_choices(family: Family) -> list[str]:
    """What `thinking` may be set to for a family, in the study's words."""
    off = [] if family.off is None else ["off"]
    match family.thinks:
        case "never":
            return ["off"]
        case "adaptive":
            return [*off, "on", *_LEVELS]
        case "budget":
            return [*off, "on", "minimal", *_LEVELS, "a budget"]
    return [*off, "on", *_LEVELS, "a budget"]


def rules(name: str) -> ModelRules | None:
    """What is known of a model by its name."""
    family = family_of(name)
    if family is UNKNOWN:
        return None
    refused = {"temperature": not family.samples, "top_p": not family.samples, "json_schema": not family.schema}
    return ModelRules(
        family=family.name,
        thinking=tuple(thinking_choices(family)),
        refuses=("seed", *(option for option, no in refused.items() if no)),
        longest=family.longest,
    )


def budget_of(model: Model) -> int | None:
    """The budget that a model thinks by, if it is to think by one; half of `max_tokens` at most for a word."""
    thinking, family = model.options.thinking, family_of(model.name)
    if isinstance(thinking, int):
        return thinking if family.thinks in ("budget", "unknown") else None
    if thinking in (None, "off") or family.thinks != "budget":
        return None
    wanted = BUDGETS["medium" if thinking == "on" else thinking]
    limit = model.options.max_tokens
    return wanted if limit is None else min(wanted, max(LEAST_BUDGET, limit // 2))


def max_tokens_of(model: Model) -> int:
    """The API wants a limit for every answer: the study's, or one with room for the thoughts as well."""
    family, asked = family_of(model.name), model.options.max_tokens
    if asked is not None:
        return asked
    budget = budget_of(model)
    if budget is not None:
        return min(family.longest, budget + ANSWER_TOKENS)
    adaptive = family.thinks == "adaptive" and (model.options.thinking not in (None, "off") or family.off != "")
    return ADAPTIVE_TOKENS if adaptive else ANSWER_TOKENS
