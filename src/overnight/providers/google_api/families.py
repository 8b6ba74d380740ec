"""What Google's model families take and refuse, as data, and what that makes of a model's thinking.

The first family whose pattern fits a name is its family; a name that nothing fits gets no rules at all,
so that a model nobody knows yet can be asked on the day it appears.
"""

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec

from overnight.core.ask import Model
from overnight.providers.contract import ModelRules

_LOW_TO_HIGH = ("low", "medium", "high")
_ALL_LEVELS = ("minimal", *_LOW_TO_HIGH)
# What a level is for a family that knows budgets only, in tokens.
LEVEL_BUDGETS = {"minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}
_DYNAMIC = -1


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """`levels`: those sent by name; `budgets`: the least and the most tokens it may be told to think for.

    A family with neither does not think; one that `thinks_when_told` does not by itself. `known` is false for names
    that no family fits.
    """

    name: str
    patterns: tuple[str, ...]
    levels: tuple[str, ...] = ()
    budgets: tuple[int, int] | None = None
    stops_thinking: bool = False
    thinks_when_told: bool = False
    json_schema: bool = True
    known: bool = True

    @property
    def thinks(self) -> bool:
        return bool(self.levels) or self.budgets is not None or not self.known


UNKNOWN = Family(name="any other name", patterns=("*",), known=False)

FAMILIES: tuple[Family, ...] = (
    Family(name="gemini-2.0 and older", patterns=("gemini-1*", "gemini-2.0*"), json_schema=False),
    Family(name="gemini-2.5-pro", patterns=("gemini-2.5-pro*",), budgets=(128, 32_768)),
    Family(
        name="gemini-2.5-flash-lite",
        patterns=("gemini-2.5-flash-lite*",),
        budgets=(512, 24_576),
        stops_thinking=True,
        thinks_when_told=True,
    ),
    Family(name="gemini-2.5-flash", patterns=("gemini-2.5*",), budgets=(1, 24_576), stops_thinking=True),
    Family(name="gemini-3-pro", patterns=("gemini-3-pro*",), levels=("low", "high"), budgets=(128, 32_768)),
    Family(name="gemini-3.x pro", patterns=("gemini-3.*-pro*",), levels=_LOW_TO_HIGH, budgets=(128, 32_768)),
    Family(
        name="gemini-3.5-flash",
        patterns=("gemini-3.5-flash*",),
        levels=_ALL_LEVELS,
        budgets=(1, 24_576),
        stops_thinking=True,
    ),
    Family(name="gemini-3.7, 3.8 flash", patterns=("gemini-3.[78]-flash*",), levels=_LOW_TO_HIGH),
    Family(
        name="other gemini-3 flash",
        patterns=("gemini-3-flash*", "gemini-3.*-flash*"),
        levels=_ALL_LEVELS,
        budgets=(1, 24_576),
    ),
    UNKNOWN,
)


@lru_cache(maxsize=1024)
def family_of(name: str) -> Family:
    return next(family for family in FAMILIES if any(fnmatchcase(name, one) for one in family.patterns))


def thinking_config(model: Model) -> dict[str, Any] | None:
    """`thinking` in Google's words; None sends nothing, because it is unset or has no counterpart."""
    family, thinking = family_of(model.name), model.options.thinking
    if thinking is None or not family.thinks:
        return None
    if thinking == "off":
        return {"thinkingBudget": 0}
    if thinking == "on":
        # The model itself decides for how long: for a family that knows levels, that is its default.
        return {"includeThoughts": True} | ({} if family.levels else {"thinkingBudget": _DYNAMIC})
    if isinstance(thinking, int):
        return {"thinkingBudget": thinking, "includeThoughts": True}
    if thinking in family.levels or not family.known:
        return {"thinkingLevel": thinking.upper(), "includeThoughts": True}
    return {"thinkingBudget": LEVEL_BUDGETS[thinking], "includeThoughts": True}


def thinking_choices(family: Family) -> list[str]:
    """What `thinking` may be set to for a family, in the study's words, besides a budget of tokens."""
    if not family.known:
        return ["off", "on", *_ALL_LEVELS]
    if not family.thinks:
        return ["off"]
    levels = list(family.levels or (level for level, tokens in LEVEL_BUDGETS.items() if _within(tokens, family)))
    return [*(["off"] if family.stops_thinking else []), "on", *levels]


def rules(name: str) -> ModelRules | None:
    """What is known of a model by its name."""
    family = family_of(name)
    if not family.known:
        return None
    budget = () if family.budgets is None else ("{:,} to {:,} tokens".format(*family.budgets),)
    return ModelRules(
        family=family.name,
        thinking=(*thinking_choices(family), *budget),
        refuses=() if family.json_schema else ("json_schema",),
    )


def _within(tokens: int, family: Family) -> bool:
    return family.budgets is not None and family.budgets[0] <= tokens <= family.budgets[1]


def budget_fits(tokens: int, family: Family) -> bool:
    return not family.known or _within(tokens, family)
