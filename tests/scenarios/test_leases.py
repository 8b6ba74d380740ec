"""One leader for a run in a database: others wait, and one that was replaced while it slept can do no harm."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

import pytest

import own_database
from overnight.api.places import folder_of
from overnight.core.errors import RunBusy
from overnight.ledger.postgres.address import connect, read_address
from overnight.settings import settings
from scenarios.conftest import Scenario
from scenarios.suspended import Suspended

LEASE = 1.0


@pytest.fixture(autouse=True)
def leases_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(own_database.LEASE, str(LEASE))


def surroundings(one: Scenario) -> dict[str, str]:
    return {**one.addresses, **one.environ}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_leader_that_wakes_after_it_was_replaced_sends_nothing(
    in_database: Callable[..., Scenario], provider: str
) -> None:
    one = in_database(provider=provider)
    study = one.study()
    with Suspended(study, "committed creating", one.folder, surroundings(one)) as leader:
        leader.wait_until_suspended()
        time.sleep(LEASE * 1.5)
        # By the clock of the first one: what is on record lies in the future of a clock that begins anew, the further the
        # longer the first one took, and would be waited for.
        ending = one.run(study, environ=one.going_on)
        assert ending.state == "done", ending
        before = one.batches()
        said = leader.wake()
    assert len(one.batches()) == len(before)
    one.assert_paid_once()
    assert said.startswith("LeaseLost: "), said
    assert one.findings() == []


def test_a_leader_that_only_waits_hears_that_it_was_replaced(in_database: Callable[..., Scenario]) -> None:
    """Nothing comes that it would have to write: what it has sent is under way for a day."""
    slow = {"time_scale": 100, "latency": {"batch": [80_000, 80_000], "live": [0, 0]}}
    one = in_database(slow, provider="anthropic")
    study = one.study(5)
    with Suspended(study, "committed seen", one.folder, surroundings(one)) as leader:
        leader.wait_until_suspended()
        with closing(connect(read_address(own_database.address_of(one.folder / "runs")))) as db:
            db.execute("UPDATE overnight.run SET epoch=epoch+1")
        said = leader.wake(within=60)
    assert said.startswith("LeaseLost: "), said


def test_a_leader_that_was_replaced_leaves_the_connection_of_the_next_one_alone(
    in_database: Callable[..., Scenario],
) -> None:
    """The next one is in the middle of a transaction when the first one wakes, and goes on to its end."""
    one = in_database()
    study = one.study()
    with Suspended(study, "committed uploaded", one.folder, surroundings(one)) as leader:
        leader.wait_until_suspended()
        time.sleep(LEASE * 1.5)
        held = {**surroundings(one), **one.going_on, own_database.LEASE: "60"}
        with Suspended(study, "commit ", one.folder, held) as next_one:
            next_one.wait_until_suspended()
            said = leader.wake()
            assert next_one.wake().strip() == "done"
    assert said.startswith("LeaseLost: "), said
    assert one.status().total("answered") == one.status().total("rows")
    one.assert_paid_once()
    assert one.findings() == []


def test_of_two_processes_that_want_a_run_one_has_it(in_database: Callable[..., Scenario]) -> None:
    one = in_database()
    one.environ[own_database.LEASE] = "60"
    study = one.study()
    with Suspended(study, "committed intake", one.folder, surroundings(one)) as leader:
        leader.wait_until_suspended()
        busy = one.call("run", study)
        assert (busy.error, busy.message.partition(" (")[0]) == (
            "RunBusy",
            "run 'night' is being worked on by another process",
        )
        assert leader.wake().strip() == "done"
    assert one.status().total("answered") == one.status().total("rows")
    one.assert_paid_once()


def test_a_lease_that_ends_during_intake_takes_the_whole_intake_with_it(in_database: Callable[..., Scenario]) -> None:
    one = in_database()
    study = one.study()
    with Suspended(study, "commit intake", one.folder, surroundings(one)) as leader:
        leader.wait_until_suspended()
        time.sleep(LEASE * 1.5)
        # By the clock of the first one: what is on record lies in the future of a clock that begins anew, the further the
        # longer the first one took, and would be waited for.
        ending = one.run(study, environ=one.going_on)
        assert ending.state == "done", ending
        digest = one.table_digest()
        assert leader.wake().startswith("LeaseLost: ")
    assert one.findings() == []
    assert one.run(study).state == "done"
    assert one.table_digest() == digest
    one.assert_paid_once()


def test_a_run_is_held_however_long_the_work_takes(in_database: Callable[..., Scenario]) -> None:
    one = in_database()
    folder = folder_of("night", settings(runs=one.folder / "runs"))
    with folder.locked():
        assert folder.worked_on
        time.sleep(LEASE * 2)
        with pytest.raises(RunBusy, match="run 'night' is being worked on by another process"), folder.locked():
            pass
    assert not folder.worked_on
