"""The prices of an installed genai-prices, in the form of our own list: read in place, never over the network.

The package is an extra, for those who want newer prices before a newer Overnight.
"""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

from overnight.prices.price_list import Amount, Clause, Listing, PriceList, Prices, Seller, Stepped, Terms

SOURCE = "genai-prices"
# The catalogue's names of the prices that a row of text can meet, and ours.
_NAMES = {
    "input_mtok": "input",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_mtok": "output",
    "requests_kcount": "thousand_requests",
}
# Circumstances that a request of ours can be in; prices in others are never met.
_CIRCUMSTANCES = ({"processing"}, {"service_tier"})
_CLAUSES = ("equals", "starts_with", "ends_with", "contains", "regex")


class Unreadable(Exception):
    """The installed genai-prices is not in a form that we know."""


def installed_version() -> str | None:
    try:
        return version(SOURCE)
    except PackageNotFoundError:
        return None


def is_newer(one: str, other: str) -> bool:
    """Whether a version is newer than another, by its release alone: `0.3.0rc1` counts as 0.3.0."""
    return _release(one) > _release(other)


def _release(text: str) -> list[int]:
    found = re.match(r"v?(?:[0-9]+!)?([0-9]+(?:\.[0-9]+)*)", text)
    numbers = [int(part) for part in found[1].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def read_installed() -> PriceList:
    """The data inside the installed package, whatever another part of the process may have downloaded."""
    try:
        from genai_prices.data import providers  # noqa: PLC0415 - an extra, and a third of a second

        sellers = tuple(_seller(provider) for provider in providers)
        day = _day_of_installation()
    except (ImportError, AttributeError, TypeError, ValueError, LookupError, OSError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    return PriceList(source=SOURCE, version=version(SOURCE), date=day, sellers=sellers)


def _day_of_installation() -> str:
    """The package says of no price when it was looked up: the day on which it came is the nearest that is known."""
    data = Path(str(distribution(SOURCE).locate_file("genai_prices/data.py")))
    return datetime.fromtimestamp(data.stat().st_mtime, UTC).date().isoformat()


def _seller(provider: Any) -> Seller:
    models = tuple(_listing(model) for model in provider.models)
    resells = tuple(provider.fallback_model_providers or ())
    return Seller(id=provider.id, address=provider.api_pattern, resells=resells, models=models)


def _listing(model: Any) -> Listing:
    dated = isinstance(model.prices, list)
    standard = tuple(_terms(one) for one in model.prices) if dated else (Terms(prices=_prices(model.prices)),)
    if not standard:
        raise ValueError(f"{model.id} has no prices")
    special = tuple(_terms(one, one.when) for one in model.price_variants or () if one.when.keys() in _CIRCUMSTANCES)
    return Listing(id=model.id, match=_clause(model.match), standard=standard, special=special)


def _terms(conditional: Any, when: dict[str, str] | None = None) -> Terms:
    constraint = conditional.constraint
    since: date | None = getattr(constraint, "start_date", None)
    hours = None
    if constraint is not None and since is None:
        hours = (_in_utc(constraint.start_time), _in_utc(constraint.end_time))
    return Terms(prices=_prices(conditional.prices), since=since, hours=hours, when=when or {})


def _in_utc(hour: time) -> time:
    if hour.tzinfo is None:
        return hour
    return datetime.combine(date(1970, 1, 1), hour).astimezone(UTC).time()


def _prices(prices: Any) -> Prices:
    listed = vars(prices)
    return Prices(
        **{ours: _amount(listed[theirs]) for theirs, ours in _NAMES.items() if listed.get(theirs) is not None}
    )


def _amount(price: Any) -> Amount:
    if isinstance(price, Decimal):
        return price
    return Stepped(price.base, {tier.start: tier.price for tier in sorted(price.tiers, key=lambda tier: tier.start)})


def _clause(match: Any) -> Clause:
    for name in _CLAUSES:
        if hasattr(match, name):
            return Clause(**{name: getattr(match, name)})
    if hasattr(match, "or_"):
        return Clause(any=_clauses(match.or_))
    return Clause(all=_clauses(match.and_))


def _clauses(parts: Iterable[Any]) -> tuple[Clause, ...]:
    return tuple(_clause(part) for part in parts)
