"""What was paid at the emulator beside what the run says it cost, to the nano-dollar."""

from __future__ import annotations

from typing import Any

from scenarios.conftest import MODELS, Scenario

# A dollar for each million tokens in, two out, half of it in batches: no row comes to a part of a nano-dollar.
PRICE = "{input: 1, cached: 1, output: 2, batch: 0.5}"
PRICES = "".join(f"{model}: {PRICE}\n" for model in (*MODELS.values(), "openai/gpt-4.1"))


def priced(one: Scenario, rows: int = 12, **fields: Any) -> str:
    """A study whose every row has a price and a ceiling."""
    (one.folder / "prices.yaml").write_text(PRICES)
    fields.setdefault("models", [{"model": one.model, "max_tokens": 4_000}])
    return one.study(rows, prices="prices.yaml", **fields)


def paid(one: Scenario) -> int:
    """What the provider charges for all that it ran, whoever got the answers."""
    bill = one.log()["billed"]
    half = sum(500 * use["input_tokens"] + 1_000 * use["output_tokens"] for use in bill["batch"].values())
    return half + sum(1_000 * use["input_tokens"] + 2_000 * use["output_tokens"] for use in bill["live"].values())


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
