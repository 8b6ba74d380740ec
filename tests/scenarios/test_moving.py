"""A run is brought home from a database, and the other way; the old place refuses, and the run goes on in the new one."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

import overnight as on
import own_database
from overnight.api.places import folder_of
from overnight.core.errors import LeaseLost, RunBusy, RunMoved, StudyError, UnknownName
from overnight.ledger.postgres.address import connect
from overnight.ledger.shared_run import SharedRun
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from run_process import Ending
from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts

pytestmark = pytest.mark.in_folder("it is brought to a database and back, whatever the others are kept in")
PARTS = parts(2, sampled=1)
SAMPLE = 2


@pytest.fixture
def night(scenario: Callable[..., Scenario]) -> Scenario:
    return scenario()


def pulled(run: str, place: str, home: str, **_: object) -> None:
    """In a process of its own."""
    on.pull(run, to=home, runs=place)


def pushed(run: str, home: str, place: str, **_: object) -> None:
    """The same."""
    on.push(run, to=place, runs=home)


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


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("verb", ["pull", "push"])
def test_killed_anywhere_the_same_command_again_brings_the_run(
    night: Scenario, verb: str, part: int, tmp_path: Path
) -> None:
    """One run goes from place to place, each of them new, and is killed on each way at another checkpoint."""
    places = Places(night)
    assert night.call("run", night.study(), runs=places.last).state == "done"
    digest = night.digest_of(night.folder / "shared0" / "night" / "tables" / "results.parquet")
    if verb == "push":
        places.go_on("pull")
    log = tmp_path / "checkpoints"
    assert places.go_on(verb, environ={"OVERNIGHT_CHECKPOINTS": str(log)}).signal is None
    names = log.read_text().splitlines()
    assert len(names) > 10
    for number in kills(len(names), part, len(PARTS), SAMPLE):
        places.go_on("push" if verb == "pull" else "pull")
        where = f"{verb} killed at checkpoint {number} ({names[number - 1]})"
        assert places.go_on(verb, environ={"OVERNIGHT_KILL_AT": str(number)}).signal == signal.SIGKILL, where
        assert places.once_more(verb).error is None, where
        on.rebuild("night", runs=places.last)
        assert [finding.message for finding in on.verify("night", runs=places.last)] == [], where
        table = places.tables / "night" / "tables" / "results.parquet"
        assert night.digest_of(table) == digest, where
    night.assert_paid_once()


class Places:
    """Where a run has been, each place used once: databases and folders in turn."""

    def __init__(self, night: Scenario) -> None:
        self._night = night
        self._number = 0
        self.before = ""
        self.last = own_database.address_of(night.folder / "shared0")
        self.tables = night.folder / "shared0"

    def go_on(self, verb: str, environ: Mapping[str, str] | None = None) -> Ending:
        self._number += 1
        self.tables = self._night.folder / f"{'home' if verb == 'pull' else 'shared'}{self._number}"
        place = str(self.tables) if verb == "pull" else own_database.address_of(self.tables)
        self.before, self.last = self.last, place
        return self.once_more(verb, environ)

    def once_more(self, verb: str, environ: Mapping[str, str] | None = None) -> Ending:
        return self._night.call(
            f"scenarios.test_moving:{verb}ed", "night", self.before, self.last, environ=environ or {}
        )


def test_two_that_bring_a_run_to_two_places_bring_it_to_one(night: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second has looked before the first was done, and comes to hold the run after it."""
    place, home, other = database(night), night.folder / "runs", night.folder / "other"
    assert night.call("submit", night.study(), runs=place).error is None
    locked = SharedRun.locked

    def late(run: SharedRun) -> AbstractContextManager[bool]:
        monkeypatch.setattr(SharedRun, "locked", locked)
        on.pull("night", to=home, runs=place)
        return locked(run)

    monkeypatch.setattr(SharedRun, "locked", late)
    with pytest.raises(RunMoved, match=f"was brought to {home / 'night'}, and goes on there"):
        on.pull("night", to=other, runs=place)
    assert not RunFolder(other / "night").exists()
    assert night.call("resume", "night", runs=str(home)).state == "done"
    night.assert_paid_once()


def test_who_was_replaced_while_it_slept_brings_nothing_away(night: Scenario) -> None:
    place = database(night)
    assert night.call("run", night.study(), runs=place).state == "done"
    run = folder_of("night", settings(runs=place))
    assert isinstance(run, SharedRun)
    with run.locked():
        with closing(connect(run.address)) as db:
            db.execute("UPDATE overnight.run SET until=clock_timestamp()-interval '1 second'")
        with folder_of("night", settings(runs=place)).locked():
            with pytest.raises(LeaseLost, match="another process has taken it over"):
                run.mark_moved("elsewhere")
            with pytest.raises(LeaseLost, match="another process has taken it over"):
                run.home.remove()
    assert [f.message for f in on.verify("night", runs=place)] == []


def test_a_run_that_lost_its_ledger_is_not_written_over(night: Scenario) -> None:
    place, home = database(night), night.folder / "runs"
    assert night.call("run", night.study(), runs=place).state == "done"
    assert night.run(night.study()).state == "done"
    (home / "night" / "ledger.db").unlink()
    before = {path: path.read_bytes() for path in (home / "night" / "raw").iterdir()}
    with pytest.raises(StudyError, match=r"a run 'night' in .* whose ledger was lost \(.*raw/"):
        on.pull("night", to=home, runs=place)
    assert {path: path.read_bytes() for path in (home / "night" / "raw").iterdir()} == before
    assert on.status("night", runs=place)[0].total("rows") == 12


def test_a_run_that_has_gone_on_and_lost_its_ledger_is_not_set_back(night: Scenario) -> None:
    """What was sent since it was brought would be asked and paid again."""
    place, home = database(night), night.folder / "runs"
    assert night.call("submit", night.study(), runs=place).error is None
    on.pull("night", to=home, runs=place)
    assert night.call("run", night.study(20), runs=str(home)).state == "done"
    (home / "night" / "ledger.db").unlink()
    sent = (home / "night" / "sent").read_bytes()
    with pytest.raises(StudyError, match=r"a run 'night' in .* whose ledger was lost"):
        on.pull("night", to=home, runs=place)
    assert (home / "night" / "sent").read_bytes() == sent


def test_a_name_that_is_taken_is_told_and_both_runs_stay(night: Scenario) -> None:
    place, home = database(night), night.folder / "runs"
    assert night.call("run", night.study(), runs=place).state == "done"
    assert night.run(night.study(5)).state == "done"
    with pytest.raises(StudyError, match=r"there is a run 'night' in .* already; nothing was brought"):
        on.push("night", to=place, runs=home)
    assert [on.status("night", runs=at)[0].total("rows") for at in (place, home)] == [12, 5]


def test_a_run_that_is_worked_on_is_not_brought_away(night: Scenario) -> None:
    place, home = database(night), night.folder / "runs"
    assert night.call("run", night.study(), runs=place).state == "done"
    with folder_of("night", settings(runs=place)).locked(), pytest.raises(RunBusy, match="is being worked on"):
        on.pull("night", to=home, runs=place)
    assert on.status("night", runs=place)[0].total("rows") == 12


def test_places_that_do_not_fit_are_told(night: Scenario, tmp_path: Path) -> None:
    place = database(night)
    with pytest.raises(StudyError, match=r"--runs: .* is a folder; `pull` brings a run home from postgresql"):
        on.pull("night", runs=tmp_path)
    with pytest.raises(StudyError, match=r"--to: .* is a folder; wanted postgresql"):
        on.push("night", to=str(tmp_path), runs=tmp_path)
    with pytest.raises(UnknownName, match="no run 'night'"):
        on.pull("night", to=tmp_path, runs=place)
    assert not (tmp_path / "night").exists()
