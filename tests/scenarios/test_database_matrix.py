"""Runs in PostgreSQL, killed or cut off from their database anywhere: the same bytes as on SQLite, paid once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import own_database
import postgres_server
from scenarios.conftest import Scenario
from scenarios.cut_network import CuttableNetwork, socket_in
from scenarios.matrix import kills, parts
from scenarios.test_kill_matrix import FAULTS, UPLOADS, checkpoints

PARTS = parts(4, sampled=1)
SAMPLE = 3


@pytest.fixture
def in_database(
    scenario: Callable[..., Scenario], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Scenario]]:
    monkeypatch.setenv(own_database.WANTED, "postgres")
    with own_database.in_use():

        def begin(provider: str) -> Scenario:
            one = scenario(faults=FAULTS, provider=provider)
            one.environ |= own_database.environ()
            return one

        yield begin


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
    whole = in_database(provider)
    names = checkpoints(whole, whole.study(), tmp_path / "checkpoints")
    assert whole.table_digest() == expected
    for number in kills(len(names), part, len(PARTS), SAMPLE):
        one = in_database(provider)
        study = one.study()
        killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        assert killed.signal in (signal.SIGKILL, None), (number, killed)
        ending = one.run(study)
        where = f"killed at checkpoint {number} ({names[number - 1]})"
        assert ending.state == "done", (where, ending)
        assert one.table_digest() == expected, where
        one.assert_paid_once()
        one.assert_nothing_left_over(UPLOADS)
        one.close()


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
    whole = in_database("openai")
    names = checkpoints(whole, whole.study(), tmp_path / "checkpoints")
    with CuttableNetwork(socket_in(postgres_server.folder())) as network:
        points = [n for n, name in enumerate(names, start=1) if how == "cut" or name.startswith("commit ")]
        for number in (points[n - 1] for n in kills(len(points), part, len(PARTS), SAMPLE)):
            one = in_database("openai")
            study = one.study()
            ending = one.run(study, environ=network.environ(number, how))
            where = f"{how} at checkpoint {number} ({names[number - 1]})"
            assert network.cuts, where
            # A commit that has landed is found out, and the run goes on; unless something else was being read just then.
            for _ in range(2):
                if ending.state == "done":
                    break
                assert ending.error in ("OutOfReach", "LeaseLost", "RunBusy"), (where, ending.message)
                ending = one.run(study)
            assert ending.state == "done", (where, ending)
            assert one.table_digest() == expected, where
            one.assert_paid_once()
            one.close()
