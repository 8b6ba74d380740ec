"""What OpenAI's model families take and refuse, as data, and what that makes of a model's options.

The first family whose pattern fits a name is its family; a name that nothing fits gets no rules at all,
so that a model nobody knows yet can be asked on the day it appears.
"""

import re
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

import msgspec

from overnight.core.ask import Model
from overnight.providers.contract import ModelRules
from overnight.providers.openai_api.body import Api

_BOTH: tuple[Api, ...] = ("chat", "responses")
_RESPONSES: tuple[Api, ...] = ("responses",)
_LEVELS = ("low", "medium", "high")


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """`efforts`: the reasoning efforts it takes; empty: it does not reason; None: nobody knows."""

    name: str
    patterns: tuple[str, ...]
    apis: tuple[Api, ...] = _BOTH
    efforts: tuple[str, ...] | None = ()
    # Whether `temperature` and `top_p` may be other than 1.
    sampling: Literal["any", "unless thinking", "never"] = "any"
    stop: bool = True
    schema: bool = True
    cap: Literal["max_tokens", "max_completion_tokens"] = "max_completion_tokens"
    system_role: Literal["system", "developer"] = "system"

    @property
    def reasons(self) -> bool:
        return bool(self.efforts)


def _reasoning(name: str, *patterns: str, efforts: tuple[str, ...], stop: bool = True) -> Family:
    # Those that can leave thinking out leave it out by default, and are sampled then like any other model.
    sampling: Literal["unless thinking", "never"] = "unless thinking" if "none" in efforts else "never"
    return Family(name=name, patterns=patterns, efforts=efforts, sampling=sampling, system_role="developer", stop=stop)


def _responses_only(name: str, *patterns: str, efforts: tuple[str, ...] | None, schema: bool = True) -> Family:
    return Family(
        name=name,
        patterns=patterns,
        apis=_RESPONSES,
        efforts=efforts,
        sampling="never",
        stop=False,
        schema=schema,
        system_role="developer",
    )


UNKNOWN = Family(name="any other name", patterns=("*",), efforts=None)

FAMILIES: tuple[Family, ...] = (
    _responses_only("deep research", "*-deep-research*", efforts=("medium",), schema=False),
    _responses_only("computer use", "computer-use-*", efforts=None, schema=False),
    _responses_only("codex", "gpt-*codex*", "codex-*", efforts=_LEVELS),
    _responses_only("o-series pro", "o[1-9]-pro*", efforts=_LEVELS),
    _responses_only("gpt-5-pro", "gpt-5-pro*", efforts=("high",)),
    _responses_only("gpt-5.x pro", "gpt-5.*-pro*", efforts=("medium", "high", "xhigh")),
    _responses_only("later pro", "gpt-*-pro", "gpt-*-pro-20*", efforts=None),
    Family(name="gpt-5 chat", patterns=("gpt-5*-chat*",)),
    _reasoning("gpt-5", "gpt-5", "gpt-5-*", efforts=("minimal", *_LEVELS), stop=False),
    _reasoning("gpt-5.1", "gpt-5.1", "gpt-5.1-*", efforts=("none", *_LEVELS)),
    _reasoning("gpt-5.2 and later", "gpt-5.*", efforts=("none", *_LEVELS, "xhigh")),
    _reasoning("o3, o4", "o3", "o3-*", "o4-*", efforts=_LEVELS, stop=False),
    _reasoning("other o-series", "o[1-9]", "o[1-9]-*", efforts=_LEVELS),
    Family(
        name="gpt-4 and older, chatgpt",
        patterns=("gpt-4", "gpt-4-*", "gpt-4o-2024-05-13", "gpt-3.5*", "chatgpt-*"),
        schema=False,
        cap="max_tokens",
    ),
    Family(name="gpt-4o, gpt-4.1, gpt-4.5", patterns=("gpt-4*",), cap="max_tokens"),
    UNKNOWN,
)

# The providers' announced last days.
SHUTDOWNS: tuple[tuple[date, tuple[str, ...]], ...] = (
    (
        date(2026, 10, 23),
        ("o1", "o3-mini", "o4-mini", "gpt-4.1-nano", "gpt-4", "gpt-4-turbo", "gpt-3.5-turbo"),
    ),
    (date(2026, 12, 11), ("gpt-5", "gpt-5-mini", "gpt-5-nano", "o3")),
    (date(2027, 1, 14), ("gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-4o-mini")),
    (date(2027, 4, 1), ("gpt-5.1", "gpt-5.4-nano")),
)
_NOTICE_DAYS = 60
_SNAPSHOT = re.compile(r"-(\d{4}|\d{4}-\d{2}-\d{2})$")


@lru_cache(maxsize=1024)
def family_of(name: str) -> Family:
    """The family of a model, or of the model it was tuned from (`ft:gpt-4.1:lab::id`)."""
    plain = name.split(":")[1] if name.startswith("ft:") and name.count(":") > 1 else name
    return next(family for family in FAMILIES if any(fnmatchcase(plain, one) for one in family.patterns))


def api_of(model: Model) -> Api:
    """Chat, unless the model has only Responses, or was asked to think: then its thoughts can be kept."""
    family = family_of(model.name)
    if model.options.api is not None:
        return model.options.api
    if "chat" not in family.apis:
        return "responses"
    thinks = family.reasons and model.options.thinking not in (None, "off")
    return "responses" if thinks else "chat"


def effort_of(model: Model) -> str | None:
    """`thinking` in the provider's word; None sends nothing, because it is unset or has no counterpart."""
    efforts = family_of(model.name).efforts
    thinking = model.options.thinking
    if thinking is None or isinstance(thinking, int) or efforts == ():
        return None
    if thinking == "off":
        return "none" if efforts is None or "none" in efforts else None
    if thinking == "on":
        return "medium" if efforts is None or "medium" in efforts else efforts[-1]
    return thinking


def thinking_choices(family: Family) -> list[str]:
    """What `thinking` may be set to for a family, in the study's words."""
    if family.efforts is None:
        return ["off", "on", "minimal", "low", "medium", "high"]
    if not family.efforts:
        return ["off"]
    levels = [effort for effort in family.efforts if effort in ("minimal", *_LEVELS)]
    return [*(["off"] if "none" in family.efforts else []), "on", *levels]


def rules(name: str) -> ModelRules | None:
    """What is known of a model by its name."""
    family = family_of(name)
    if family is UNKNOWN:
        return None
    on_chat = "chat" in family.apis
    refused = {
        "temperature": family.sampling == "never",
        "top_p": family.sampling == "never",
        "stop": not (family.stop and on_chat),
        "seed": not on_chat,
        "json_schema": not family.schema,
    }
    return ModelRules(
        family=family.name,
        thinking=tuple(thinking_choices(family)),
        refuses=tuple(option for option, no in refused.items() if no),
        ends=last_day(name),
    )


def last_day(name: str) -> date | None:
    """The announced one, also of a model's snapshots."""
    plain = _SNAPSHOT.sub("", name)
    return next((last for last, names in SHUTDOWNS if plain in names), None)


def notices(model: Model, today: date | None = None) -> list[str]:
    """What the user should know though nothing is refused: announced shutdowns, past and near."""
    day = last_day(model.name)
    if day is None:
        return []
    left = (day - (today or date.today())).days  # noqa: DTZ011 - the user's own calendar
    if left <= 0:
        return [f"{model.name}: OpenAI announced its end for {day}; requests may be refused as unknown model"]
    if left <= _NOTICE_DAYS:
        return [f"{model.name}: OpenAI announced its end for {day}, in {left} day{'s' * (left > 1)}"]
    return []
