"""Anything unexpected in a task of the engine ends the run in a clear error: no hang, nothing lost, nothing paid twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenarios.conftest import Scenario


@pytest.mark.parametrize(
    ("verb", "at", "mode"),
    [
        ("upload", 1, "batch"),
        ("newest", 2, "batch"),
        ("create", 2, "batch"),
        ("retrieve", 1, "batch"),
        ("fetch", 2, "batch"),
        ("call", 3, "live"),
    ],
)
def test_it_is_told_and_the_next_run_goes_on(scenario: Callable[..., Scenario], verb: str, at: int, mode: str) -> None:
    one = scenario()
    study = one.study(12)
    ending = one.call("scenarios.odd_faults:run_with_fault", study, verb, at, mode=mode)
    assert ending.error == "crash", ending
    assert "Odd: of all things" in ending.message
    assert one.run(study, mode=mode).state == "done"
    assert one.table().height == 12
    assert one.statuses() == {"answered": 12}
    if mode == "batch":
        one.assert_paid_once()
