"""The published prices of the models that a study asks, from the newest list at hand."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from overnight.core.ask import Model
from overnight.prices.genai import SOURCE, Unreadable, installed_version, is_newer, read_installed
from overnight.prices.money import NANO_PER_DOLLAR, half_up
from overnight.prices.price_list import Amount, Listing, PriceList, Seller, Stepped, snapshot
from overnight.prices.rates import UPPER_BOUND, Kind, Price, Processing, Rate, Tier

# Our names of the providers, and the catalogue's. None: their prices are the user's own affair.
CATALOGUE_IDS: dict[str, str | None] = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "aws",
    "compatible": None,
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "gemini": "google",
    "groq": "groq",
    "mistral": "mistral",
    "ollama": None,
    "openai": "openai",
    "openrouter": "openrouter",
    "together": "together",
    "vertex": "google",
    "vllm": None,
    "xai": "x-ai",
}
ELSEWHERE = "list price: the study names another address"
BY_THE_HOUR = "upper bound: the price depends on the hour, the highest is used"

# Service tiers that are the ordinary one under another name.
_ORDINARY_TIERS = frozenset({"auto", "default", "standard", "standard_only", "on_demand"})
_HALF_HOURS = [timedelta(minutes=30 * step) for step in range(48)]


class Published(NamedTuple):
    """A list of prices, and where it comes from, in words."""

    prices: PriceList
    origin: str


class _Found(NamedTuple):
    """A model's place in the list. `resold`: by a cloud that has no line of its own for another's model."""

    listing: Listing
    entry: str
    resold: bool
    note: str


class _Quote(NamedTuple):
    rate: Rate
    note: str = ""
    at_standard: tuple[Kind, ...] = ()


def listed(model: Model, processing: Processing, today: date) -> Price | None:
    """The published price of a model on a day, or None."""
    return quoted(newest(), model, processing, today)


def quoted(published: Published, model: Model, processing: Processing, today: date) -> Price | None:
    """The same, from one list."""
    found = _find(published.prices, model)
    if found is None:
        return None
    moments = _moments(found.listing, today)
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
        source=published.origin,
        entry=found.entry,
        at_standard=dearest.at_standard,
    )


@cache
def newest() -> Published:
    """The list that comes with Overnight, or that of the installed genai-prices where it is newer."""
    ours = carried()
    installed = installed_version()
    if installed is None or not is_newer(installed, ours.prices.version):
        return ours
    try:
        return of_the_package(read_installed())
    except Unreadable as error:
        reason = str(error).partition("\n")[0]
        return ours._replace(origin=f"{ours.origin} ({SOURCE} {installed} is installed but cannot be read: {reason})")


def carried() -> Published:
    prices = snapshot()
    return Published(prices, f"{prices.source} {prices.version} as of {prices.date}")


def of_the_package(prices: PriceList) -> Published:
    return Published(prices, f"{prices.source} {prices.version} as installed on {prices.date}")


def _find(prices: PriceList, model: Model) -> _Found | None:
    seller, note = _seller(prices, model)
    found = seller and prices.find_short(seller, model.name)
    if not seller or not found:
        return None
    lister, listing = found
    return _Found(listing, f"{lister.id}/{listing.id}", lister is not seller, note)


def _seller(prices: PriceList, model: Model) -> tuple[Seller | None, str]:
    """Whose prices apply: those of the address that the study names, if it is a known one; else the provider's."""
    if model.base_url is not None:
        known = prices.seller_at(model.base_url)
        if known is not None:
            return known, ""
    seller = prices.seller(CATALOGUE_IDS.get(model.provider, model.provider))
    return seller, ELSEWHERE if model.base_url is not None else ""


def _moments(listing: Listing, today: date) -> list[datetime]:
    """The times of the day at which the price may differ."""
    midnight = datetime.combine(today, time(), UTC)
    return [midnight + step for step in _HALF_HOURS] if listing.by_the_hour() else [midnight]


def _quote(found: _Found, model: Model, processing: Processing, moment: datetime) -> _Quote:
    standard = found.listing.standard_at(moment).named()
    context = _context(model, processing)
    # What the maker of a model gives for a batch, a cloud that resells the model need not give.
    special = None if found.resold else found.listing.special_at(moment, context)
    keys = _price_keys(model, standard)
    if not context:
        return _Quote(_rate(standard, keys))
    if processing == "live" and special is None:
        tier = context["service_tier"]
        return _Quote(_rate(standard, keys), f"no price of service tier '{tier}' is known, the standard price is used")
    if processing == "live":
        return _Quote(_rate(standard | (special or {}), keys))
    unnamed = tuple(kind for kind, key in keys.items() if key in standard and key not in (special or ()))
    if special is None or "input" in unnamed or "output" in unnamed:
        return _Quote(_rate(standard, keys), UPPER_BOUND)
    return _Quote(_rate(standard | special, keys), "", unnamed)


def _context(model: Model, processing: Processing) -> dict[str, str]:
    """What the catalogue calls the special circumstances of a request."""
    if processing == "batch":
        return {"processing": "batch"}
    tier = model.options.extra.get("service_tier")
    return {"service_tier": tier} if isinstance(tier, str) and tier not in _ORDINARY_TIERS else {}


def _price_keys(model: Model, standard: Mapping[str, Amount]) -> dict[Kind, str]:
    hourly = "cache_write_1h" in standard and _for_an_hour(model.options.extra)
    written = "cache_write_1h" if hourly else "cache_write"
    return {"input": "input", "cached": "cached", "cache_write": written, "output": "output"}


def _for_an_hour(asked: Any) -> bool:
    """Whether the request asks to be cached for an hour, which costs more to write than five minutes."""
    if isinstance(asked, Mapping):
        return asked.get("ttl") == "1h" or any(_for_an_hour(value) for value in asked.values())
    return isinstance(asked, list | tuple) and any(_for_an_hour(value) for value in asked)


def _rate(prices: Mapping[str, Amount], keys: Mapping[Kind, str]) -> Rate:
    amounts = {kind: prices.get(key) for kind, key in keys.items()}
    starts = sorted({start for one in amounts.values() if isinstance(one, Stepped) for start in one.above})
    tiers = tuple(
        Tier(above_input_tokens=start, **{kind: _nano(amount, start) for kind, amount in amounts.items()})
        for start in starts
    )
    request = prices.get("thousand_requests")
    return Rate(
        **{kind: _nano(amount, None) for kind, amount in amounts.items()},
        tiers=tiers,
        request=None if request is None else half_up(_dollars(request, None) * NANO_PER_DOLLAR / 1000),
    )


def _nano(amount: Amount | None, start: int | None) -> int | None:
    return None if amount is None else half_up(_dollars(amount, start) * NANO_PER_DOLLAR)


def _dollars(amount: Amount, start: int | None) -> Fraction:
    """One price, for prompts longer than `start`; the shortest prompts when it is None."""
    if not isinstance(amount, Stepped):
        return Fraction(amount)
    passed = [begin for begin in amount.above if start is not None and begin <= start]
    return Fraction(amount.above[max(passed)] if passed else amount.base)
