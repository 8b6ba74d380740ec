"""The vendors there are, by name: our own and those of other packages (entry point `overnight.providers`)."""

import re
from collections.abc import Container, Mapping
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from overnight.core.ask import Model
from overnight.core.errors import UnknownName, nearest
from overnight.core.plugins import points_of
from overnight.core.wording import quoted
from overnight.providers.contract import (
    Batch,
    BatchConnection,
    BatchFormat,
    Connection,
    Counts,
    CreateAnswer,
    Endpoint,
    Fence,
    Format,
    Intent,
    Limits,
    LiveConnection,
    LiveFormat,
    ModelRules,
    Ours,
    Phase,
    Rates,
    ReadyLine,
    Refusal,
    RefusalKind,
    Reply,
    Sightings,
    Vendor,
)
from overnight.providers.provider import (
    Provider,
    batch_floor,
    batch_format,
    batches_of,
    calls_of,
    connected,
    live_format,
    offer_of,
    takes_batches,
    takes_calls,
    unconnected,
)
from overnight.providers.reading.secrets import taken_echoes
from overnight.providers.registry import Installed

__all__ = [
    "ALIASES",
    "Batch",
    "BatchConnection",
    "BatchFormat",
    "Connection",
    "Counts",
    "CreateAnswer",
    "Endpoint",
    "Fence",
    "Format",
    "Intent",
    "Limits",
    "LiveConnection",
    "LiveFormat",
    "ModelRules",
    "Ours",
    "Phase",
    "Provider",
    "Rates",
    "ReadyLine",
    "Refusal",
    "RefusalKind",
    "Reply",
    "Sightings",
    "Vendor",
    "answered_by",
    "answers_in_order",
    "batch_floor",
    "batch_format",
    "batches_of",
    "bucket_owner",
    "bucket_scheme",
    "bucket_variables",
    "calls_of",
    "check_sending",
    "connected",
    "emulated_endpoint",
    "guide",
    "key_variables",
    "live_format",
    "notices",
    "offer_of",
    "own_host",
    "owners",
    "ready_line",
    "resolve_model",
    "rules_of",
    "taken_echoes",
    "takes_batches",
    "takes_calls",
    "thinks_by_itself",
    "unconnected",
    "variables_of",
    "vendor",
    "vendors",
]

GROUP = "overnight.providers"
ALIASES = {"claude": "anthropic", "google": "gemini"}
# What an alias stands for where buckets are given.
_WITH_BUCKETS = {"google": "vertex"}
_TITLE = """\
# Providers

What each provider takes and refuses, as Overnight applies it. This page is written from the code.
"""


@runtime_checkable
class _Forewarned(Protocol):
    """A vendor that knows what is about to change."""

    def notices(self, model: Model, today: date | None = None) -> list[str]: ...


@runtime_checkable
class _Thinking(Protocol):
    """A format that knows which models think before they answer, if nobody tells them."""

    def thinks_by_itself(self, model: Model) -> bool: ...


@runtime_checkable
class _Nameless(Protocol):
    """A format whose lines name no model, since the batch does: a line that is sent by itself has to."""

    def ready_line(self, model: Model, custom_id: str, body: bytes) -> bytes: ...


@runtime_checkable
class _NamesModels(Protocol):
    """A format whose output lines name the model that answered."""

    def answered_by(self, line: bytes) -> str | None: ...


@runtime_checkable
class _Ruled(Protocol):
    """A vendor that knows the rules of its models by their names."""

    def rules(self, name: str) -> ModelRules | None: ...


@runtime_checkable
class _Documented(Protocol):
    """A vendor that can describe its rules."""

    def guide(self) -> str: ...


@runtime_checkable
class _Bucketed(Protocol):
    """A vendor whose batches read and write in buckets of the user's; `bucket_scheme` begins their addresses."""

    bucket_scheme: str
    # The variables that name them where the study does not: questions, answers.
    bucket_variables: tuple[str, str]


@runtime_checkable
class _Particular(Protocol):
    """A vendor that wants more for batches than for calls."""

    def check_sending(self, endpoint: Endpoint) -> None: ...


@runtime_checkable
class _Placed(Protocol):
    """A vendor whose endpoint at an emulator is more than an address and a key."""

    def at_emulator(self, endpoint: Endpoint, origin: str, model: Model | None) -> Endpoint: ...


@runtime_checkable
class _Surrounded(Protocol):
    """A vendor that reads more of the environment than its key and its address."""

    other_variables: tuple[str, ...]


@runtime_checkable
class _TwiceKeyed(Protocol):
    """A vendor whose key may be in other variables, too."""

    other_key_variables: tuple[str, ...]


@runtime_checkable
class _InFolder(Protocol):
    """A vendor whose address may be a folder of this machine."""

    in_folder: bool


@runtime_checkable
class _InOrder(Protocol):
    """A vendor that answers in the order of the requests, and once took these without names."""

    answers_in_order: bool


@runtime_checkable
class _Regional(Protocol):
    """A vendor that has many hosts; `own_hosts` fits their names as a whole."""

    own_hosts: re.Pattern[str]


def vendors() -> dict[str, Vendor]:
    """Every vendor that can be used here, in the order of their names."""
    return dict(_installed())


def vendor(name: str) -> Vendor:
    """One vendor, by its name or an alias of it."""
    known = _installed()
    found = known.get(ALIASES.get(name, name))
    if found is None:
        offered = nearest(name, [*known, *(alias for alias, real in ALIASES.items() if real in known)])
        raise UnknownName(f"provider {quoted(name)} is not known{offered} (known: {', '.join(known)})")
    return found


def owners(model_name: str) -> list[str]:
    """The vendors that a bare model name can belong to. A pattern with `!` takes names out again."""
    return [name for name, one in _installed().items() if _fits(model_name, one.models)]


def bucket_owner(name: str) -> str:
    """The vendor of this name, or of this alias where it is about buckets."""
    return vendor(_WITH_BUCKETS.get(name, name)).name


def resolve_model(text: str, *, bucketed: Container[str] = ()) -> tuple[str, str]:
    """`provider/model`, split at the first slash; or a bare name that only one provider can own.

    `bucketed`: the providers that have buckets; an alias may stand for one of them.
    """
    provider, slash, name = text.strip().partition("/")
    if slash:
        if not provider or not name:
            raise UnknownName(f"model '{text}': wanted provider/model, as in openai/gpt-4.1")
        with_buckets = _WITH_BUCKETS.get(provider, provider)
        return vendor(with_buckets if with_buckets in bucketed else provider).name, name
    candidates = owners(provider)
    if len(candidates) == 1:
        return candidates[0], provider
    choices = ", ".join(f"{one}/{provider or 'MODEL'}" for one in candidates or _installed())
    why = "could be of more than one provider" if candidates else "is of no provider that is known here"
    raise UnknownName(f"model '{text}' {why}; write one of {choices}")


def thinks_by_itself(seller: Vendor, model: Model) -> bool:
    """Whether it thinks before it answers where `thinking` is not set; no, where nobody knows."""
    return isinstance(seller.format, _Thinking) and seller.format.thinks_by_itself(model)


def answered_by(seller: Vendor, line: bytes) -> str | None:
    """The model that an output line names; None where it names none."""
    return seller.format.answered_by(line) if isinstance(seller.format, _NamesModels) else None


def ready_line(seller: Vendor, model: Model, custom_id: str, body: bytes) -> bytes:
    """A line of a file that can be sent by itself: it names its model, also where the vendor's own lines do not."""
    own = batch_format(seller)
    return own.ready_line(model, custom_id, body) if isinstance(own, _Nameless) else own.line(model, custom_id, body)


def notices(model: Model, today: date | None = None) -> list[str]:
    """What the model's vendor announced about it: nothing is refused, but the user should know."""
    found = vendor(model.provider)
    return found.notices(model, today) if isinstance(found, _Forewarned) else []


def rules_of(one: Vendor, name: str) -> ModelRules | None:
    """What a vendor knows of a model; None where nobody knows anything."""
    return one.rules(name) if isinstance(one, _Ruled) else None


def bucket_scheme(name: str) -> str | None:
    """How the addresses of a vendor's buckets begin; None for one that uses none."""
    found = vendor(name)
    return found.bucket_scheme if isinstance(found, _Bucketed) else None


def bucket_variables(one: Vendor) -> tuple[str, ...]:
    """The variables that name a vendor's buckets; none for one that uses none."""
    return one.bucket_variables if isinstance(one, _Bucketed) else ()


def key_variables(one: Vendor) -> tuple[str, ...]:
    """Where a vendor's key usually is."""
    return (one.key_variable, *(one.other_key_variables if isinstance(one, _TwiceKeyed) else ()))


def variables_of(one: Vendor) -> frozenset[str]:
    """Everything that a vendor reads of the environment."""
    others = one.other_variables if isinstance(one, _Surrounded) else ()
    return frozenset({*key_variables(one), one.base_url_variable, *bucket_variables(one), *others})


def keeps_in_folder(one: Vendor) -> bool:
    """Whether what is called its address is a folder of this machine."""
    return isinstance(one, _InFolder) and one.in_folder


def answers_in_order(one: Vendor) -> bool:
    """Whether answers without names may be joined to their requests by their places, if the user says so."""
    return isinstance(one, _InOrder) and one.answers_in_order


def own_host(one: Vendor, host: str) -> bool:
    """Whether the host is the vendor's own."""
    if isinstance(one, _Regional):
        return one.own_hosts.fullmatch(host) is not None
    return bool(one.default_base_url) and urlsplit(one.default_base_url).hostname == host.lower().rstrip(".")


def check_sending(one: Vendor, endpoint: Endpoint) -> None:
    """What an endpoint lacks for batches, though it will do for calls, is said before anything is written."""
    if isinstance(one, _Particular):
        one.check_sending(endpoint)


def emulated_endpoint(one: Vendor, origin: str, key: str, model: Model | None = None) -> Endpoint:
    """Where a vendor is at an emulator."""
    plain = Endpoint(base_url=origin + one.emulator_path, key=key)
    return one.at_emulator(plain, origin, model) if isinstance(one, _Placed) else plain


def guide() -> str:
    """docs/providers.md."""
    pages = [one.guide() for one in _installed().values() if isinstance(one, _Documented)]
    return "\n".join((_TITLE, _overview(), *pages))


def _overview() -> str:
    """What each takes, side by side."""
    heads = ("provider", "requests in a batch", "size", "window", "results kept", "discount", "live calls")
    rows = []
    for name, one in _installed().items():
        offer = offer_of(one)
        told = (offer.requests, offer.size, offer.window, offer.kept, offer.discount)
        shown = told if offer.requests else ("none", "", "", "", "")
        rows.append((f"[{name}](#{name})", *shown, "yes" if offer.live else "no"))
    lines = (f"| {' | '.join(row)} |".replace("  ", " ") for row in (heads, ("---",) * len(heads), *rows))
    return "## What each of them takes\n\n" + "".join(f"{line}\n" for line in lines)


@cache
def _installed() -> Mapping[str, Vendor]:
    return Installed(points_of(GROUP))


def _fits(model_name: str, patterns: tuple[str, ...]) -> bool:
    wanted = (pattern for pattern in patterns if not pattern.startswith("!"))
    unwanted = (pattern[1:] for pattern in patterns if pattern.startswith("!"))
    return any(fnmatchcase(model_name, one) for one in wanted) and not any(
        fnmatchcase(model_name, one) for one in unwanted
    )
