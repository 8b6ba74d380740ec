"""A run in PostgreSQL that an older version made: whoever looks leaves it as it is, whoever works on it brings it on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

import overnight as on
import own_database
import postgres_server
from overnight.core.errors import LedgerTooNew
from overnight.ledger.postgres.tables import VERSION
from scenarios.conftest import Scenario

SLOW = {"time_scale": 1000, "latency": {"batch": [60_000, 60_000], "live": [0, 0]}}
# What the last migration has added.
OLDER = """
DROP INDEX overnight_run_1.item_urgent;
ALTER TABLE overnight_run_1.item DROP COLUMN priority;
ALTER TABLE overnight_run_1.shard DROP COLUMN priority;
DROP TABLE overnight_run_1.opened;
DROP TABLE overnight_run_1.screening;
UPDATE overnight.run SET version=8;
"""


@pytest.fixture
def older(in_database: Callable[..., Scenario]) -> Scenario:
    """Three batches are under way, in tables of version 8."""
    one = in_database(truth=SLOW)
    assert one.call("submit", one.study()).state == "submitted"
    with closing(database(one)) as db:
        db.execute(OLDER)
    return one


def database(one: Scenario) -> psycopg.Connection[tuple[object, ...]]:
    name = own_database.address_of(one.folder / "runs").partition("?")[0].rpartition("/")[2]
    return psycopg.connect(postgres_server.url(name), autocommit=True)


def version(one: Scenario) -> object:
    with closing(database(one)) as db:
        return (db.execute("SELECT version FROM overnight.run").fetchone() or (None,))[0]


def test_whoever_only_looks_leaves_it_as_it_is(older: Scenario) -> None:
    assert [batch.state for batch in older.status().batches] == ["running"] * 3
    assert older.findings() == ["3 attempts under way"]
    assert on.costs("night", runs=older.folder / "runs")["settled"].to_list() == [0.0]
    assert version(older) == 8


def test_whoever_works_on_it_brings_it_to_this_version(scenario: Callable[..., Scenario], older: Scenario) -> None:
    calm = scenario()
    assert calm.call("run", calm.study(), environ={own_database.WANTED: ""}).state == "done"
    expected = calm.table_digest()
    older.emulator.finish()
    ending = older.call("resume", "night", environ=older.going_on)
    assert ending.state == "done", ending
    assert version(older) == VERSION
    assert older.table_digest() == expected
    assert older.findings() == []
    older.assert_paid_once()


def test_what_cannot_be_brought_on_stays_as_it_was(older: Scenario) -> None:
    """Somebody's own view of a table is in the way."""
    with closing(database(older)) as db:
        db.execute("CREATE VIEW public.mine AS SELECT * FROM overnight_run_1.slot")
    refused = older.call("resume", "night", environ=older.going_on)
    assert refused.error == "LedgerError", refused
    assert "cannot drop table slot because other objects depend on it" in refused.message
    assert "\n" not in refused.message
    assert (version(older), len(older.status().batches)) == (8, 3)
    with closing(database(older)) as db:
        db.execute("DROP VIEW public.mine")
    older.emulator.finish()
    assert older.call("resume", "night", environ=older.going_on).state == "done"
    older.assert_paid_once()


def test_one_of_a_newer_version_is_refused_in_a_line(older: Scenario) -> None:
    with closing(database(older)) as db:
        db.execute("UPDATE overnight.run SET version=99")
    refused = older.call("resume", "night")
    assert refused.error == "LedgerTooNew", refused
    assert f"version 99, written by a newer Overnight; this one reads up to {VERSION}" in refused.message
    assert "\n" not in refused.message
    with pytest.raises(LedgerTooNew, match="version 99"):
        older.findings()
