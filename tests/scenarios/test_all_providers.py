"""One study on every provider at once: each is watched at its own pace, and a dead one stops nobody else."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from overnight.providers import vendor
from scenarios.conftest import FLOOR, MODELS, SHAPES, Scenario

ROWS = 6
NOWHERE = "http://127.0.0.1:9"


def everywhere(one: Scenario) -> str:
    return one.study(ROWS, models=list(MODELS.values()), batch={"max_requests": 4, **FLOOR})


def answered(one: Scenario) -> dict[str, int]:
    """Rows with an answer, by provider."""
    counts = one.table().filter(pl.col("status") == "answered").group_by("provider").len()
    return dict(zip(counts["provider"], counts["len"], strict=True))


def test_all_answer_every_row(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    ending = one.run(everywhere(one))
    assert ending.state == "done", ending
    assert answered(one) == dict.fromkeys(MODELS, ROWS)
    one.assert_paid_once()


def test_the_slow_one_keeps_nobody_waiting(scenario: Callable[..., Scenario]) -> None:
    """Its batches take half a day; by then the others have long been fetched and tabled."""
    model = MODELS["anthropic"].partition("/")[2]
    one = scenario({"time_scale": 4000}, faults=[{"on": "batch", "do": "slow", "seconds": 40_000, "model": model}])
    ending = one.run(everywhere(one), timeout="5h")
    assert ending.state == "running", ending
    assert answered(one) == dict.fromkeys(set(MODELS) - {"anthropic"}, ROWS)
    one.emulator.finish()
    assert one.run(everywhere(one)).state == "done"
    assert answered(one) == dict.fromkeys(MODELS, ROWS)
    one.assert_paid_once()


@pytest.mark.parametrize("dead", SHAPES)
def test_a_dead_one_stops_no_other(scenario: Callable[..., Scenario], dead: str) -> None:
    one = scenario()
    nowhere = {vendor(dead).base_url_variable: NOWHERE + vendor(dead).emulator_path}
    ending = one.run(everywhere(one), environ=nowhere)
    assert ending.error == "Unavailable", ending
    assert answered(one) == dict.fromkeys(set(MODELS) - {dead}, ROWS)
    assert one.run(everywhere(one)).state == "done"
    assert answered(one) == dict.fromkeys(MODELS, ROWS)
    one.assert_paid_once()


@pytest.mark.slow
@pytest.mark.parametrize("number", [60, 240, 420, 600])
def test_a_kill_leaves_all_to_be_gone_on_with(scenario: Callable[..., Scenario], number: int) -> None:
    undisturbed = scenario()
    undisturbed.run(everywhere(undisturbed))
    one = scenario()
    one.run(everywhere(one), environ={"OVERNIGHT_KILL_AT": str(number)})
    assert one.run(everywhere(one)).state == "done"
    assert one.table_digest() == undisturbed.table_digest()
    one.assert_paid_once(but_calls=True)
