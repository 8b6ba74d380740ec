"""Within budget: reserved before, settled after, to the nano-dollar; what would pass the cap is not sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from overnight import api
from overnight.core.errors import StudyError
from scenarios.conftest import Scenario

# Round numbers: a dollar for each million tokens in, four out, half of it in batches.
PRICES = "openai/gpt-4.1*: {input: 1, cached: 0.25, output: 4, batch: 0.5}\n"


def study(one: Scenario, rows: int = 12, **fields: Any) -> str:
    (one.folder / "prices.yaml").write_text(PRICES)
    model = {"model": "openai/gpt-4.1-mini", "max_tokens": 100}
    return one.study(rows, models=[model], prices="prices.yaml", **fields)


def by_hand(table: pl.DataFrame) -> int:
    """The bill in nano-dollars, counted again from the tokens in the table."""
    total = 0
    for tokens_in, cached, tokens_out in table.select("input_tokens", "cached_tokens", "output_tokens").rows():
        if tokens_in is not None:
            reused = cached or 0
            # In eighths of a nano-dollar: 1, 0.25 and 4 dollars a million, halved; then rounded half up.
            eighths = (tokens_in - reused) * 4_000 + reused * 1_000 + tokens_out * 16_000
            total += (eighths + 4) // 8
    return total


def settled(one: Scenario, name: str = "night") -> int:
    return round(api.costs(name, runs=one.folder / "runs")["settled"].sum() * 1e9)


def test_every_nano_dollar_equals_a_hand_calculation(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "error", "status": 500, "odds": 0.2}])
    one.run(study(one, 40, batch={"max_requests": 15}))
    costs = api.costs("night", runs=one.folder / "runs")
    assert settled(one) == by_hand(one.table())
    assert costs["reserved"].to_list() == [0.0]
    assert costs["price_note"].to_list() == ["yours"]
    assert costs["estimated"][0] > costs["settled"][0] > 0
    assert round(one.table()["cost"].sum() * 1e9) == settled(one)


def test_what_would_pass_the_cap_is_not_sent_and_raising_it_goes_on(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    whole = api.plan(study(one, 30, batch={"max_requests": 5}), runs=one.folder / "runs")
    assert whole.ceiling is not None
    cap = whole.ceiling / 1e9 * 0.4
    ending = one.run(study(one, 30, batch={"max_requests": 5}, budget=cap))
    assert ending.state == "over budget", ending
    assert "rows not sent" in ending.message
    counts = one.statuses()
    assert counts["answered"] >= 12
    assert counts["pending"] >= 1
    assert settled(one) <= cap * 1e9
    again = one.run(study(one, 30, batch={"max_requests": 5}, budget=whole.ceiling / 1e9 * 2))
    assert again.state == "done", again
    assert one.statuses() == {"answered": 30}
    one.assert_paid_once()


def test_a_stage_has_a_cap_of_its_own(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    (one.folder / "prices.yaml").write_text(PRICES)
    one.study(6)
    model = {"model": "openai/gpt-4.1-mini", "max_tokens": 100}
    stages = [
        {"name": "first", "task": "generate", "items": "night.jsonl", "prompt": "Name {text}.", "models": [model]},
        {"name": "second", "task": "generate", "of": "first", "prompt": "Rate: {answer}", "models": [model]},
    ]
    written = {"name": "night", "stages": stages, "prices": "prices.yaml"}
    ending = one.run(one.write({**written, "budget": {"total": 1, "stages": {"second": 0.0000001}}}))
    assert ending.state == "over budget", ending
    table = one.table()
    assert table.filter(pl.col("stage") == "first")["status"].unique().to_list() == ["answered"]
    assert table.filter(pl.col("stage") == "second")["status"].unique().to_list() == ["pending"]
    assert one.run(one.write({**written, "budget": {"total": 1, "stages": {"second": 0.5}}})).state == "done"


def test_a_budget_needs_prices_and_bounds(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    with pytest.raises(StudyError, match=r"budget: openai/gpt-4\.1-mini has no max_tokens"):
        api.run(one.study(3, budget=1), runs=one.folder / "runs", emulate=True)
    unknown = one.study(3, models=[{"model": "openai/gpt-99", "max_tokens": 10}], budget=1)
    with pytest.raises(StudyError, match="budget: no price is known for openai/gpt-99"):
        api.run(unknown, runs=one.folder / "runs", emulate=True)
    stated = one.study(3, budget={"total": 1, "output_tokens": 500})
    assert one.run(stated).state == "done"


def test_a_rebuild_prices_the_rows_anew(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(study(one, 10))
    before = settled(one)
    (one.folder / "prices.yaml").write_text(PRICES.replace("input: 1", "input: 3").replace("output: 4", "output: 12"))
    api.rebuild("night", runs=one.folder / "runs")
    assert by_hand(one.table()) == before
    assert settled(one) == 3 * before == round(one.table()["cost"].sum() * 1e9)


def test_an_unknown_price_is_unknown_never_zero(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study(3, models=["openai/gpt-99"]))
    costs = api.costs("night", runs=one.folder / "runs")
    assert costs["settled"].to_list() == [None]
    assert costs["price_note"].to_list() == ["unknown: no price"]
    assert one.table()["cost"].null_count() == 3


def test_kills_do_not_change_the_bill(scenario: Callable[..., Scenario]) -> None:
    faults = [{"on": "batch", "do": "expire", "share": 0.5, "times": 1}]
    calm = scenario(faults=faults)
    calm.run(study(calm, 10, budget=5))
    for number in (20, 35, 50, 65, 80, 95, 110):
        one = scenario(faults=faults)
        one.run(study(one, 10, budget=5), environ={"OVERNIGHT_KILL_AT": str(number)})
        assert one.run(study(one, 10, budget=5)).state == "done"
        assert settled(one) == by_hand(one.table()) == settled(calm)
        assert api.costs("night", runs=one.folder / "runs")["reserved"].sum() == 0.0
        one.close()


def test_an_answer_that_cannot_be_read_was_paid_for_all_the_same(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "empty_body", "times": 1}])
    models = [{"model": "openai/gpt-4.1-mini", "max_tokens": 100}]
    assert one.run(one.study(3, models=models)).state == "rows failed"
    costs = pl.read_parquet(one.folder / "runs" / "night" / "tables" / "costs.parquet")
    assert "presumed spent" in costs["price_note"][0]
