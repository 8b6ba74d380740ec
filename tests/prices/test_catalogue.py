from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path

import pytest

from overnight.core.result import Usage
from overnight.prices import UPPER_BOUND, Price, PriceBook, Processing, Rate, Tier, cost
from overnight.prices.catalogue import BY_THE_HOUR, CATALOGUE_IDS, ELSEWHERE, carried, quoted
from overnight.prices.price_list import Listing, snapshot
from overnight.providers import takes_batches, vendor
from prices.asking import A_DAY, MILLION, found, model, usd
from prices.packages import a_package

BIG = Usage(input=MILLION, output=100_000)


@pytest.mark.parametrize(
    ("name", "live", "batch"),
    [
        ("openai/gpt-4o", "3.50", "1.75"),
        ("openai/gpt-4.1", "2.80", "1.40"),
        ("openai/gpt-4.1-mini", "0.56", "0.28"),
        ("openai/gpt-4.1-mini-2025-04-14", "0.56", "0.28"),
        ("openai/gpt-5", "2.25", "1.125"),
        ("openai/gpt-5-mini", "0.45", "0.225"),
        ("openai/gpt-5-nano", "0.09", "0.045"),
        ("openai/gpt-5-nano-2025-08-07", "0.09", "0.045"),
        ("anthropic/claude-sonnet-4-5", "8.25", "4.125"),  # past 200,000 tokens: $6 and $22.50
        ("anthropic/claude-sonnet-4-5-20250929", "8.25", "4.125"),
        ("anthropic/claude-haiku-4-5-20251001", "1.50", "0.75"),
        ("anthropic/claude-opus-5-5", "6.00", "3.00"),
        ("anthropic/claude-sonnet-5", "3.00", "1.50"),
        ("anthropic/claude-opus-4-8", "7.50", "3.75"),
        ("gemini/gemini-2.5-pro", "4.00", "2.00"),  # past 200,000 tokens: $2.50 and $15
        ("vertex/gemini-2.5-flash", "0.55", "0.275"),
        ("mistral/mistral-small-latest", "0.21", "0.105"),
        ("groq/openai/gpt-oss-120b", "0.21", "0.105"),
    ],
)
def test_a_million_in_and_a_tenth_out(name: str, live: str, batch: str) -> None:
    for processing, wanted in (("live", live), ("batch", batch)):
        price = found(name, processing)
        assert cost(price, BIG) == usd(wanted)
        assert price.note == ""
        assert price.source == f"genai-prices {snapshot().version} as of {snapshot().date}"
        assert (price.provider, price.model) == tuple(name.split("/", 1))
        assert price.processing == processing


def test_a_tiered_rate_by_hand() -> None:
    assert found("anthropic/claude-sonnet-4-5", "batch").rate == Rate(
        input=usd("1.5"),
        cached=usd("0.15"),
        cache_write=usd("1.875"),
        output=usd("7.5"),
        tiers=(
            Tier(
                above_input_tokens=200_000,
                input=usd("3"),
                cached=usd("0.3"),
                cache_write=usd("3.75"),
                output=usd("11.25"),
            ),
        ),
    )


def test_cached_tokens_of_a_batch_have_the_batch_price() -> None:
    # 20,000 x $0.05 + 80,000 x $0.005 + 10,000 x $0.40; half of each in a batch
    usage = Usage(input=100_000, cached=80_000, output=10_000)
    assert cost(found("openai/gpt-5-nano", "live"), usage) == usd("0.0054")
    assert cost(found("openai/gpt-5-nano", "batch"), usage) == usd("0.0027")


def test_cached_tokens_of_a_gemini_batch_have_the_standard_price() -> None:
    # 20,000 x $0.625 + 80,000 x $0.125
    price = found("gemini/gemini-2.5-pro", "batch")
    assert cost(price, Usage(input=100_000, cached=80_000, output=0)) == usd("0.0225")
    assert price.at_standard == ("cached",)


def test_a_cache_write_for_an_hour_costs_more() -> None:
    usage = Usage(input=100_000, cache_write=100_000, output=0)
    extra = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    assert cost(found("anthropic/claude-haiku-4-5", "batch"), usage) == usd("0.0625")
    assert cost(found("anthropic/claude-haiku-4-5", "batch", **extra), usage) == usd("0.1")
    assert cost(found("anthropic/claude-haiku-4-5", "batch", system=[extra]), usage) == usd("0.1")
    # No such price is listed there: the one that is listed applies.
    assert found("openai/gpt-5.6", "batch", **extra).rate == found("openai/gpt-5.6", "batch").rate


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("xai/grok-4", "x-ai/grok-4-0709"),
        ("together/meta-llama/Llama-3.3-70B-Instruct-Turbo", "together/meta-llama/Llama-3.3-70B-Instruct-Turbo"),
        ("groq/llama-3.3-70b-versatile", "groq/llama-3.3-70b-versatile"),
        ("mistral/mistral-large-latest", "mistral/mistral-large"),
        ("vertex/claude-sonnet-4-5@20250929", "google/claude-sonnet-4-5"),
        ("bedrock/amazon.nova-lite-v1:0", "aws/amazon.nova-lite-v1:0"),
        ("fireworks/accounts/fireworks/models/deepseek-v3p2", "fireworks/deepseek-v3p2"),
        # A name without a slash is one of accounts/fireworks/models/.
        ("fireworks/deepseek-v3p2", "fireworks/deepseek-v3p2"),
        # A cloud's batches are not its maker's batches.
        ("azure/gpt-5-nano", "openai/gpt-5-nano"),
    ],
)
def test_without_a_batch_price_the_standard_one_is_an_upper_bound(name: str, entry: str) -> None:
    live, batch = found(name, "live"), found(name, "batch")
    assert (live.note, batch.note) == ("", UPPER_BOUND)
    assert batch.rate == live.rate
    assert live.entry == batch.entry == entry


def own_models() -> Iterator[tuple[str, Listing]]:
    """Every model of the list that one of our providers may have, and take in batches."""
    for name, listing in CATALOGUE_IDS.items():
        if not takes_batches(vendor(name)):
            continue
        seller = snapshot().seller(listing)
        for info in seller.models if seller else ():
            yield name, info


def by_the_snapshot(name: str, processing: Processing) -> Price | None:
    return quoted(carried(), model(name), processing, A_DAY)


def test_every_price_of_a_batch_is_lower_or_says_that_it_is_not_one() -> None:
    lower, bounded = 0, 0
    for name, info in own_models():
        live, batch = (by_the_snapshot(f"{name}/{info.id}", processing) for processing in ("live", "batch"))
        assert (live is None) == (batch is None)
        if live is None or batch is None:
            continue
        if batch.note:
            assert batch.note == UPPER_BOUND
            assert batch.rate == live.rate
            bounded += 1
        else:
            for kind in ("input", "output"):
                whole, part = getattr(live.rate, kind), getattr(batch.rate, kind)
                assert whole is part is None or 0 < part < whole or whole == part == 0
            lower += 1
    assert lower > 50
    assert bounded > 200


def test_every_provider_is_in_the_catalogue_or_left_to_the_user() -> None:
    known = {seller.id for seller in snapshot().sellers}
    assert {name for name, listing in CATALOGUE_IDS.items() if listing is None} == {"compatible", "ollama", "vllm"}
    assert {listing for listing in CATALOGUE_IDS.values() if listing} <= known
    assert not {"compatible", "ollama"} & known


@pytest.mark.parametrize("name", ["openai/gpt-99", "ollama/llama3.3", "compatible/gpt-4.1", "nobody/gpt-4.1"])
@pytest.mark.parametrize("processing", ["live", "batch"])
def test_unknown_is_none(name: str, processing: Processing) -> None:
    assert by_the_snapshot(name, processing) is None


def test_what_has_no_price_for_tokens_is_unknown() -> None:
    assert by_the_snapshot("groq/whisper-large-v3", "batch") is None


def test_a_provider_of_another_package_is_found_by_its_name() -> None:
    assert found("cohere/command-a-03-2025", "live").entry.startswith("cohere/")


def test_prices_are_those_of_the_day() -> None:
    before, after = date(2026, 8, 20), date(2026, 8, 21)
    assert found("openai/gpt-5.6", "live", today=before).rate.input == usd("5")
    assert found("openai/gpt-5.6", "live", today=after).rate.input == usd("4")
    assert found("gemini/gemini-4-argon", "batch", today=date(2026, 11, 30)).rate.input == usd("1")
    assert found("gemini/gemini-4-argon", "batch", today=date(2026, 12, 1)).rate.input == usd("2")


def test_batch_prices_from_before_they_were_recorded_are_upper_bounds() -> None:
    assert found("openai/gpt-4.1", "batch", today=date(2026, 10, 13)).note == UPPER_BOUND
    assert found("openai/gpt-4.1", "batch", today=date(2026, 10, 14)).note == ""


def test_today_is_today() -> None:
    today = datetime.now(UTC).date()
    wanted = PriceBook(today=today).price(model("openai/gpt-5.6"), "batch")
    assert PriceBook().price(model("openai/gpt-5.6"), "batch") == wanted


def test_an_address_decides_whose_prices_apply() -> None:
    assert found("openai/gpt-4.1", "batch", base_url="https://api.openai.com/v1") == found("openai/gpt-4.1", "batch")
    assert found("compatible/sonar", "live", base_url="https://api.perplexity.ai").rate.request == usd("0.012")
    assert found("openai/deepseek-chat", "live", base_url="https://api.deepseek.com").entry == "deepseek/deepseek-chat"
    gateway = found("openai/gpt-4.1", "batch", base_url="https://gateway.example/v1")
    assert gateway.note == ELSEWHERE
    assert gateway.rate == found("openai/gpt-4.1", "batch").rate
    grok = found("xai/grok-4", "batch", base_url="https://gateway.example/v1")
    assert grok.note == f"{ELSEWHERE}; {UPPER_BOUND}"
    assert PriceBook().price(model("compatible/gpt-4.1", base_url="http://127.0.0.1:8000/v1"), "live") is None


def test_a_price_by_the_hour_is_the_highest() -> None:
    price = found("compatible/deepseek-v4-pro", "live", base_url="https://api.deepseek.com")
    assert price.note == BY_THE_HOUR
    seller = snapshot().seller("deepseek")
    assert seller is not None
    (listing,) = [one for one in seller.models if one.id == price.model]
    hours = {listing.standard_at(datetime.combine(A_DAY, time(hour), UTC)).output for hour in range(24)}
    assert len(hours) > 1
    assert price.rate.output == max(int(amount * 10**9) for amount in hours)


def test_a_service_tier_has_its_own_price() -> None:
    standard = found("openai/gpt-5", "live")
    assert found("openai/gpt-5", "live", service_tier="priority").rate.input == usd("2.5")
    assert found("openai/gpt-5", "live", service_tier="flex").rate.input == usd("0.625")
    assert found("openai/gpt-5", "live", service_tier="auto") == standard
    unknown = found("openai/gpt-5", "live", service_tier="velvet")
    assert unknown.rate == standard.rate
    assert unknown.note == "no price of service tier 'velvet' is known, the standard price is used"
    assert found("openai/gpt-5", "batch", service_tier="priority") == found("openai/gpt-5", "batch")


PROGRAM = """
import socket, sys, threading
import overnight.prices as prices
from overnight.core.ask import Model
from overnight.core.result import Usage

def refuse(*_):
    raise AssertionError("the network was used")

socket.socket.connect = socket.getaddrinfo = refuse
found = prices.PriceBook().price(Model(provider="openai", name="gpt-4.1"), "batch")
assert threading.active_count() == 1
assert not {"pydantic", "httpx", "httpx2", "genai_prices.types"} & set(sys.modules)
print(found.rate.input, found.source)
"""


def answer_with(packages: Path) -> str:
    """What a process says that finds these packages before all others."""
    environment = os.environ | {"PYTHONPATH": str(packages)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


OURS = f"{found('openai/gpt-4.1', 'batch', today=datetime.now(UTC).date()).rate.input} {carried().origin}"


def test_an_older_package_is_left_alone(tmp_path: Path) -> None:
    assert answer_with(a_package(tmp_path, "0.0.9", "raise SystemExit('it was imported')")) == OURS


def test_a_newer_package_is_used_with_its_day(tmp_path: Path) -> None:
    os.utime(a_package(tmp_path, "999.1") / "genai_prices" / "data.py", (0, 86_400 * 20_000))
    assert answer_with(tmp_path) == "750000000 genai-prices 999.1 as installed on 2024-10-04"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("", "ImportError: cannot import name 'providers'"),
        ("providers = [1]", "AttributeError: 'int' object has no attribute 'models'"),
    ],
)
def test_a_newer_package_that_cannot_be_read_is_named(tmp_path: Path, data: str, reason: str) -> None:
    said = answer_with(a_package(tmp_path, "999.1", data))
    assert said.startswith(f"{OURS} (genai-prices 999.1 is installed but cannot be read: {reason}")


def test_your_own_file_wins_over_a_newer_package(tmp_path: Path) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text("openai/gpt-4.1: {input: 1, output: 2, batch: 0.5}")
    program = PROGRAM.replace("PriceBook()", f"PriceBook(__import__('pathlib').Path({str(own)!r}))")
    environment = os.environ | {"PYTHONPATH": str(a_package(tmp_path, "999.1"))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "500000000 prices.yaml\n"
