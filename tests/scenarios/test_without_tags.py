"""A provider that keeps no tag: a create whose answer is lost is told from a colleague's by its rows, when they come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from anthropic import Anthropic

from overnight import api
from scenarios.conftest import KEY, Scenario
from scenarios.suspended import Suspended

ANTHROPIC = {"provider": "anthropic"}


def colleague(one: Scenario, rows: int) -> str:
    """Somebody else's batch of the same account, and of this many rows."""
    requests: list[Any] = [
        {
            "custom_id": f"theirs-{n}",
            "params": {
                "model": "claude-haiku-4-5",
                "max_tokens": 50,
                "messages": [{"role": "user", "content": f"{n}, {time.monotonic_ns()}"}],
            },
        }
        for n in range(rows)
    ]
    with Anthropic(api_key=KEY, base_url=f"{one.emulator.url}/anthropic", max_retries=0) as client:
        return client.messages.batches.create(requests=requests).id


def submitted(one: Scenario, batch_id: str) -> bool:
    return any(attempt == batch_id for attempt in one.attempts()["batch_id"].to_list())


def test_a_study_goes_from_one_provider_to_another_by_a_word(scenario: Callable[..., Scenario]) -> None:
    one = scenario(**ANTHROPIC)
    assert one.run(one.study()).state == "done"
    assert one.statuses() == {"answered": 12}
    assert {batch["dialect"] for batch in one.batches()} == {"anthropic"}
    assert set(one.table()["provider"]) == {"anthropic"}
    assert one.table()["cost"].null_count() == 0
    one.assert_paid_once()


def test_a_lost_answer_is_found_by_its_rows(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "drop_answer", "times": 2}], **ANTHROPIC)
    ending = one.run(one.study())
    assert ending.state == "done", ending
    assert len(one.batches()) == 3
    assert any("may be its batch; its rows tell when it has ended" in text for text in ending.said)
    assert any("found its batch" in text for text in ending.said)
    assert one.attempts()["attempt"].max() == 1
    one.assert_paid_once()


def test_a_batch_in_doubt_is_not_given_up_when_the_provider_denies_it_once(scenario: Callable[..., Scenario]) -> None:
    lost = {"on": "create", "do": "drop_answer", "times": 1}
    one = scenario(faults=[lost, {"on": "retrieve", "do": "status", "status": 404, "times": 2}], **ANTHROPIC)
    ending = one.run(one.study(5))
    assert ending.state == "done", ending
    assert one.log()["faults_fired"]["1"] == 2
    assert one.attempts()["attempt"].max() == 1
    one.assert_paid_once()


def test_while_one_create_is_in_doubt_no_other_is_sent(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        {"latency": {"batch": [20_000, 40_000], "live": [0, 0]}},
        faults=[{"on": "create", "do": "drop_answer", "times": 1}],
        **ANTHROPIC,
    )
    ending = one.run(one.study(), timeout="5h")
    assert ending.state == "running", ending
    (only,) = one.batches()
    status = api.status("night", runs=one.folder / "runs")[0]
    (unsure,) = [batch for batch in status.batches if batch.state == "unsure"]
    assert unsure.possible == (only["id"],)
    one.emulator.finish()
    assert one.run(one.study()).state == "done"
    assert len(one.batches()) == 3
    one.assert_paid_once()


@pytest.mark.in_folder("an input file of its is lost")
def test_a_create_that_nobody_goes_on_with_holds_up_no_other_for_ever(scenario: Callable[..., Scenario]) -> None:
    """Announced, and then its input cannot be read: the others wait for a pass that finds out what became of it."""
    one = scenario(**ANTHROPIC)
    study = one.study()
    with Suspended(study, "committed creating", one.folder, {**one.addresses, **one.environ}) as night:
        night.wait_until_suspended()
        before = one.batches()
        with one.ledger() as view:
            (announced,) = [attempt.token for attempt in view.attempts.everything() if attempt.state == "creating"]
        (one.folder / "runs" / "night" / "outbox" / f"{announced}.jsonl").unlink()
        said = night.wake(within=60)
    assert said.startswith("FileDamaged: "), said
    assert len(one.batches()) == len(before)
    ending = one.run(study, environ=one.going_on)
    assert ending.state == "done", ending
    assert len(one.batches()) == 3
    one.assert_paid_once()
    assert one.findings() == []


def test_submit_does_not_wait_for_the_end_of_a_doubt(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        {"latency": {"batch": [20_000, 40_000], "live": [0, 0]}},
        faults=[{"on": "create", "do": "drop_answer", "times": 1}],
        **ANTHROPIC,
    )
    ending = one.call("submit", one.study())
    assert ending.state == "submitted", ending
    assert "the rest is sent then" in ending.message
    assert len(one.batches()) == 1
    one.emulator.finish()
    rotated = one.call("resume", "night", environ={"ANTHROPIC_API_KEY": "sk-ant-rotated-key"})
    assert rotated.state == "done", rotated
    assert any("same account: it sees our batches" in text for text in rotated.said)
    assert len(one.batches()) == 3
    one.assert_paid_once()


def test_a_create_that_never_arrived_is_sent_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "lose_request", "times": 1}], **ANTHROPIC)
    ending = one.run(one.study())
    assert ending.state == "done", ending
    assert any("the batch was not made; sending it again" in text for text in ending.said)
    assert len(one.batches()) == 3
    assert one.attempts()["attempt"].max() == 2
    one.assert_paid_once()


@pytest.mark.parametrize("late", [{"do": "delay_create"}, {"do": "hide", "drop": True}])
def test_a_create_that_arrives_late_is_not_doubled(scenario: Callable[..., Scenario], late: dict[str, Any]) -> None:
    one = scenario(faults=[{"on": "create", "seconds": 300, "times": 1, **late}], **ANTHROPIC)
    ending = one.run(one.study())
    assert ending.state == "done", ending
    assert len(one.batches()) == 3
    assert one.attempts()["attempt"].max() == 1
    one.assert_paid_once()


@pytest.mark.parametrize("lost", ["drop_answer", "lose_request"])
def test_a_colleagues_batch_of_the_same_size_is_not_adopted(scenario: Callable[..., Scenario], lost: str) -> None:
    """Killed at `creating`; before it is looked into, somebody else sends a batch of as many rows."""
    one = scenario(**ANTHROPIC)
    log = one.folder / "checkpoints"
    probe = one.study(5, name="probe", prompt="Count {text}.")
    one.run(probe, environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    number = log.read_text().splitlines().index("send:create") + 1
    study = one.study(5)
    if lost == "drop_answer":  # it arrives, and nobody hears of it
        number += 1
    killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
    assert killed.signal is not None
    theirs = colleague(one, 5)
    ending = one.run(study)
    assert ending.state == "done", ending
    assert not submitted(one, theirs)
    assert one.statuses() == {"answered": 5}
    assert len(one.batches()) == 3  # the probe's, theirs, and one of ours
    one.assert_paid_once()


@pytest.mark.parametrize("spoiled", [{"do": "web_page"}, {"do": "empty"}, {"do": "status", "status": 404}])
def test_a_spoiled_look_at_its_rows_does_not_decide_whose_batch_it_is(
    scenario: Callable[..., Scenario], spoiled: dict[str, Any]
) -> None:
    faults = [{"on": "create", "do": "drop_answer", "times": 1}, {"on": "content", "lasts": 1_000, **spoiled}]
    one = scenario(faults=faults, **ANTHROPIC)
    assert one.run(one.study(5)).state == "done"
    assert one.statuses() == {"answered": 5}
    assert len(one.batches()) == 1
    one.assert_paid_once()


def test_rows_that_are_gone_leave_the_decision_to_the_user(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[
            {"on": "create", "do": "drop_answer", "times": 1},
            {"on": "batch", "do": "empty_output", "times": 1},
        ],
        **ANTHROPIC,
    )
    ending = one.run(one.study(5))
    assert ending.state == "undecided", ending
    assert "has a candidate at the provider" in ending.message
    status = api.status("night", runs=one.folder / "runs")[0]
    api.resolve_shard("night", status.batches[0].shard, runs=one.folder / "runs")
    assert one.call("resume", "night").state == "done"
    assert one.statuses() == {"answered": 5}


def test_a_dead_anthropic_does_not_stop_openai(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = one.study(4, models=["openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5"])
    ending = one.run(study, environ={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    assert ending.error == "Unavailable", ending
    by_provider = {(row["provider"], row["status"]) for row in one.table().iter_rows(named=True)}
    assert by_provider == {("openai", "answered"), ("anthropic", "pending")}
    assert one.run(study).state == "done"
    one.assert_paid_once()
