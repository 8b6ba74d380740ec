"""Runs of one database at one account share its queue's room and its one create in doubt; another account has its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from overnight.api.places import folder_of
from overnight.ledger.account_book import AccountBook
from overnight.ledger.homes import accounts_of
from overnight.ledger.ledger import look_at
from overnight.settings import settings
from scenarios.conftest import Scenario
from scenarios.suspended import Suspended

SLOW = {"time_scale": 1000, "latency": {"batch": [60_000, 60_000], "live": [0, 0]}}


@pytest.fixture
def shared(in_database: Callable[..., Scenario]) -> Scenario:
    return in_database(truth=SLOW)


def room_for_one_and_a_half(one: Scenario, run: str) -> None:
    """As if a refusal had told: the queue holds what this run has there, and half as much again."""
    folder = folder_of(run, settings(runs=one.folder / "runs"))
    with look_at(folder) as view:
        (attempt,) = view.attempts.everything()
    place = accounts_of(folder)
    assert place is not None
    with closing(AccountBook(place)) as book:
        book.keep_limit(f"openai|{one.emulator.openai_url}||", "gpt-4.1-mini", int(attempt.estimate * 1.5))


def study(one: Scenario, name: str) -> str:
    return one.study(10, name=name, prompt=f"For {name}, describe {{text}}.", batch={"max_requests": 10})


def test_what_one_run_has_there_the_other_waits_for(shared: Scenario) -> None:
    one = shared
    mine, theirs = study(one, "mine"), study(one, "theirs")
    assert one.call("submit", mine).state == "submitted"
    room_for_one_and_a_half(one, "mine")
    waits = one.call("submit", theirs)
    assert waits.state == "submitted", waits
    assert waits.message == (
        "10 rows are still to be sent when the provider has room for more. To go on: overnight resume theirs"
    )
    looked = one.call("resume", "theirs", once=True)
    assert looked.message == "10 rows open; 10 rows are still to be sent. To go on: overnight resume theirs"
    assert len(one.batches()) == 1
    # At an account of its own there is room.
    other = one.call("submit", study(one, "elsewhere"), environ={"OPENAI_API_KEY": "sk-another-0123456789abcdefgh"})
    assert other.state == "submitted", other
    assert len(one.batches()) == 2
    one.emulator.finish()
    assert one.call("resume", "mine", environ=one.going_on).state == "done"
    sent = one.call("submit", theirs, environ=one.going_on)
    assert sent.state == "submitted", sent
    assert [batch["status"] for batch in one.batches() if batch["status"] == "failed"] == []
    assert len(one.batches()) == 3


def test_what_was_told_before_a_kill_is_told_anew(shared: Scenario) -> None:
    """A run that was killed with a batch under way has it still; one that has collected it has nothing."""
    one = shared
    mine = study(one, "mine")
    assert one.call("submit", mine).state == "submitted"
    room_for_one_and_a_half(one, "mine")
    killed = one.call("run", mine, environ={"OVERNIGHT_KILL_AT": "3"})
    assert killed.signal == 9
    assert one.call("submit", study(one, "theirs")).error is None
    assert len(one.batches()) == 1
    one.emulator.finish()
    assert one.call("run", mine, environ=one.going_on).state == "done"
    assert one.call("submit", study(one, "theirs"), environ=one.going_on).state == "submitted"
    assert len(one.batches()) == 2


@pytest.fixture
def at_anthropic(in_database: Callable[..., Scenario]) -> Scenario:
    """Batches bear no tag there, and take long."""
    return in_database(truth={**SLOW, "time_scale": 100}, provider="anthropic")


WAITS = "waits until run 'mine' knows what became of a create of this account"


def test_while_a_create_of_one_run_is_in_doubt_no_other_run_sends_one(at_anthropic: Scenario) -> None:
    """As in one run: a second lost create could be taken for the first one."""
    one = at_anthropic
    one.emulator.arm([{"on": "create", "do": "drop_answer", "times": 1}])
    assert one.call("submit", study(one, "mine")).state == "submitted"
    theirs = study(one, "theirs")
    sent = one.call("submit", theirs)
    assert sent.state == "submitted", sent
    assert "1 batch is still to be sent" in sent.message
    assert any(WAITS in line for line in sent.said), sent.said
    assert len(one.batches()) == 1
    waited = one.call("run", theirs, timeout="2m", environ=one.going_on)
    assert waited.state == "running", waited
    assert len(one.batches()) == 1
    # At an account of its own there is nothing to wait for.
    elsewhere = {"ANTHROPIC_API_KEY": "sk-ant-another-0123456789abcdefgh"}
    other = one.call("submit", study(one, "elsewhere"), environ=elsewhere | one.going_on)
    assert other.state == "submitted", other
    assert len(one.batches()) == 2
    one.emulator.finish()
    assert one.call("resume", "mine", environ=one.going_on).state == "done"
    assert one.call("submit", theirs, environ=one.going_on).state == "submitted"
    one.emulator.finish()
    assert one.call("resume", "theirs", environ=one.going_on).state == "done"
    assert one.statuses("mine") == one.statuses("theirs") == {"answered": 10}
    assert len(one.batches()) == 3
    one.assert_paid_once()


def test_a_run_that_died_with_a_create_in_doubt_is_waited_for_an_hour(at_anthropic: Scenario) -> None:
    one = at_anthropic
    log = one.folder / "checkpoints"
    probe = one.call("submit", study(one, "probe"), environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    assert probe.state == "submitted", probe
    number = log.read_text().splitlines().index("send:create") + 1
    killed = one.call("submit", study(one, "mine"), environ={"OVERNIGHT_KILL_AT": str(number)} | one.going_on)
    assert killed.signal == 9
    before = len(one.batches())
    theirs = study(one, "theirs")
    waited = one.call("run", theirs, timeout="2m", environ=one.going_on)
    assert waited.state == "running", waited
    assert any(WAITS in line for line in waited.said), waited.said
    assert len(one.batches()) == before
    one.emulator.advance(3_600)
    assert one.call("submit", theirs, environ=one.going_on).state == "submitted"
    assert len(one.batches()) == before + 1
    # The batch of who has waited is not taken for the lost one.
    one.emulator.finish()
    assert one.call("resume", "theirs", environ=one.going_on).state == "done"
    quickly = {"OVERNIGHT_TIME_SCALE": "500"}  # ten minutes of looking whether it was made
    asked = one.call("run", study(one, "mine"), timeout="15m", environ=one.going_on | quickly)
    assert "shard 1: the batch was not made; sending it again" in asked.said
    one.emulator.finish()
    assert one.call("resume", "mine", environ=one.going_on).state == "done"
    assert one.statuses("mine") == one.statuses("theirs") == {"answered": 10}
    one.assert_paid_once()


def test_two_runs_that_begin_together_send_one_create_after_the_other(at_anthropic: Scenario) -> None:
    """One is suspended between its announcement and its create: the other waits, and both are done in the end."""
    one = at_anthropic
    surroundings = {**one.addresses, **one.environ}
    with Suspended(study(one, "mine"), "committed creating", one.folder, surroundings) as first:
        first.wait_until_suspended()
        theirs = study(one, "theirs")
        waited = one.call("run", theirs, timeout="2m")
        assert waited.state == "running", waited
        assert one.batches() == []
        one.emulator.advance(70_000)
        ended = threading.Timer(3.0, one.emulator.finish)
        ended.start()
        assert first.wake().strip() == "done"
        ended.join()
    assert one.call("submit", theirs, environ=one.going_on).state == "submitted"
    assert len(one.batches()) == 2
    one.assert_paid_once()


def test_where_batches_bear_tags_nobody_waits(shared: Scenario) -> None:
    one = shared
    one.emulator.arm([{"on": "create", "do": "lose_request", "times": 1}])
    killed_in_doubt = one.call("run", study(one, "mine"), timeout="1m")
    assert killed_in_doubt.state == "running", killed_in_doubt
    assert one.call("submit", study(one, "theirs"), environ=one.going_on).state == "submitted"
    assert len(one.batches()) == 1
