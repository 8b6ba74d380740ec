"""A provider that takes no batch below a number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scenarios.conftest import KEY, Scenario
from scenarios.distributions import lookalike

FLOOR = 10


def begun(
    scenario: Callable[..., Scenario], faults: list[dict[str, Any]] | None = None
) -> tuple[Scenario, dict[str, str]]:
    one = scenario(faults=faults or [])
    environ = {
        "OVERNIGHT_TEST_PLUGINS": str(lookalike(one.folder, "floored", min_rows=FLOOR)),
        "FLOORED_API_KEY": KEY,
        "FLOORED_BASE_URL": one.emulator.openai_url,
    }
    return one, environ


def study(one: Scenario, rows: int, **fields: Any) -> str:
    return one.study(rows, **{"models": ["floored/model"], "batch": {"max_requests": 20}, **fields})


def sizes(one: Scenario) -> list[int]:
    return sorted(batch["rows"] for batch in one.batches())


@pytest.mark.parametrize(
    ("rows", "batch", "expected"),
    [
        (25, {"max_requests": 20}, [10, 15]),
        (45, {"max_requests": 20}, [10, 15, 20]),
        (25, {"segments": 5}, [12, 13]),
        (10, {"max_requests": 3}, [10]),
    ],
)
def test_no_batch_is_below_the_floor(
    scenario: Callable[..., Scenario], rows: int, batch: dict[str, int], expected: list[int]
) -> None:
    one, environ = begun(scenario)
    assert one.run(study(one, rows, batch=batch), environ=environ).state == "done"
    assert sizes(one) == expected
    assert one.statuses() == {"answered": rows}
    one.assert_paid_once()


def test_too_few_rows_are_refused_before_anything_is_sent(scenario: Callable[..., Scenario]) -> None:
    one, environ = begun(scenario)
    ending = one.run(study(one, 4), environ=environ)
    wanted = (
        "4 rows wait, and a batch of floored must hold at least 10; write `mode: auto` to ask them live, or add items"
    )
    assert wanted in ending.message
    assert ending.error == "StudyError"
    assert one.batches() == []
    assert one.run(study(one, 14), environ=environ).state == "done"
    assert sizes(one) == [14]


def test_with_auto_too_few_rows_are_asked_live(scenario: Callable[..., Scenario]) -> None:
    one, environ = begun(scenario)
    ending = one.run(study(one, 24, mode="auto", batch={"max_requests": 10}), environ=environ)
    assert ending.state == "done", ending
    assert sizes(one) == [10, 10]
    assert one.statuses() == {"answered": 24}


def test_rows_asked_again_are_not_sent_below_the_floor(scenario: Callable[..., Scenario]) -> None:
    one, environ = begun(scenario, [{"on": "batch", "do": "expire", "share": 0.8, "times": 1}])
    ending = one.run(study(one, 20), environ=environ)
    assert (ending.state, sizes(one)) == ("held up", [20])
    assert "wait, and a batch of floored must hold at least 10" in ending.message
    assert one.run(study(one, 20, mode="auto"), environ=environ).state == "done"
    assert sizes(one) == [20]
    assert one.statuses() == {"answered": 20}
