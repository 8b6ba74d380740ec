"""Creates whose answers are lost, late, doubled or lies, at every provider that keeps a tag: paid once, nothing left over."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from overnight import api
from scenarios.conftest import OWN_NAMES, PROVIDERS, Scenario
from scenarios.matrix import EVERY

# Anthropic keeps neither tag nor input: see test_without_tags.py.
TAGGED = [name for name in PROVIDERS if name != "anthropic"]
DOUBTS: dict[str, list[dict[str, Any]]] = {
    "lost answer": [{"on": "create", "do": "drop_answer", "times": 2}],
    "never arrived": [{"on": "create", "do": "lose_request", "times": 1}],
    "listed late": [{"on": "create", "do": "hide", "seconds": 90, "drop": True, "times": 1}],
    "server error": [{"on": "create", "do": "status", "status": 500, "applied": True, "times": 1}],
    "portal": [{"on": "create", "do": "web_page", "applied": True, "times": 1}],
    "lying refusal": [{"on": "create", "do": "status", "status": 400, "message": "No.", "applied": True, "times": 1}],
    "lying throttle, listed late": [
        {"on": "create", "do": "status", "status": 429, "applied": True, "times": 1},
        {"on": "list", "do": "stale", "seconds": 20, "times": 4, "skip": 2},
    ],
    "lost upload": [
        {"on": "upload", "do": "drop_answer", "times": 2},
        {"on": "upload", "do": "status", "status": 503, "times": 1},
    ],
}
# Every doubt at every provider on request; else each provider has one of them, and each doubt a provider.
CASES = [
    (provider, doubt)
    for number, provider in enumerate(TAGGED)
    for place, doubt in enumerate(DOUBTS)
    if os.environ.get(EVERY) or place == number % len(DOUBTS)
]
# Where there cannot be two, because the address or the id that was chosen is the batch.
ONCE_BY_NAME = {"fireworks", "xai"}


@pytest.mark.parametrize(("provider", "doubt"), CASES)
def test_a_create_in_doubt_is_paid_once(scenario: Callable[..., Scenario], provider: str, doubt: str) -> None:
    one = scenario({"time_scale": 2_000}, faults=DOUBTS[doubt], provider=provider)
    ending = one.run(one.study(6, **one.cut(3)))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 6}
    assert len([batch for batch in one.batches() if batch["executed"]]) == 2
    one.assert_paid_once()
    one.assert_nothing_left_over(2 if doubt == "lost upload" and provider not in OWN_NAMES else 0)
    assert one.findings() == []


@pytest.mark.parametrize("provider", TAGGED if os.environ.get(EVERY) else ["groq", "bedrock"])
def test_a_create_that_arrives_after_all_looks_cannot_run(scenario: Callable[..., Scenario], provider: str) -> None:
    """Its input is gone by then, or closed."""
    one = scenario(faults=[{"on": "create", "do": "delay_create", "seconds": 600_000, "times": 1}], provider=provider)
    assert one.run(one.study(5)).state == "done"
    one.emulator.advance(700_000)
    assert len([batch for batch in one.batches() if batch["executed"]]) == 1
    assert one.statuses() == {"answered": 5}
    one.assert_paid_once()


@pytest.mark.parametrize("provider", TAGGED if os.environ.get(EVERY) else ["mistral", "fireworks"])
def test_a_create_that_makes_two(scenario: Callable[..., Scenario], provider: str) -> None:
    """The user keeps one of them. Where its id is chosen before, there is never a second one."""
    one = scenario(faults=[{"on": "create", "do": "twice", "times": 1}], provider=provider)
    ending = one.run(one.study(6, **one.cut(3)))
    if provider in ONCE_BY_NAME:
        assert (ending.state, len(one.batches())) == ("done", 2)
        one.assert_paid_once()
        return
    assert ending.state == "undecided", ending
    (stuck,) = [batch for batch in one.status().batches if batch.state == "stuck"]
    candidates = one.status().to_do[0].split("(")[1].split(")")[0].split(", ")
    assert len(candidates) == 2
    api.resolve_shard("night", stuck.shard, batch_id=candidates[0], runs=one.folder / "runs")
    assert one.call("resume", "night").state == "done"
    assert one.statuses() == {"answered": 6}
