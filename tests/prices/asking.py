"""What the tests of prices ask about."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from overnight.core.ask import Model, Options
from overnight.prices import Price, PriceBook, Processing, Rate
from overnight.prices.catalogue import carried, quoted

A_DAY = date(2026, 11, 15)
MILLION = 1_000_000


def model(text: str, *, base_url: str | None = None, **extra: Any) -> Model:
    provider, _, name = text.partition("/")
    return Model(provider=provider, name=name, base_url=base_url, options=Options(extra=extra))


def found(text: str, processing: Processing, *, today: date = A_DAY, **asked: Any) -> Price:
    """By the list that comes with Overnight, whatever else is installed."""
    price = quoted(carried(), model(text, **asked), processing, today)
    assert price is not None
    return price


def own_book(folder: Path, text: str) -> PriceBook:
    path = folder / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return PriceBook(path, today=A_DAY)


def priced(rate: Rate, **fields: Any) -> Price:
    return Price(provider="openai", model="gpt-9", processing="batch", rate=rate, **fields)


def usd(text: str) -> int:
    """Dollars, written with a point, in nano-dollars."""
    whole, _, decimals = text.partition(".")
    assert len(decimals) <= 9
    return int(whole + decimals.ljust(9, "0"))
