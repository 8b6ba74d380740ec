"""A ledger is there with its tables, or not at all, whenever its founder is killed."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import sys
from pathlib import Path

import pytest

from overnight.ledger.ledger import Ledger


def test_a_ledger_is_there_with_its_tables_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    for suffix in (".part", ".part-wal", ".part-shm"):
        (tmp_path / f"ledger.db{suffix}").write_bytes(b"half a ledger")
    Ledger(path).close()
    assert [found.name for found in tmp_path.iterdir()] == ["ledger.db"]
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM fact").fetchone() == (0,)


def die_at(step: int) -> None:
    """Every audited call from here on (opening, renaming, connecting) is counted; the process dies at that one."""
    calls = itertools.count(1)

    def hook(event: str, _: object) -> None:
        if event.startswith(("sqlite3.", "os.", "open")) and next(calls) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def test_a_process_killed_while_it_founds_a_ledger_leaves_no_half(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    for step in range(1, 100):
        child = os.fork()
        if child == 0:
            die_at(step)
            Ledger(path).close()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if path.exists():
            with sqlite3.connect(path) as db:
                assert db.execute("SELECT count(*) FROM fact").fetchone() == (0,)
        if not os.WIFSIGNALED(status):
            assert step > 5
            return
    pytest.fail("the ledger was never founded")
