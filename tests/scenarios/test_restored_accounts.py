"""A ledger that was put back, of a run at several accounts: it sends nothing at any of them that another one has."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from overnight import api
from overnight.core.errors import StudyError
from overnight.store.run_folder import RunFolder
from run_process import Ending
from scenarios.conftest import MODELS, Scenario
from scenarios.older_ledgers import back_up, before_the_intents, ledger, put_back, requeued
from scenarios.test_pools import Replicas, assert_each_batch_once, pool, replicas

__all__ = ["replicas"]
pytestmark = pytest.mark.in_folder("its ledger is copied away and put back")

DEAD = "sk-dead"
HELD = "that its ledger does not know"
# Ways to go on with a run, all of which send.
WAYS: dict[str, Callable[[Scenario, str], Ending]] = {
    "run": lambda one, study: one.run(study),
    "submit": lambda one, study: one.call("submit", study),
    "resume": lambda one, _: one.call("resume", "night"),
    "once": lambda one, _: one.call("resume", "night", once=True, environ=one.going_on),
}


def two_providers(scenario: Callable[..., Scenario], second: str) -> tuple[Scenario, str, Path, Path]:
    """The newer ledger has sent at the first provider alone; the older one cuts those rows otherwise.

    What comes back: the study, as the older ledger would send it, the older ledger and the newest one.
    """
    one = scenario({"keys": {"refuse": [DEAD]}})
    models = [MODELS["openai"], MODELS[second]]
    older = before_the_intents(one, one.study(12, models=models, batch={"max_requests": 12}))
    requeued(RunFolder(ledger(one).parent))
    dead = {"GROQ_API_KEY": DEAD, "ANTHROPIC_API_KEY": DEAD}
    stopped = one.run(one.study(12, models=models), environ=dead)
    assert stopped.error == "Unauthorized", stopped
    assert one.log()["rows_run"] == 12
    newest = back_up(one, "newest")
    return one, one.study(12, models=models, batch={"max_requests": 12}), older, newest


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("second", ["groq", "anthropic"])
def test_an_older_ledger_sends_nothing_at_any_provider(
    scenario: Callable[..., Scenario], second: str, way: str
) -> None:
    """What it sent at the second provider would be unknown to the newest ledger, which then could not go on either."""
    one, study, older, newest = two_providers(scenario, second)
    made = len(one.batches())
    put_back(one, older)
    held = WAYS[way](one, study)
    assert held.state == "held up", held
    assert HELD in held.message
    assert "Put the newest ledger back" in held.message
    assert len(one.batches()) == made
    put_back(one, newest)
    ending = one.call("resume", "night")
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 24}
    one.assert_paid_once()
    assert one.findings() == []


def test_the_listings_alone_tell_where_the_whole_folder_was_set_back(scenario: Callable[..., Scenario]) -> None:
    one, study, older, _ = two_providers(scenario, "groq")
    made = len(one.batches())
    put_back(one, older)
    (ledger(one).parent / "sent").unlink()
    held = one.run(study)
    assert held.state == "held up", held
    assert HELD in held.message
    assert len(one.batches()) == made


# --- several accounts of one provider


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_is_found_at_the_account_of_the_pool_that_has_it(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas], way: str
) -> None:
    """The older ledger would give these rows to another account: they are there already, and stay there."""
    one = scenario()
    servers = replicas(one, {})
    older = before_the_intents(one, one.study(30, **pool(servers.urls)))
    assert one.run(one.study(30, **pool(servers.urls[:1]))).state == "done"
    assert servers.rows() == [30, 0]
    put_back(one, older)
    study = one.study(30, **pool(servers.urls))
    went_on = WAYS[way](one, study)
    assert went_on.state in ("done", "submitted", "running"), went_on
    ending = one.run(study)
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 30}
    assert servers.rows() == [30, 0]
    assert_each_batch_once(servers)
    assert one.findings() == []


def test_two_keys_of_one_account_list_the_same(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    models = [{"model": MODELS["openai"], "keys": ["FIRST_KEY", "SECOND_KEY"]}]
    keys = {"FIRST_KEY": "sk-first", "SECOND_KEY": "sk-second"}
    study = one.study(30, models=models)
    assert one.run(study, environ={**keys, "OVERNIGHT_KILL_AT": "committed packed"}).signal
    older = back_up(one)
    assert one.run(study, environ=keys).state == "done"
    made = len(one.batches())
    put_back(one, older)
    ending = one.run(study, environ=keys)
    assert ending.state == "done", ending
    assert len(one.batches()) == made
    one.assert_paid_once()


@pytest.mark.parametrize("gone", ["removed", "silent"])
def test_what_an_account_has_that_is_not_there_any_more_is_not_sent_to_another(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas], gone: str
) -> None:
    """The file `sent` tells of batches that nobody lists."""
    one = scenario()
    servers = replicas(one, {})
    whole = pool(servers.urls)
    older = before_the_intents(one, one.study(30, **whole))
    assert one.call("submit", one.study(30, **whole)).state == "submitted"
    newest = back_up(one, "newest")
    put_back(one, older)
    study = one.study(30, **(whole if gone == "silent" else pool(servers.urls[:1])))
    if gone == "silent":
        servers.all[1].arm([{"on": "list", "do": "status", "status": 503, "times": 1000}])
    held = one.run(study)
    assert held.error is not None or held.state == "held up", held
    assert held.state != "held up" or "no account lists a batch" in held.message
    assert len(servers.all[0].log()["batches"]) == 3
    if gone == "silent":
        servers.all[1].arm([])
    put_back(one, newest)
    ending = one.run(one.study(30, **whole))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 30}
    assert servers.rows() == [15, 15]
    assert_each_batch_once(servers)


# --- what cannot be found in a listing


def test_rows_of_a_batch_are_not_asked_live(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    older = before_the_intents(one, one.study(12))
    assert one.call("submit", one.study(12)).state == "submitted"
    newest = back_up(one, "newest")
    put_back(one, older)
    held = one.call("resume", "night", mode="live")
    assert held.state == "held up", held
    assert HELD in held.message
    put_back(one, newest)
    assert one.call("resume", "night", mode="batch").state == "done"
    assert one.log()["rows_run"] == 12


def test_a_create_that_is_under_way_is_waited_for(scenario: Callable[..., Scenario]) -> None:
    """The newer ledger announced it and died; no listing shows it yet. The older one would send it again."""
    late = {"on": "create", "do": "delay_create", "seconds": 10_000, "times": 1}
    one = scenario({"time_scale": 50, "latency": {"batch": [1, 5]}}, [late])
    study = one.study(12, batch={"max_requests": 20})
    older = before_the_intents(one, study)
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": "committed unknown"}).signal
    put_back(one, older)
    held = one.run(study)
    assert held.state == "held up", held
    assert "no account lists a batch" in held.message
    one.emulator.advance(10_000)
    ending = one.run(study, environ=one.going_on)
    assert ending.state == "done", ending
    assert len(one.batches()) == 1
    assert one.log()["rows_run"] == 12
    one.assert_paid_once()


# --- ways out


def forgotten(one: Scenario, held: Ending) -> None:
    """What the message says to type."""
    command = re.search(r"overnight resolve night --forget ([^\s;]+)", f"{held.message} {' '.join(held.said)}")
    assert command is not None, held
    with pytest.raises(StudyError, match="--forget wants the id of a batch"):
        api.forget_batch("night", " , ", runs=one.folder / "runs")
    api.forget_batch("night", command[1], runs=one.folder / "runs")


def test_all_that_is_unknown_can_be_forgotten_with_one_command(scenario: Callable[..., Scenario]) -> None:
    one, study, older, _ = two_providers(scenario, "groq")
    put_back(one, older)
    held = one.run(study)
    assert held.state == "held up", held
    forgotten(one, held)
    ending = one.run(study)
    assert ending.state == "done", ending
    assert one.log()["rows_run"] == 12 + 24


def test_two_ledgers_of_which_each_knows_what_the_other_does_not(scenario: Callable[..., Scenario]) -> None:
    """As docs/ledger.md says: a copy takes over the answers of both, and then asks what neither has."""
    one, study, older, newest = two_providers(scenario, "groq")
    put_back(one, older)
    forgotten(one, one.run(study))
    forgotten(one, one.run(study, environ={"OPENAI_API_KEY": DEAD}))  # nobody lists them now
    stopped = one.run(study, environ={"OPENAI_API_KEY": DEAD})
    assert stopped.error == "Unauthorized", stopped
    assert one.log()["rows_run"] == 24
    both = back_up(one, "both")
    models = [MODELS["openai"], MODELS["groq"]]
    for kept in (newest, both):
        put_back(one, kept)
        taken = one.run(one.study(14, models=models, budget={"total": 0.000001, "output_tokens": 100}), as_name="whole")
        assert taken.state == "over budget", taken
    ending = one.run(one.study(14, models=models), as_name="whole")
    assert ending.state == "done", ending
    assert one.statuses("whole") == {"answered": 28}
    assert one.log()["rows_run"] == 28
    assert one.findings("whole") == []
