"""A run is brought home from a database, and the other way; the old place refuses, and the run goes on in the new one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import overnight as on
import own_database
from overnight.core.errors import RunMoved, StudyError, UnknownName
from scenarios.conftest import Scenario


@pytest.fixture
def night(scenario: Callable[..., Scenario]) -> Scenario:
    return scenario()


def pulled(run: str, place: str, home: str, **_: object) -> None:
    """In a process of its own."""
    on.pull(run, to=home, runs=place)


def database(night: Scenario) -> str:
    return own_database.address_of(night.folder / "shared")


def test_a_run_goes_on_where_it_was_brought_and_nowhere_else(night: Scenario) -> None:
    place, home = database(night), night.folder / "runs"
    study = night.study()
    begun = night.call("submit", study, runs=place)
    assert begun.error is None, begun
    moved = on.pull("night", to=home, runs=place)
    assert (moved.run, moved.where) == ("night", str(home / "night"))
    for verb in (lambda: on.status("night", runs=place), lambda: on.results("night", runs=place)):
        with pytest.raises((RunMoved, UnknownName)):
            verb()
    refused = night.call("run", study, runs=place)
    assert refused.error == "RunMoved"
    assert refused.message.endswith(f"was brought to {home / 'night'}, and goes on there")
    ending = night.call("resume", "night", runs=str(home))
    assert ending.state == "done", ending
    night.assert_paid_once()
    assert night.findings() == []


def test_there_and_back_is_the_same_run(night: Scenario) -> None:
    place, home = database(night), night.folder / "runs"
    study = night.study()
    assert night.run(study).state == "done"
    digest = night.table_digest()
    pushed = on.push("night", to=place, runs=home)
    assert pushed.where.endswith("(run 'night')")
    assert pushed.rows > 0
    with pytest.raises(RunMoved, match=r"run 'night' was brought to postgresql://"):
        on.results("night", runs=home)
    again = night.call("run", study, runs=place)
    assert again.state == "done", again
    assert [f.message for f in on.verify("night", runs=place)] == []
    on.pull("night", to=home, runs=place)
    on.rebuild("night", runs=home)
    assert night.table_digest() == digest
    assert night.findings() == []
    night.assert_paid_once()


@pytest.mark.parametrize("number", [2, 5, 9])
def test_whatever_ends_it_the_same_command_again_brings_the_run(night: Scenario, number: int) -> None:
    place, home = database(night), night.folder / "runs"
    assert night.call("run", night.study(), runs=place).state == "done"
    killed = night.call(
        "scenarios.test_moving:pulled", "night", place, str(home), environ={"OVERNIGHT_KILL_AT": str(number)}
    )
    assert killed.signal == 9
    moved = on.pull("night", to=home, runs=place)
    assert moved.where == str(home / "night")
    on.rebuild("night", runs=home)
    assert night.findings() == []
    night.assert_paid_once()


def test_places_that_do_not_fit_are_told(night: Scenario, tmp_path: Path) -> None:
    place = database(night)
    with pytest.raises(StudyError, match=r"--runs: .* is a folder; `pull` brings a run home from postgresql"):
        on.pull("night", runs=tmp_path)
    with pytest.raises(StudyError, match=r"--to: .* is a folder; wanted postgresql"):
        on.push("night", to=str(tmp_path), runs=tmp_path)
    with pytest.raises(UnknownName, match="no run 'night'"):
        on.pull("night", to=tmp_path, runs=place)
    assert not (tmp_path / "night").exists()
