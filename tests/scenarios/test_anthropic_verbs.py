"""The other verbs at Anthropic: cancel, ready-made files, adopting what somebody else sent, and what ends badly."""

from __future__ import annotations

import json
from collections.abc import Callable

from anthropic import Anthropic

from scenarios.conftest import KEY, Scenario

ANTHROPIC = {"provider": "anthropic"}
SLOW = {"on": "batch", "do": "slow", "seconds": 50_000}


def ready(count: int, **more: object) -> list[dict[str, object]]:
    return [
        {
            "custom_id": f"theirs-{n}",
            "params": {
                "model": "claude-haiku-4-5",
                "max_tokens": 500,
                "messages": [{"role": "user", "content": f"Count to {n}."}],
                **more,
            },
        }
        for n in range(count)
    ]


def test_cancel_keeps_what_finished(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"time_scale": 500}, faults=[SLOW], **ANTHROPIC)
    study = one.study(40, batch={"max_requests": 40})
    one.call("submit", study)
    one.emulator.advance(25_000)
    ending = one.call("cancel", "night")
    assert ending.state == "cancelled", ending
    assert set(one.statuses()) == {"answered", "pending"}
    one.emulator.arm([])
    assert one.run(study).state == "done"
    assert one.statuses() == {"answered": 40}
    one.assert_paid_once()


def test_a_ready_made_file_is_sent_as_it_is(scenario: Callable[..., Scenario]) -> None:
    one = scenario(**ANTHROPIC)
    lines = ready(3) + [{**row, "custom_id": f"warm-{n}"} for n, row in enumerate(ready(2, temperature=0.5))]
    (one.folder / "theirs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    ending = one.call("submit", "theirs.jsonl", provider="anthropic")
    assert ending.state == "submitted", ending
    assert one.call("resume", "theirs").state == "done"
    assert one.statuses("theirs") == {"answered": 5}
    assert len(one.batches()) == 2  # rows that sample are sent under the version that lets them
    one.assert_paid_once()


def test_a_batch_of_somebody_else_is_adopted_with_what_it_answered(scenario: Callable[..., Scenario]) -> None:
    one = scenario(**ANTHROPIC)
    with Anthropic(api_key=KEY, base_url=f"{one.emulator.url}/anthropic", max_retries=0) as client:
        batch = client.messages.batches.create(requests=ready(4))  # type: ignore[arg-type]
    one.emulator.finish()
    ending = one.call("adopt", "anthropic", batch.id)
    assert ending.state == "done", ending
    name = f"adopted-{batch.id}"
    assert one.statuses(name) == {"answered": 4}
    assert sorted(one.table(name)["item_id"]) == [f"theirs-{n}" for n in range(4)]


def test_rows_that_fail_or_expire_are_asked_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[
            {"on": "batch", "do": "expire", "share": 0.4, "times": 1},
            {"on": "row", "do": "error", "status": 529, "odds": 0.3, "times": 3},
            {"on": "row", "do": "omit", "times": 1},
            {"on": "content", "do": "garbage_tail", "times": 1},
        ],
        **ANTHROPIC,
    )
    assert one.run(one.study(20)).state == "done"
    assert one.statuses() == {"answered": 20}
    one.assert_paid_once()


def test_a_provider_that_is_busy_gets_its_batches_later(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[
            {"on": "create", "do": "status", "status": 529, "times": 2},
            {"on": "create", "do": "status", "status": 429, "retry_after": 5, "times": 2},
        ],
        **ANTHROPIC,
    )
    assert one.run(one.study()).state == "done"
    assert one.attempts()["attempt"].max() == 1
    one.assert_paid_once()


def test_credit_that_runs_out_stops_at_once(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"keys": {"no_credit": ["sk-ant-poor"]}}, **ANTHROPIC)
    ending = one.run(one.study(), environ={"ANTHROPIC_API_KEY": "sk-ant-poor"})
    assert ending.error == "OutOfCredit", ending
    assert one.statuses() == {"pending": 12}
    # A refusal may lie, and here only the account that was asked could tell: another key takes a word from the user.
    assert one.run(one.study()).error == "AccountChanged"
    assert one.run(one.study(), accept_account=True).state == "done"
    one.assert_paid_once()
