"""The published prices, from the data that genai-prices carries: read in place, never over the network."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from overnight.prices.money import NANO_PER_DOLLAR, half_up
from overnight.prices.rates import UPPER_BOUND, Kind, Price, Processing, Rate, Tier

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider

    from overnight.core.ask import Model

# Our names of the providers, and the catalogue's. None: their prices are the user's own affair.
CATALOGUE_IDS: dict[str, str | None] = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "aws",
    "compatible": None,
    "fireworks": "fireworks",
    "gemini": "google",
    "groq": "groq",
    "mistral": "mistral",
    "ollama": None,
    "openai": "openai",
    "together": "together",
    "vertex": "google",
    "xai": "x-ai",
}
ELSEWHERE = "list price: the study names another address"
BY_THE_HOUR = "upper bound: the price depends on the hour, the highest is used"

# Service tiers that are the ordinary one under another name.
_ORDINARY_TIERS = frozenset({"auto", "default", "standard", "standard_only", "on_demand"})
_HALF_HOURS = [timedelta(minutes=30 * step) for step in range(48)]


class _Listing(NamedTuple):
    """A model's place in the catalogue. `resold`: by a cloud that has no line of its own for another's model."""

    model: ModelInfo
    entry: str
    resold: bool
    note: str


class _Quote(NamedTuple):
    rate: Rate
    note: str = ""
    at_standard: tuple[Kind, ...] = ()


def listed(model: Model, processing: Processing, today: date) -> Price | None:
    """The published price of a model on a day, or None."""
    found = _find(model)
    if found is None:
        return None
    moments = _moments(found.model, today)
    quotes = list(dict.fromkeys(_quote(found, model, processing, moment) for moment in moments))
    dearest = max(quotes, key=lambda quote: (quote.rate.input or 0) + (quote.rate.output or 0))
    if dearest.rate.input is None and dearest.rate.output is None:
        return None
    notes = (found.note, dearest.note, BY_THE_HOUR if len(quotes) > 1 else "")
    return Price(
        provider=model.provider,
        model=model.name,
        processing=processing,
        rate=dearest.rate,
        note="; ".join(note for note in notes if note),
        source=_edition(),
        entry=found.entry,
        at_standard=dearest.at_standard,
    )


@cache
def _edition() -> str:
    return f"genai-prices {version('genai-prices')}"


@cache
def _snapshot() -> DataSnapshot:
    """The data inside the installed package, whatever another part of the process may have downloaded."""
    from genai_prices.data import providers  # noqa: PLC0415 - a third of a second that most commands do not need
    from genai_prices.data_snapshot import DataSnapshot  # noqa: PLC0415 - same

    return DataSnapshot(providers=providers, from_auto_update=False)


def _find(model: Model) -> _Listing | None:
    provider, note = _provider(model)
    everyone = _snapshot().providers
    found = provider and provider.find_model(model.name, all_providers=everyone)
    if not provider or not found:
        return None
    lister = next(one for one in everyone if any(found is listing for listing in one.models))
    return _Listing(found, f"{lister.id}/{found.id}", lister is not provider, note)


def _provider(model: Model) -> tuple[Provider | None, str]:
    """Whose prices apply: those of the address that the study names, if it is a known one; else the provider's."""
    if model.base_url is not None:
        try:
            return _snapshot().find_provider(None, None, model.base_url), ""
        except LookupError:
            pass
    wanted = CATALOGUE_IDS.get(model.provider, model.provider)
    provider = next((one for one in _snapshot().providers if one.id == wanted), None)
    return provider, ELSEWHERE if model.base_url is not None else ""


def _moments(model: ModelInfo, today: date) -> list[datetime]:
    """The times of the day at which the price may differ."""
    from genai_prices.types import ModelPrice, TimeOfDateConstraint  # noqa: PLC0415 - as above

    midnight = datetime.combine(today, time(), UTC)
    dated = () if isinstance(model.prices, ModelPrice) else model.prices
    conditional = (*dated, *(model.price_variants or ()))
    by_the_hour = any(isinstance(one.constraint, TimeOfDateConstraint) for one in conditional)
    return [midnight + step for step in _HALF_HOURS] if by_the_hour else [midnight]


def _quote(found: _Listing, model: Model, processing: Processing, moment: datetime) -> _Quote:
    standard = found.model.get_prices(moment)
    context = _context(model, processing)
    special = found.model.get_prices(moment, context)
    named = _named_keys(found, context, moment)
    keys = _price_keys(model, standard)
    if not context:
        return _Quote(_rate(standard, keys))
    if processing == "live" and named is None:
        tier = context["service_tier"]
        return _Quote(_rate(standard, keys), f"no price of service tier '{tier}' is known, the standard price is used")
    if processing == "live":
        return _Quote(_rate(special, keys))
    priced = {kind: key for kind, key in keys.items() if getattr(standard, key, None) is not None}
    unnamed = tuple(kind for kind, key in priced.items() if key not in (named or ()))
    if named is None or "input" in unnamed or "output" in unnamed:
        return _Quote(_rate(standard, keys), UPPER_BOUND)
    return _Quote(_rate(special, keys), "", unnamed)


def _context(model: Model, processing: Processing) -> dict[str, str]:
    """What the catalogue calls the special circumstances of a request."""
    if processing == "batch":
        return {"processing": "batch"}
    tier = model.options.extra.get("service_tier")
    return {"service_tier": tier} if isinstance(tier, str) and tier not in _ORDINARY_TIERS else {}


def _named_keys(found: _Listing, context: Mapping[str, str], moment: datetime) -> set[str] | None:
    """What the catalogue prices specially in these circumstances; None when it has nothing to say about them.

    Asked for a price in circumstances it does not know, it answers with the standard price and no word about it. And
    what the maker of a model gives for a batch, a cloud that resells the model need not give.
    """
    fitting = [
        variant.prices
        for variant in (found.model.price_variants or ())
        if (variant.constraint is None or variant.constraint.active(moment)) and variant.when.items() <= context.items()
    ]
    if found.resold or not fitting:
        return None
    return {key for prices in fitting for key, price in vars(prices).items() if price is not None}


def _price_keys(model: Model, prices: ModelPrice) -> dict[Kind, str]:
    hourly = getattr(prices, "cache_write_1h_mtok", None) is not None and _for_an_hour(model.options.extra)
    written = "cache_write_1h_mtok" if hourly else "cache_write_mtok"
    return {"input": "input_mtok", "cached": "cache_read_mtok", "cache_write": written, "output": "output_mtok"}


def _for_an_hour(asked: Any) -> bool:
    """Whether the request asks to be cached for an hour, which costs more to write than five minutes."""
    if isinstance(asked, Mapping):
        return asked.get("ttl") == "1h" or any(_for_an_hour(value) for value in asked.values())
    return isinstance(asked, list | tuple) and any(_for_an_hour(value) for value in asked)


def _rate(prices: ModelPrice, keys: Mapping[Kind, str]) -> Rate:
    listed = {kind: getattr(prices, key, None) for kind, key in keys.items()}
    starts = sorted({tier.start for price in listed.values() for tier in getattr(price, "tiers", ())})
    tiers = tuple(
        Tier(above_input_tokens=start, **{kind: _amount(price, start) for kind, price in listed.items()})
        for start in starts
    )
    request = getattr(prices, "requests_kcount", None)
    return Rate(
        **{kind: _amount(price, None) for kind, price in listed.items()},
        tiers=tiers,
        request=None if request is None else half_up(Fraction(request) * NANO_PER_DOLLAR / 1000),
    )


def _amount(price: Any, start: int | None) -> int | None:
    """One price, for prompts longer than `start`; the shortest prompts when it is None."""
    if price is None:
        return None
    steps = [tier.price for tier in getattr(price, "tiers", ()) if start is not None and tier.start <= start]
    chosen = steps[-1] if steps else getattr(price, "base", price)
    return half_up(Fraction(chosen) * NANO_PER_DOLLAR)
