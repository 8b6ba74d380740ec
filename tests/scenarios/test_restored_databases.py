"""A database that was put back from a backup, under a run whose files were not: what was paid for since is found again."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from psycopg import sql

import own_database
import postgres_server
from scenarios.conftest import MODELS, Scenario


@pytest.fixture(autouse=True)
def leases_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(own_database.LEASE, "1")


def copied(source: str, target: str) -> None:
    """As a backup tool makes it: all of one database."""
    with psycopg.connect(postgres_server.url(), autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN (%s, %s)", (source, target))
        db.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(target)))
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        db.execute(made.format(sql.Identifier(target), sql.Identifier(source)))


def database(one: Scenario) -> str:
    return own_database.address_of(one.folder / "runs").partition("?")[0].rpartition("/")[2]


def test_batches_of_a_newer_database_are_found(in_database: Callable[..., Scenario]) -> None:
    one = in_database()
    name = database(one)
    study = one.study(12)
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": "committed packed"}).signal
    copied(name, f"{name}_older")
    assert one.run(study).state == "done"
    made = len(one.batches())
    copied(f"{name}_older", name)
    ending = one.run(study)
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 12}
    assert len(one.batches()) == made
    one.assert_paid_once()


def test_an_older_database_sends_nothing_at_any_provider(in_database: Callable[..., Scenario]) -> None:
    """The first provider has batches that it cut otherwise; the second has none yet."""
    one = in_database({"keys": {"refuse": ["sk-dead"]}})
    name = database(one)
    models = [MODELS["openai"], MODELS["anthropic"]]
    assert one.run(one.study(12, models=models), environ={"OVERNIGHT_KILL_AT": "committed intake"}).signal
    copied(name, f"{name}_older")
    stopped = one.run(one.study(12, models=models), environ={"ANTHROPIC_API_KEY": "sk-dead"})
    assert stopped.error == "Unauthorized", stopped
    copied(name, f"{name}_newest")
    made = len(one.batches())
    copied(f"{name}_older", name)
    held = one.run(one.study(12, models=models, batch={"max_requests": 12}))
    assert held.state == "held up", held
    assert "Put the newest ledger back" in held.message
    assert len(one.batches()) == made
    copied(f"{name}_newest", name)
    ending = one.run(one.study(12, models=models))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 24}
    one.assert_paid_once()
