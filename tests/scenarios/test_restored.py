"""A ledger that was put back from a backup: what was paid for since is found again, or nothing is sent."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from ledger import damage
from overnight import api
from overnight.store.run_folder import RunFolder
from scenarios.conftest import Scenario
from scenarios.older_ledgers import back_up, before_the_intents, ledger, put_back, requeued, uncut

pytestmark = pytest.mark.in_folder("its ledger is copied away and put back")

TAGGED = ["gemini", "openai", "vertex"]
MODELS = ["openai/gpt-4.1-mini"]
STAGES = [
    {"name": "first", "task": "generate", "items": "night.jsonl", "prompt": "Describe {text}.", "models": MODELS},
    {"name": "second", "of": "first", "task": "generate", "prompt": "Shorten {answer}", "models": MODELS},
    {"name": "third", "of": "second", "task": "generate", "prompt": "Rate {answer}", "models": MODELS},
]


def states(one: Scenario) -> set[str]:
    with one.ledger() as view:
        return set({entry.token: entry.kind for entry in view.attempts.log()}.values())


@pytest.mark.parametrize("provider", TAGGED)
@pytest.mark.parametrize("at", ["intended", "uploaded", "creating"])
def test_a_ledger_from_before_the_create(scenario: Callable[..., Scenario], provider: str, at: str) -> None:
    one = scenario(provider=provider)
    # One batch: the facts of several may share a commit, and then its name is not this one.
    study = one.study(12, batch={"max_requests": 20})
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": f"committed {at}"}).signal
    assert at in states(one)
    kept = back_up(one)
    assert one.run(study).state == "done"
    made = len(one.batches())
    put_back(one, kept)
    ending = one.run(study)
    assert ending.state == "done", ending
    assert len(one.batches()) == made
    assert one.statuses() == {"answered": 12}
    one.assert_paid_once()


@pytest.mark.parametrize("provider", TAGGED)
def test_a_ledger_from_before_anything_was_sent(scenario: Callable[..., Scenario], provider: str) -> None:
    """Not even the intents are in it: the same shards get the same names, and their batches are found behind others."""
    one = scenario(provider=provider)
    study = one.study(12)
    kept = before_the_intents(one, study)
    assert one.run(study).state == "done"
    one.emulator.add_foreign(provider, 150)
    made = len(one.batches())
    put_back(one, kept)
    ending = one.run(study)
    assert ending.state == "done", ending
    assert len(one.batches()) == made
    one.assert_paid_once()


def test_a_run_of_three_stages(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.study(6)
    study = one.write({"name": "night", "stages": STAGES})
    assert one.call("submit", study).state == "submitted"
    kept = back_up(one)
    assert one.run(study).state == "done"
    made = len(one.batches())
    assert made == 3
    put_back(one, kept)
    ending = one.run(study)
    assert ending.state == "done", ending
    assert len(one.batches()) == made
    one.assert_paid_once()


@pytest.mark.parametrize("older", [requeued, uncut])
def test_what_is_cut_otherwise_is_not_sent(
    scenario: Callable[..., Scenario], older: Callable[[RunFolder], None]
) -> None:
    """The batches at the provider hold other rows than the restored ledger would send: nothing is joined or paid."""
    one = scenario()
    study = one.study(12)
    kept = before_the_intents(one, study)
    assert one.run(study).state == "done"
    made = one.batches()
    put_back(one, kept)
    damage.edits(ledger(one).parent, "DELETE FROM attempt", "DELETE FROM event")
    older(RunFolder(ledger(one).parent))
    other = one.study(12, batch={"max_requests": 4})
    ending = one.run(other)
    assert ending.state == "held up", ending
    assert "that its ledger does not know" in ending.message
    assert "overnight resolve night --forget" in ending.message
    assert len(one.batches()) == len(made)
    one.assert_paid_once()
    for batch in made:
        api.forget_batch("night", batch["id"], runs=one.folder / "runs")
    ending = one.run(other)
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 12}


def test_what_a_newer_ledger_has_on_record_is_not_written_over(scenario: Callable[..., Scenario]) -> None:
    """The first download was cut short; the older ledger gets the whole file, which has the same place in its order."""
    one = scenario(faults=[{"on": "content", "do": "cut", "at": 0.6, "quiet": True, "times": 1}])
    study = one.study(12, batch={"max_requests": 20})
    assert one.call("submit", study).state == "submitted"
    older = back_up(one)
    assert one.run(study).state == "done"
    newest = one.folder / "newest.db"
    damage.back_up(ledger(one).parent, newest)
    wanted = one.table()
    put_back(one, older)
    assert one.run(study).state == "done"
    put_back(one, newest)
    # The tables are those of the older ledger.
    api.rebuild("night", runs=one.folder / "runs")
    assert {found.kind for found in api.verify("night", runs=one.folder / "runs")} <= {"leftover"}
    assert one.table().equals(wanted)
    assert len(one.batches()) == 1
    one.assert_paid_once()


def test_a_ledger_of_another_run_id_is_refused(scenario: Callable[..., Scenario]) -> None:
    """The first records were lost and the folder began anew; then a backup of those first records comes back."""
    one = scenario()
    study = one.study(12)
    kept = before_the_intents(one, study)
    shutil.rmtree(ledger(one).parent)
    assert one.run(study).state == "done"
    made = len(one.batches())
    put_back(one, kept)
    ending = one.run(study)
    assert ending.error == "LedgerLost", ending
    assert len(one.batches()) == made
