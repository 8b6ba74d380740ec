"""A create whose answer is lost: found, sent again, or left to the user; never doubled."""

from __future__ import annotations

import json
from collections.abc import Callable

from overnight import api
from scenarios.bill import assert_bill, priced
from scenarios.conftest import Scenario


def test_a_lost_answer_is_found_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "drop_answer", "times": 2}])
    ending = one.run(one.study())
    assert ending.state == "done"
    assert len(one.batches()) == 3
    assert any("found its batch" in text for text in ending.said)
    one.assert_paid_once()


def test_a_create_that_never_arrived_is_sent_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "lose_request", "times": 1}])
    ending = one.run(one.study())
    assert ending.state == "done"
    assert any("the batch was not made; sending it again" in text for text in ending.said)
    assert len(one.batches()) == 3
    assert one.attempts()["attempt"].max() == 2
    one.assert_paid_once()


def test_a_batch_that_shows_up_late_is_not_doubled(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "hide", "seconds": 90, "drop": True, "times": 1}])
    assert one.run(one.study()).state == "done"
    assert len(one.batches()) == 3
    one.assert_paid_once()


def test_a_create_that_arrives_after_all_looks_cannot_run(scenario: Callable[..., Scenario]) -> None:
    # The connection breaks at once, and the create takes effect only after the last look: its input is gone by then.
    one = scenario(faults=[{"on": "create", "do": "delay_create", "seconds": 600_000, "times": 1}])
    assert one.run(one.study(5)).state == "done"
    one.emulator.advance(700_000)
    late = [batch for batch in one.batches() if batch["status"] == "failed"]
    assert len(late) == 1
    assert late[0]["executed"] == 0
    assert one.statuses() == {"answered": 5}
    one.assert_paid_once()


def test_two_candidates_stop_the_shard_and_nothing_else(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "twice", "times": 1}])
    ending = one.run(priced(one))
    assert ending.state == "undecided"
    assert "overnight adopt --shard night:" in ending.message
    assert "overnight resolve night --shard" in ending.message
    assert one.statuses()["answered"] in (7, 10)
    status = api.status("night", runs=one.folder / "runs")[0]
    (stuck,) = [batch for batch in status.batches if batch.state == "stuck"]
    assert f"overnight resolve night --shard {stuck.shard} --none" in status.to_do[0]
    # The user keeps one of them, and the run ends.
    candidates = status.to_do[0].split("(")[1].split(")")[0].split(", ")
    told = api.resolve_shard("night", stuck.shard, batch_id=candidates[0], runs=one.folder / "runs")
    assert "1 other batch counts as presumed spent" in told
    assert one.call("resume", "night").state == "done"
    assert one.statuses() == {"answered": 12}
    # The other one has run the same rows, and has to be paid.
    assert_bill(one, presumed=True)
    api.rebuild("night", runs=one.folder / "runs")
    assert_bill(one, presumed=True)
    assert one.findings() == []


def test_the_user_may_say_that_no_candidate_is_ours(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "twice", "times": 1}])
    assert one.run(priced(one, models=[one.model])).state == "undecided"
    status = api.status("night", runs=one.folder / "runs")[0]
    (stuck,) = [batch for batch in status.batches if batch.state == "stuck"]
    told = api.resolve_shard("night", stuck.shard, runs=one.folder / "runs")
    assert "goes back to the queue; 2 other batches count as presumed spent" in told
    assert one.call("resume", "night").state == "done"
    assert one.statuses() == {"answered": 12}
    # Without `max_tokens` nobody can say what they cost at most: that is unknown, and not nought.
    (costs,) = api.costs("night", runs=one.folder / "runs").iter_rows(named=True)
    assert costs["presumed"] is None
    assert "rows presumed spent, at a cost that nobody can say" in costs["price_note"]


def test_an_incomplete_listing_proves_nothing(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[
            {"on": "create", "do": "drop_answer", "times": 1},
            {"on": "list", "do": "status", "status": 500, "skip": 1, "times": 4},
        ]
    )
    assert one.run(one.study()).state == "done"
    assert len(one.batches()) == 3
    one.assert_paid_once()


def test_a_refused_create_backs_off_and_goes_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "status", "status": 429, "retry_after": 5, "times": 4}])
    assert one.run(one.study()).state == "done"
    assert len(one.batches()) == 3
    assert one.attempts()["attempt"].max() == 1
    one.assert_paid_once()


def test_a_server_error_on_create_is_looked_into(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "status", "status": 500, "times": 1}])
    assert one.run(one.study()).state == "done"
    assert len(one.batches()) == 3
    one.assert_paid_once()


def test_lost_uploads_are_sent_again_for_free(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[
            {"on": "upload", "do": "drop_answer", "times": 2},
            {"on": "upload", "do": "status", "status": 503, "times": 2},
        ]
    )
    assert one.run(one.study()).state == "done"
    one.assert_paid_once()


def test_submit_comes_back_and_resume_collects(scenario: Callable[..., Scenario]) -> None:
    # Slow enough that nothing ends between two commands, on a busy machine too.
    one = scenario({"time_scale": 2_000, "latency": {"batch": [80_000, 80_000], "live": [0, 0]}})
    ending = one.call("submit", one.study())
    assert ending.state == "submitted", ending
    assert len(one.batches()) == 3
    assert one.statuses() == {"pending": 12}
    assert list((one.folder / "runs" / "night" / "outbox").iterdir()) == []  # the provider has all of it
    once = one.call("resume", "night", once=True)
    assert once.state == "running"
    one.emulator.finish()
    assert one.call("resume", "night", once=True).state == "done"
    assert one.call("resume", "night", once=True).state == "done"
    assert one.statuses() == {"answered": 12}
    one.assert_paid_once()


def test_a_timeout_leaves_everything_resumable(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"latency": {"batch": [50_000, 60_000], "live": [0, 0]}})
    ending = one.run(one.study(), timeout="1h")
    assert ending.state == "running"
    assert "overnight resume night" in ending.message
    one.emulator.finish()
    assert one.run(one.study()).state == "done"
    one.assert_paid_once()


def test_the_tag_and_the_custom_ids_carry_the_token(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study())
    tokens = {batch["metadata"]["overnight"] for batch in one.batches()}
    ids = one.attempts()["custom_id"].to_list()
    assert {text[1:].split("-")[0] for text in ids} == tokens
    assert json.dumps(one.log()["calls"]).count("POST") > 0
