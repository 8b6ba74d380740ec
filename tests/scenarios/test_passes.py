"""What one process sent or was answered, another has: in passes that do not wait, so that none of it takes for ever."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from scenarios.conftest import Scenario

# Real seconds for a handful of calls that take a fifth of one each.
SOON = 30.0


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_what_one_process_has_sent_another_takes_up(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(provider=provider)
    assert one.call("submit", one.study()).state == "submitted"
    sent = len(one.batches())
    assert sent == 3
    assert one.in_passes().state == "done"
    assert one.statuses() == {"answered": 12}
    assert len(one.batches()) == sent
    one.assert_paid_once()


def test_what_an_expired_batch_has_finished_is_collected(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "expire", "share": 0.4, "times": 1}])
    assert one.call("submit", one.study(10, batch={"max_requests": 10})).state == "submitted"
    assert one.in_passes().state == "done"
    assert one.statuses() == {"answered": 10}
    # Four rows were answered by the first batch, and only the six others were asked again.
    assert sorted(batch["rows"] for batch in one.batches()) == [6, 10]
    one.assert_paid_once()


def test_answers_of_calls_are_on_record_when_the_process_dies(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"latency": {"batch": [60, 600], "live": [4_000, 4_000]}}, provider="together")
    study = one.study(8, mode="live", live={"concurrency": 1})
    killed = one.run(study, environ={"OVERNIGHT_KILL_AT": "committed calls"}, within=SOON)
    assert killed.signal == signal.SIGKILL
    with one.ledger() as view:
        kept = sum(count for (_, outcome, _), count in view.counts.outcomes().items() if outcome == "answered")
    assert 0 < kept < 8
    assert one.run(study, within=SOON).state == "done"
    assert one.statuses() == {"answered": 8}
    # One call at a time: at most one was under way.
    assert one.log()["rows_run"] <= 9
