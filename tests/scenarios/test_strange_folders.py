"""A run folder of a stranger's making: links, paths and names in it lead nowhere; and what is ours is for us alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from ledger import damage
from overnight.api import rebuild, status, verify
from overnight.cli import main
from overnight.core.errors import LedgerError
from overnight.serving.dashboard import Dashboard
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from scenarios.conftest import Scenario
from serving.runs_to_show import Looker

pytestmark = pytest.mark.in_folder("what may lie in it")

VICTIM = "precious\n"


@pytest.fixture
def theirs(scenario: Callable[..., Scenario]) -> Scenario:
    """A run that is over, and somebody's file beside it."""
    one = scenario()
    assert one.run(one.study(6)).state == "done"
    (one.folder / "victim").write_text(VICTIM)
    return one


def edit(one: Scenario, statement: str, *values: object) -> None:
    damage.edit(one.folder / "runs" / "night", statement, *values)


def messages(one: Scenario, verbs: Sequence[str] = ("resume", "rebuild", "verify")) -> dict[str, str]:
    """What each verb says of the run."""
    runs = one.folder / "runs"
    said: dict[str, str] = {}
    for verb in verbs:
        if verb == "resume":
            said[verb] = one.call("resume", "night").message
            continue
        try:
            found = rebuild("night", runs=runs) if verb == "rebuild" else verify("night", runs=runs)
            said[verb] = " ".join(finding.message for finding in found) if verb == "verify" else ""  # type: ignore[union-attr]
        except LedgerError as error:
            said[verb] = str(error)
    return said


@pytest.mark.parametrize("name", ["lock", "holder", "cancelled", "ledger.db-wal", "tables/results.parquet.part"])
def test_no_link_is_written_through(theirs: Scenario, name: str) -> None:
    place = theirs.folder / "runs" / "night" / name
    place.unlink(missing_ok=True)
    place.symlink_to(theirs.folder / "victim")
    said = messages(theirs)
    assert (theirs.folder / "victim").read_text() == VICTIM
    if not name.endswith(".part"):  # what is written anew is written over it, and not through it
        assert "is a symbolic link" in said["resume"]
        assert "is a symbolic link" in said["verify"]


@pytest.mark.parametrize("name", ["raw", "requests", "tables", "outbox"])
def test_no_linked_folder_is_entered(theirs: Scenario, name: str) -> None:
    place = theirs.folder / "runs" / "night" / name
    elsewhere = theirs.folder / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    before = sorted(elsewhere.iterdir())
    for said in messages(theirs).values():
        assert "is a symbolic link" in said
    assert sorted(elsewhere.iterdir()) == before


@pytest.mark.parametrize("name", ["raw", "ledger.db"])
def test_no_copy_pays_again_for_answers_behind_a_link(theirs: Scenario, name: str) -> None:
    place = theirs.folder / "runs" / "night" / name
    place.rename(theirs.folder / "elsewhere")
    place.symlink_to(theirs.folder / "elsewhere")
    ending = theirs.run("night.yaml", as_name="copy")
    assert (ending.error, f"night/{name} is a symbolic link" in ending.message) == ("FileDamaged", True), ending
    assert theirs.log()["rows_run"] == 6
    assert not (theirs.folder / "runs" / "copy").exists()


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../victim", "raw/../../victim", "", "raw//x", "lock", "raw/a\nb", "raw/."]
)
def test_no_path_leads_out(theirs: Scenario, path: str) -> None:
    with pytest.raises(LedgerError, match="names a file outside the run"):
        RunFolder(theirs.folder / "runs" / "night").files.reader(path)
    edit(theirs, "UPDATE file SET path=? WHERE id=(SELECT min(id) FROM file WHERE path LIKE 'raw/%')", path)
    said = messages(theirs, ("rebuild", "verify"))
    assert all("names a file outside the run" in one for one in said.values()), said


def test_a_linked_raw_file_is_not_read(theirs: Scenario) -> None:
    raw = next((theirs.folder / "runs" / "night" / "raw").iterdir())
    raw.unlink()
    raw.symlink_to(theirs.folder / "victim")
    said = messages(theirs, ("rebuild", "verify"))
    assert all("is a symbolic link" in one for one in said.values()), said


def test_a_linked_raw_file_is_replaced_by_the_providers(theirs: Scenario) -> None:
    """By `resume`, which neither reads what it leads to nor writes through it."""
    raw = next((theirs.folder / "runs" / "night" / "raw").iterdir())
    content = raw.read_bytes()
    raw.unlink()
    raw.symlink_to(theirs.folder / "victim")
    assert theirs.call("resume", "night").state == "done"
    assert (theirs.folder / "victim").read_text() == VICTIM
    assert (raw.is_symlink(), raw.read_bytes()) == (False, content)
    assert theirs.findings() == []


def test_a_token_is_of_our_making(theirs: Scenario) -> None:
    edit(theirs, "UPDATE attempt SET token='../../x' WHERE id=1")
    said = messages(theirs, ("resume", "verify"))
    assert all("has the token '../../x', which none of ours can be" in one for one in said.values()), said


def test_runs_are_for_their_owner_alone(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    before = os.umask(0)
    try:
        study = one.study(6, prices="prices.yaml", budget=5, models=[{"model": one.model, "max_tokens": 50}])
        (one.folder / "prices.yaml").write_text("openai/gpt-4.1-mini: {input: 1.0, output: 4.0}\n")
        assert one.run(study).state == "done"
        assert one.run(one.study(3, name="lively", mode="live")).state == "done"
        rehearsed = one.call("run", one.study(3, name="rehearsed"), emulate=True)
        assert rehearsed.state == "done", rehearsed
    finally:
        os.umask(before)
    runs = one.folder / "runs"
    for path in (runs / "night", runs / "lively", runs / ".rehearsal"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
    for path in (*(runs / "night").rglob("*"), *(runs / "lively").rglob("*"), *runs.glob("accounts.db*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    assert (runs / "night" / "prices.yaml").read_bytes() == (one.folder / "prices.yaml").read_bytes()


def test_a_folder_that_the_user_linked_is_the_users_own(theirs: Scenario) -> None:
    """Runs on another disk: the run itself may be a link, what is in it may not."""
    runs = theirs.folder / "runs"
    (runs / "night").rename(theirs.folder / "disk")
    (runs / "night").symlink_to(theirs.folder / "disk")
    assert Path(status("night", runs=runs)[0].run) == Path("night")
    assert theirs.call("resume", "night").state == "done"


OUTSIDE = "a line of somebody's own table"


@pytest.fixture
def linked_table(theirs: Scenario, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run's table of results is a link to somebody's table outside, which fits."""
    table = theirs.folder / "runs" / "night" / "tables" / "results.parquet"
    outside = theirs.folder / "outside.parquet"
    pl.read_parquet(table).with_columns(answer=pl.lit(OUTSIDE)).write_parquet(outside)
    table.unlink()
    table.symlink_to(outside)
    monkeypatch.chdir(theirs.folder)
    return outside


VERBS: dict[str, tuple[str, ...]] = {
    "results": ("results", "night"),
    "results -o": ("results", "night", "-o", "rows.csv"),
    "report": ("report", "night", "-o", "page.html"),
    "verify": ("verify", "night"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_reads_a_table_behind_a_link(
    theirs: Scenario, linked_table: Path, capfd: pytest.CaptureFixture[str], verb: str
) -> None:
    assert main([*VERBS[verb]]) != 0
    out, err = capfd.readouterr()
    written = "".join(path.read_text() for path in (Path("rows.csv"), Path("page.html")) if path.exists())
    assert OUTSIDE not in out + err + written
    assert "results.parquet is a symbolic link" in out + err
    before = linked_table.read_bytes()
    assert main(["rebuild", "night"]) == 0
    assert linked_table.read_bytes() == before
    assert main(["results", "night"]) == 0
    assert OUTSIDE not in capfd.readouterr().out


def test_no_page_shows_a_table_behind_a_link(linked_table: Path) -> None:
    with Dashboard(settings(runs=Path("runs")), port=0) as dashboard:
        for page in ("/run/night", "/run/night/rows", "/run/night/arms", "/"):
            shown = Looker(dashboard.address).get(page)
            assert shown.status < 500, page
            assert OUTSIDE not in shown.text
        assert "is a symbolic link" in Looker(dashboard.address).get("/run/night/rows").text
    assert linked_table.exists()
