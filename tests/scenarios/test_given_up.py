"""A shard that was given up although its batch is there: `adopt --shard` takes it back, and pays for it once."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from overnight import api
from overnight.core.errors import StudyError
from overnight.ledger.ledger import open_ledger
from overnight.store.run_folder import RunFolder
from scenarios.bill import assert_bill, on_record, paid, priced
from scenarios.conftest import Scenario

HIDDEN = {"on": "list", "do": "stale", "seconds": 10**9}


def given_up_after_a_refusal(one: Scenario, study: str) -> str:
    """The server says 400 and has made the batch, which its listing does not show; returns the batch's id."""
    one.emulator.arm([{"on": "create", "do": "status", "applied": True, "times": 1, "status": 400}, HIDDEN])
    ending = one.run(study)
    assert ending.state == "rows failed", ending
    one.emulator.arm([])
    return str(one.batches()[0]["id"])


def test_a_refused_shard_is_given_the_batch_that_it_made_after_all(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    batch = given_up_after_a_refusal(one, priced(one, 5))
    assert one.statuses() == {"failed": 5}
    assert paid(one) > 0
    told = api.resolve_shard("night", 1, batch_id=batch, runs=one.folder / "runs")
    assert told == f"shard 1 is batch {batch}, and 5 rows wait for it: overnight resume night"
    assert one.findings() == ["1 attempt under way"]
    assert one.call("resume", "night").state == "done"
    assert one.statuses() == {"answered": 5}
    assert len(one.batches()) == 1
    one.assert_paid_once()
    assert_bill(one)
    assert one.findings() == []


def test_a_batch_that_was_gone_is_back(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"time_scale": 1, "latency": {"batch": [5, 5], "live": [0, 0]}})
    assert one.call("submit", priced(one, 5)).state == "submitted"
    one.emulator.arm([{"on": "retrieve", "do": "status", "status": 404}, HIDDEN])
    for _ in range(12):
        ending = one.call("resume", "night", once=True)
        one.grow_older(7200)
    assert ending.state == "rows failed", ending
    assert_bill(one, presumed=True)
    one.emulator.arm([])
    one.emulator.finish()
    api.resolve_shard("night", 1, batch_id=one.batches()[0]["id"], runs=one.folder / "runs")
    assert on_record(one) == (0, 0)
    assert one.call("resume", "night", once=True).state == "done"
    assert one.statuses() == {"answered": 5}
    assert_bill(one)
    assert one.findings() == []


def test_a_batch_that_was_thought_absent_is_taken_before_another_is_made(scenario: Callable[..., Scenario]) -> None:
    """Nothing was decided about its rows yet: they are still the shard's."""
    one = scenario()
    study = priced(one, 5)
    one.emulator.arm([{"on": "create", "do": "drop_answer", "times": 1}, HIDDEN])
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": "committed closed"}).signal
    one.emulator.arm([])
    api.resolve_shard("night", 1, batch_id=one.batches()[0]["id"], runs=one.folder / "runs")
    assert one.call("resume", "night").state == "done"
    assert len(one.batches()) == 1
    assert_bill(one)
    assert one.findings() == []


def test_the_attempt_that_makes_way_for_a_late_batch_leaves_no_input_behind(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = priced(one, 5)
    one.emulator.arm([{"on": "create", "do": "drop_answer", "times": 1}, HIDDEN])
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": "committed closed"}).signal
    one.emulator.arm([])
    assert one.run(study).state == "done"
    assert len(one.batches()) == 1
    assert [event.kind for event in one.events()].count("intended") == 2
    assert list((one.folder / "runs" / "night" / "outbox").iterdir()) == []
    assert_bill(one)
    assert one.findings() == []


def test_rows_that_were_asked_elsewhere_meanwhile_are_left_alone(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    batch = given_up_after_a_refusal(one, priced(one, 5))
    with open_ledger(RunFolder(one.folder / "runs" / "night")) as ledger:
        ledger.write("reask", lambda tx: tx.answers.ask_again([1, 2])).result()
    assert one.call("resume", "night").state == "rows failed"
    assert one.statuses() == {"answered": 2, "failed": 3}
    answers = one.table()
    api.resolve_shard("night", 1, batch_id=batch, runs=one.folder / "runs")
    assert one.findings() == ["1 attempt under way"]
    assert one.call("resume", "night").state == "done"
    assert one.statuses() == {"answered": 5}
    kept = one.table().join(answers.filter(pl.col("status") == "answered"), on="item_id")
    assert (kept["answer"] == kept["answer_right"]).all()
    # Two rows were run by both batches: the second bill for them is presumed.
    assert_bill(one, presumed=True)
    assert one.findings() == []
    with pytest.raises(StudyError, match="all its rows are answered, or asked again elsewhere"):
        api.resolve_shard("night", 1, batch_id=batch, runs=one.folder / "runs")


def test_a_conversation_goes_on_when_its_turn_has_come_after_all(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = priced(one, 4, turns=["And in one word?"])
    batch = given_up_after_a_refusal(one, study)
    api.resolve_shard("night", 1, batch_id=batch, runs=one.folder / "runs")
    assert one.call("resume", "night").state == "done"
    assert one.table().height == 8
    assert one.statuses() == {"answered": 8}
    assert_bill(one)
