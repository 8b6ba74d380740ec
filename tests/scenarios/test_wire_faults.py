"""Replies that are a trap: a run meets its time limit, keeps its other rows, and is finished by the next `resume`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from scenarios.conftest import Scenario

PRICED: dict[str, Any] = {"models": [{"model": "openai/gpt-4.1-mini", "max_tokens": 200}]}


@pytest.mark.parametrize(
    ("on", "do"),
    [("retrieve", "deep"), ("retrieve", "trickle"), ("retrieve", "bomb"), ("content", "trickle"), ("content", "bomb")],
)
def test_the_time_limit_holds_whatever_a_reply_does(scenario: Callable[..., Scenario], on: str, do: str) -> None:
    one = scenario(faults=[{"on": on, "do": do}])
    began = time.monotonic()
    ending = one.run(one.study(4), timeout="10h")
    assert time.monotonic() - began < 60
    assert ending.state != "done", ending
    one.emulator.arm([])
    assert one.run(one.study(4)).state == "done"
    assert one.statuses() == {"answered": 4}
    one.assert_paid_once()


def test_a_download_without_end_is_given_up_and_asked_for_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "content", "do": "endless", "times": 1}])
    assert one.run(one.study(4)).state == "done"
    assert one.statuses() == {"answered": 4}
    one.assert_paid_once()


@pytest.mark.parametrize("count", [2**62, -1, 2**53 - 1])
def test_one_row_with_odd_counts_costs_no_other_row(scenario: Callable[..., Scenario], count: int) -> None:
    one = scenario(faults=[{"on": "row", "do": "odd_usage", "count": count, "where": "number 3 "}])
    ending = one.run(one.study(12, **PRICED))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 12}
    one.assert_paid_once()
    assert one.status().presumed > 0
    assert one.findings() == []


def test_limits_of_hundreds_of_digits_are_no_limits(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "live", "do": "odd_headers"}])
    assert one.run(one.study(8, mode="live")).state == "done"
    assert one.statuses() == {"answered": 8}
