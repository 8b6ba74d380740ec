from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from fractions import Fraction

import msgspec
import pytest
from genai_prices import types
from genai_prices.data import providers as catalogue
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot

from overnight.core.ask import Model, Options
from overnight.core.result import Usage
from overnight.prices import cost
from overnight.prices.catalogue import of_the_package, quoted
from overnight.prices.genai import installed_version, is_newer, read_installed
from overnight.prices.money import half_up
from overnight.prices.price_list import PriceList, snapshot
from prices.asking import A_DAY

USAGES = [
    Usage(input=1234, output=567),
    Usage(input=199_999, cached=4321, cache_write=1111, output=99),
    Usage(input=600_001, cached=200_000, cache_write=100_000, output=65_536),
]
CIRCUMSTANCES: list[tuple[date, dict[str, str]]] = [
    (A_DAY, {}),
    (A_DAY, {"processing": "batch"}),
    (A_DAY, {"service_tier": "flex"}),
    (date(2026, 8, 20), {"processing": "batch"}),
    (date(2024, 3, 1), {}),
]
THEIRS = DataSnapshot(providers=catalogue, from_auto_update=False)
READ = read_installed()


def models() -> Iterator[tuple[types.Provider, types.ModelInfo, str]]:
    """Every model of every seller, by a name that finds it there."""
    for provider in catalogue:
        for info in provider.models:
            if provider.find_model(info.id, all_providers=catalogue) is info:
                yield provider, info, info.id


def same_as_snapshot() -> None:
    """The snapshot is of the version that is installed, or this cannot be told."""
    if installed_version() != snapshot().version:
        pytest.skip(f"genai-prices {installed_version()} is installed, the snapshot is of {snapshot().version}")


def test_the_snapshot_is_what_the_package_says() -> None:
    same_as_snapshot()
    assert snapshot() == msgspec.structs.replace(READ, date=snapshot().date)


def their_cost(
    provider: types.Provider, info: types.ModelInfo, usage: Usage, moment: datetime, context: dict[str, str]
) -> int:
    counts = types.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.cache_write,
    )
    price = info.calc_price(counts, provider, genai_request_timestamp=moment, price_context=context or None)
    return half_up(Fraction(price.total_price) * 10**9)


@pytest.mark.parametrize(("day", "context"), CIRCUMSTANCES, ids=str)
def test_every_cost_is_the_packages_own(day: date, context: dict[str, str]) -> None:
    """Its own arithmetic is another road to the same figure, for every model in the list."""
    published, checked = of_the_package(READ), 0
    noon = datetime.combine(day, time(12), UTC)
    for provider, info, name in models():
        extra = {"service_tier": context["service_tier"]} if "service_tier" in context else {}
        # A name that is none of ours is looked up by itself.
        asked = Model(provider=f"{provider.id}", name=name, options=Options(extra=extra))
        price = quoted(published, asked, "batch" if "processing" in context else "live", day)
        if price is None or "depends on the hour" in price.note:
            continue
        for usage in USAGES:
            ours = cost(price, usage)
            if ours is None:
                assert price.rate.input is None or price.rate.output is None
                continue
            # What has no price for a batch, or only for a part of it, has the standard price: an upper bound.
            met = {} if price.note else context
            assert ours == their_cost(provider, info, usage, noon, met), (provider.id, info.id, usage)
            checked += 1
    assert checked > 5000


def test_every_name_finds_the_same_model() -> None:
    """Ids, their dated and capital forms, and names that nobody has."""
    names = [name for _, _, name in models()]
    for provider in catalogue:
        seller = READ.seller(provider.id)
        assert seller is not None
        for base in (*names[::199], *(info.id for info in provider.models[::5]), "nothing-like-it"):
            for name in (base, base.upper(), f"{base}-20251211", f"{base}-20251399", f"{base}-latest"):
                theirs = provider.find_model(name, all_providers=catalogue)
                ours = READ.find(seller, name)
                assert (ours and ours[1].id) == (theirs and theirs.id), (provider.id, name)


@pytest.mark.parametrize(
    "address",
    [
        "https://api.openai.com/v1",
        "https://api.deepseek.com",
        "https://bedrock-runtime.eu-west-1.amazonaws.com",
        "https://europe-west4-aiplatform.googleapis.com/v1",
        "https://mine.openai.azure.com",
        "https://openrouter.ai/api/v1",
        "http://127.0.0.1:8000/v1",
        "https://gateway.example/https://api.openai.com",
    ],
)
def test_every_address_finds_the_same_seller(address: str) -> None:
    try:
        theirs = THEIRS.find_provider(None, None, address).id
    except LookupError:
        theirs = None
    ours = READ.seller_at(address)
    assert (ours and ours.id) == theirs


def test_prices_by_the_hour_are_theirs_at_every_hour() -> None:
    seen = 0
    for provider in catalogue:
        seller = READ.seller(provider.id)
        assert seller is not None
        for info, listing in zip(provider.models, seller.models, strict=True):
            for hour in range(24) if listing.by_the_hour() else ():
                moment = datetime.combine(A_DAY, time(hour, 30), UTC)
                theirs, ours = info.get_prices(moment), listing.standard_at(moment)
                assert (ours.input, ours.output) == (theirs.input_mtok, theirs.output_mtok)
                seen += 1
    assert seen


def test_what_others_download_changes_nothing() -> None:
    set_custom_snapshot(DataSnapshot(providers=[], from_auto_update=True))
    try:
        assert read_installed() == READ
    finally:
        set_custom_snapshot(None)


@pytest.mark.parametrize(
    ("one", "other", "newer"),
    [
        ("0.2.1", "0.2.1", False),
        ("0.2.2", "0.2.1", True),
        ("0.10.0", "0.9.9", True),
        ("0.9.9", "0.10.0", False),
        ("1", "0.99", True),
        ("1.0", "1", False),
        ("0.3.0rc1", "0.2.9", True),
        ("0.2.1.post1", "0.2.1", False),
        ("nonsense", "0.2.1", False),
    ],
)
def test_newer_is_by_number(one: str, other: str, newer: bool) -> None:
    assert is_newer(one, other) is newer


def test_the_snapshot_reads_as_it_was_written() -> None:
    assert msgspec.json.decode(msgspec.json.encode(snapshot()), type=PriceList) == snapshot()
