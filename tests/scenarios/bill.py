"""What was paid at the emulator beside what the run says it cost, to the nano-dollar."""

from __future__ import annotations

from typing import Any

from emulator_process import charged
from scenarios.conftest import MODELS, Scenario

# What `charged` counts by.
PRICE = "{input: 1, cached: 1, output: 2, batch: 0.5}"
PRICES = "".join(f"{model}: {PRICE}\n" for model in (*MODELS.values(), "openai/gpt-4.1"))


def priced(one: Scenario, rows: int = 12, **fields: Any) -> str:
    """A study whose every row has a price and a ceiling."""
    (one.folder / "prices.yaml").write_text(PRICES)
    fields.setdefault("models", [{"model": one.model, "max_tokens": 4_000}])
    return one.study(rows, prices="prices.yaml", **fields)


def paid(one: Scenario) -> int:
    """What the provider charges for all that it ran, whoever got the answers."""
    return charged(one.log())


def on_record(one: Scenario, name: str = "night") -> tuple[int, int]:
    """(settled, presumed) by the ledger."""
    status = one.status(name)
    return status.spent, status.presumed


def assert_bill(one: Scenario, *, presumed: bool = False) -> None:
    """Nothing was paid that is not on record; without presumptions it is the same number."""
    settled, guessed = on_record(one)
    assert (guessed > 0) == presumed, (settled, guessed)
    assert paid(one) <= settled + guessed, (paid(one), settled, guessed)
    if not presumed:
        assert paid(one) == settled
