"""Runs of one database at one account share its queue's room; those of another account have their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

import own_database
from overnight.api.places import folder_of
from overnight.ledger.account_book import AccountBook
from overnight.ledger.homes import accounts_of
from overnight.ledger.ledger import look_at
from overnight.settings import settings
from scenarios.conftest import Scenario

SLOW = {"time_scale": 1000, "latency": {"batch": [60_000, 60_000], "live": [0, 0]}}


@pytest.fixture
def shared(scenario: Callable[..., Scenario], monkeypatch: pytest.MonkeyPatch) -> Iterator[Scenario]:
    monkeypatch.setenv(own_database.WANTED, "postgres")
    with own_database.in_use():
        one = scenario(truth=SLOW)
        one.environ |= own_database.environ()
        yield one


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
    assert one.call("submit", theirs).error is None
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
