from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from overnight.core.result import Usage
from overnight.prices import UPPER_BOUND, YOURS, PriceBook, Rate, ceiling, cost
from overnight.prices.catalogue import ELSEWHERE
from prices.asking import A_DAY, MILLION, model, own_book, usd

USAGE = Usage(input=MILLION, cached=200_000, output=100_000)


def test_a_file_adds_a_model(tmp_path: Path) -> None:
    book = own_book(tmp_path, "openai/gpt-99: {input: 1.25, cached: 0.125, output: 10, batch: 0.5}")
    live, batch = book.price(model("openai/gpt-99"), "live"), book.price(model("openai/gpt-99"), "batch")
    assert live is not None
    assert batch is not None
    # 800,000 x $1.25 + 200,000 x $0.125 + 100,000 x $10
    assert cost(live, USAGE) == usd("2.025")
    assert cost(batch, USAGE) == usd("1.0125")
    for price in (live, batch):
        assert (price.note, price.source, price.entry) == (YOURS, "prices.yaml", "openai/gpt-99")
        assert (price.provider, price.model) == ("openai", "gpt-99")
    assert (live.processing, batch.processing) == ("live", "batch")


def test_a_file_overrides_the_catalogue(tmp_path: Path) -> None:
    book = own_book(tmp_path, "openai/gpt-4.1: {input: 1, output: 2, batch: {input: 0.7, output: 1.1}}")
    live, batch = book.price(model("openai/gpt-4.1"), "live"), book.price(model("openai/gpt-4.1"), "batch")
    assert live is not None
    assert batch is not None
    assert live.rate == Rate(input=usd("1"), output=usd("2"))
    assert batch.rate == Rate(input=usd("0.7"), output=usd("1.1"))
    assert live.note == batch.note == YOURS
    untouched = model("openai/gpt-4.1-mini")
    assert book.price(untouched, "batch") == PriceBook(today=A_DAY).price(untouched, "batch")


def test_own_prices_without_a_batch_price_are_an_upper_bound(tmp_path: Path) -> None:
    price = own_book(tmp_path, "openai/gpt-4.1: {input: 1, output: 2}").price(model("openai/gpt-4.1"), "batch")
    assert price is not None
    assert price.rate == Rate(input=usd("1"), output=usd("2"))
    assert price.note == f"{YOURS}; {UPPER_BOUND}"


@pytest.mark.parametrize("processing", ["live", "batch"])
def test_what_costs_nothing_costs_nothing_exactly(tmp_path: Path, processing) -> None:
    price = own_book(tmp_path, "ollama/*: {input: 0, output: 0}").price(model("ollama/llama3.3"), processing)
    assert price is not None
    assert cost(price, USAGE) == ceiling(price, MILLION, MILLION) == 0
    assert price.note == YOURS


@pytest.mark.parametrize(
    "line", ["{input: 0, output: 0, cache_write: 1}", "{input: 0, output: 0, request: 1}", "{input: 0, output: 1}"]
)
def test_what_is_almost_free_is_not_free(tmp_path: Path, line: str) -> None:
    price = own_book(tmp_path, f"ollama/*: {line}").price(model("ollama/llama3.3"), "batch")
    assert price is not None
    assert price.note == f"{YOURS}; {UPPER_BOUND}"


def test_a_free_model_with_a_dear_step_is_not_free(tmp_path: Path) -> None:
    text = "ollama/*: {input: 0, output: 0, above: {9: {input: 1, output: 0}}}"
    price = own_book(tmp_path, text).price(model("ollama/a"), "batch")
    assert price is not None
    assert UPPER_BOUND in price.note


def test_a_discount_alone_applies_to_the_published_price(tmp_path: Path) -> None:
    book, published = own_book(tmp_path, "xai/*: {batch: 0.8}"), PriceBook(today=A_DAY)
    grok = model("xai/grok-4")
    assert book.price(grok, "live") == published.price(grok, "live")
    price = book.price(grok, "batch")
    assert price is not None
    live = published.price(grok, "live")
    assert live is not None
    assert price.rate == live.rate.times(Fraction(8, 10))
    assert price.note == YOURS
    assert price.processing == "batch"
    assert price.source == f"{live.source}, prices.yaml"
    assert price.entry == "x-ai/grok-4-0709, xai/*"
    assert book.price(model("xai/grok-99"), "batch") is None
    gateway = book.price(model("xai/grok-4", base_url="https://gateway.example"), "batch")
    assert gateway is not None
    assert gateway.note == f"{YOURS}; {ELSEWHERE}"


def test_a_batch_price_alone_leaves_the_live_price_to_the_catalogue(tmp_path: Path) -> None:
    book = own_book(tmp_path, "xai/grok-4: {batch: {input: 1, output: 2}}")
    assert book.price(model("xai/grok-4"), "live") == PriceBook(today=A_DAY).price(model("xai/grok-4"), "live")
    price = book.price(model("xai/grok-4"), "batch")
    assert price is not None
    assert price.rate == Rate(input=usd("1"), output=usd("2"))
    assert (price.note, price.source) == (YOURS, "prices.yaml")


def test_a_step_is_halved_with_the_rest(tmp_path: Path) -> None:
    text = "gemini/new: {input: 2, output: 4, request: 0.01, above: {1000: {input: 4, output: 8}}, batch: 0.5}"
    price = own_book(tmp_path, text).price(model("gemini/new"), "batch")
    assert price is not None
    # 2000 x $2 + 100 x $4, and half a cent
    assert cost(price, Usage(input=2000, output=100)) == usd("0.004") + usd("0.0004") + usd("0.005")
