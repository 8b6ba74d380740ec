"""Runs in PostgreSQL wherever a test names a folder for them: each folder has a database of its own.

`OVERNIGHT_TEST_DATABASE=postgres` puts whole test files on it, in this process and in those that it starts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import sql

import overnight.settings
import postgres_server
from overnight.core import announcing
from overnight.ledger.postgres import lease
from overnight.ledger.postgres.address import Address, read_address

WANTED = "OVERNIGHT_TEST_DATABASE"
# How long a lease is, and how old an announcement may be, in seconds.
LEASE = "OVERNIGHT_TEST_LEASE"
_known: dict[str, str] = {}


def use_own_database() -> None:
    if os.environ.get(WANTED) == "postgres":
        postgres_server.start()
        overnight.settings._database = _in_postgres
        if LEASE in os.environ:
            lease.SECONDS = announcing.SECONDS = float(os.environ[LEASE])


@contextmanager
def in_use() -> Iterator[None]:
    """In this process, for as long as this lasts."""
    before = overnight.settings._database, lease.SECONDS, announcing.SECONDS
    wanted = os.environ.get(WANTED)
    os.environ[WANTED] = "postgres"
    use_own_database()
    try:
        yield
    finally:
        overnight.settings._database, lease.SECONDS, announcing.SECONDS = before
        os.environ.pop(WANTED)
        if wanted is not None:
            os.environ[WANTED] = wanted


def environ() -> dict[str, str]:
    """For processes that were started before."""
    return {name: os.environ[name] for name in (WANTED, LEASE, postgres_server.FOLDER) if name in os.environ}


def of_commands(runs: Path) -> dict[str, str]:
    """For commands as people type them, in processes that know nothing of this: where runs are that would be here."""
    return {"OVERNIGHT_RUNS": address_of(runs)} if os.environ.get(WANTED) == "postgres" else {}


def _in_postgres(runs: str, where: str) -> Address:
    return read_address(runs if "://" in runs else address_of(Path(runs)), where)


def address_of(runs: Path) -> str:
    """The place in a database for what would be in this folder. What people open is in the folder itself."""
    root = runs.resolve()
    name = "runs_" + hashlib.sha256(str(root).encode()).hexdigest()[:16]
    if name not in _known:
        with psycopg.connect(postgres_server.url(), autocommit=True) as db:
            there = db.execute("SELECT 1 FROM pg_database WHERE datname=%s", (name,)).fetchone()
            if there is None:
                # Two processes may begin together: it is made once.
                with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                    db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        _known[name] = postgres_server.address(root / ".files", runs, database=name)
    return _known[name]
