"""The soak itself: its schedules come back, its runs pass, and its checks see what they are there to see."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import soak_rounds
from soak import kind_of
from soak_adopted import adopted_schedule
from soak_checks import problems, problems_so_far
from soak_foreign import foreign_schedule
from soak_incidents import Incident, Incidents
from soak_schedule import schedule

from overnight.ledger.ledger import look_at
from overnight.store.run_folder import RunFolder
from overnight_emulator.truth_file import read_faults

BENCH = Path(__file__).resolve().parents[2] / "bench"
SEED = 18


def test_a_schedule_derives_from_its_seed_alone() -> None:
    assert [schedule(seed) for seed in range(50)] == [schedule(seed) for seed in range(50)]
    drawn = [schedule(seed) for seed in range(300)]
    assert {fault["on"] for plan in drawn for fault in plan.faults} >= {"create", "batch", "row", "content", "upload"}
    assert {step.verb for plan in drawn for step in plan.steps} == {"run", "resume", "once", "submit"}
    assert all(plan.steps[0].verb in ("run", "submit") for plan in drawn)
    assert all("times" in fault or "lasts" in fault for plan in drawn for fault in plan.faults)
    in_rounds = [plan for plan in drawn if plan.in_rounds]
    assert 20 <= len(in_rounds) <= 80
    said = str([plan.study for plan in in_rounds])
    assert all(word in said for word in ("'until'", "'task': 'inputs'", "'of': 'write'"))
    assert all(schedule(seed, rounds=True).in_rounds for seed in range(20))


def test_everything_beside_the_main_road_is_drawn_often_enough() -> None:
    """Of 200 seeds in a row: so many that none of it is left to chance in a soak of some hundred runs."""
    seeds = range(200)
    kinds = Counter(kind_of(seed) for seed in seeds)
    assert min(kinds[kind] for kind in ("run", "foreign", "adopted", "hostile")) >= 10, kinds
    drawn = [schedule(seed) for seed in seeds if kind_of(seed) == "run"]
    assert sum(plan.passes_only for plan in drawn) >= 10
    assert sum(plan.late_damage is not None for plan in drawn) >= 20
    steps = [step for plan in drawn for step in plan.steps]
    assert sum(step.twin_after is not None for step in steps) >= 30
    twins = {step.twin_verb for step in steps if step.twin_after is not None}
    assert twins >= {"run", "resume", "once", "rebuild", "cancel", "status"}
    # A backup is made after every command: from the third on there is an older one to put back.
    later = [step.incident for plan in drawn for step in plan.steps[2:] if step.incident is not None]
    happened = Counter(incident.kind for incident in later)
    assert happened["restore"] >= 10, happened
    assert happened["restore_folder"] >= 5, happened
    incidents = [step.incident for step in steps if step.incident is not None]
    assert sum(incident.kind == "lose_ledger" for incident in incidents) >= 8
    parts = Counter(incident.part for incident in incidents if incident.kind == "damage")
    assert all(parts[part] >= 5 for part in ("raw", "requests", "items", "outbox")), parts


def _write_ledger(path: Path, number: int | None, run_id: str = "ours") -> None:
    """With the run's id, or none of it: then it is not a run yet."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE fact(name TEXT, value TEXT)")
        if number is not None:
            db.execute("INSERT INTO fact VALUES('number', ?), ('run_id', ?)", (str(number), run_id))


def _number(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        return str(db.execute("SELECT value FROM fact").fetchone()[0])


def test_a_folder_that_is_set_back_comes_back_whole(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    incidents = Incidents(run, tmp_path / "aside", whole_folder=True)
    for number in range(3):
        _write_ledger(run / "ledger.db", number)
        (run / "sent").write_text(f"sent {number}")
        incidents.back_up()
    for kind, sent in (("restore", "sent 2"), ("restore_folder", "sent 0")):
        undo = incidents.begin(Incident(kind=kind))
        assert undo is not None
        assert (_number(run / "ledger.db"), (run / "sent").read_text()) == ("0", sent)
        assert "the newest one is back" in undo(True)
        assert (_number(run / "ledger.db"), (run / "sent").read_text()) == ("2", "sent 2")


def test_a_folder_from_before_the_run_had_its_id_is_not_put_back(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    incidents = Incidents(run, tmp_path / "aside", whole_folder=True)
    for number in (None, 1):
        _write_ledger(run / "ledger.db", number)
        incidents.back_up()
    assert incidents.begin(Incident(kind="restore_folder")) is None


def test_a_folder_of_another_run_id_is_not_put_back(tmp_path: Path) -> None:
    """Its ledger was lost before anything was sent, and it began anew."""
    run = tmp_path / "run"
    run.mkdir()
    incidents = Incidents(run, tmp_path / "aside", whole_folder=True)
    for number, run_id in enumerate(("before", "ours")):
        _write_ledger(run / "ledger.db", number, run_id)
        incidents.back_up()
    assert incidents.begin(Incident(kind="restore_folder")) is None


def test_nothing_is_put_back_in_the_folder_of_a_run_in_a_database(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    incidents = Incidents(run, tmp_path / "aside", whole_folder=True)
    incidents.back_up()
    for kind in ("restore", "restore_folder"):
        assert incidents.begin(Incident(kind=kind)) is None


def soak_one(kept: Path, *options: str) -> Path:
    """The folders of one soaked run that kept its promises."""
    done = subprocess.run(
        [sys.executable, str(BENCH / "soak.py"), "--only", str(SEED), "--keep", str(kept), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "all promises kept" in done.stdout
    (folder,) = kept.iterdir()
    return folder


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return soak_one(tmp_path_factory.mktemp("soaked"))


def judged(soaked: Path, **log: Any) -> list[str]:
    runs = [soaked / night / "runs" / "soaked" for night in ("disturbed", "undisturbed")]
    with look_at(RunFolder(runs[0])) as view:
        settled = sum(balance.settled for balance in view.spending.by_arm().values())
    billed = {"batch": {"m": {"input_tokens": settled // 500, "output_tokens": 0}}, "live": {}}
    told = {"batches": [], "rows_run_twice": [], "twice_fired": 0, "key": "sk-none", "billed": billed, **log}
    return problems(runs[0], runs[1], schedule(SEED), told)


@pytest.mark.slow
def test_a_run_that_kept_its_promises_passes(soaked: Path) -> None:
    assert judged(soaked) == []


@pytest.mark.slow
def test_a_run_in_a_database_passes_and_comes_home(tmp_path: Path) -> None:
    folder = soak_one(tmp_path / "kept", "--database", "postgres")
    assert (folder / "disturbed" / "home" / "soaked" / "ledger.db").is_file()


@pytest.mark.slow
def test_a_row_that_is_lost_doubled_or_wrong_is_seen(soaked: Path) -> None:
    path = soaked / "disturbed" / "runs" / "soaked" / "tables" / "results.parquet"
    whole = path.read_bytes()
    table = pl.read_parquet(path)
    wrong = table.with_columns(answer=pl.lit("said something else [trace x 0123456789]"))
    for damaged, words in (
        (table.head(table.height - 1), "lost"),
        (pl.concat([table, table.head(1)]), "twice"),
        (wrong, "another question's answer"),
    ):
        damaged.write_parquet(path)
        found = judged(soaked)
        assert any(words in problem for problem in found), found
        assert any("other bytes" in problem for problem in found)
    path.write_bytes(whole)


@pytest.mark.slow
def test_a_question_that_is_paid_twice_is_seen(soaked: Path) -> None:
    run = soaked / "disturbed" / "runs" / "soaked"
    with look_at(RunFolder(run)) as view:
        token, line = view.attempts.everything()[0].token, 0
    found = judged(soaked, rows_run_twice=[{"body": "", "times": 99, "custom_ids": [f"o{token}-{line}"] * 99}])
    assert any("a question ran 99 times" in problem for problem in found)
    nothing = {"batch": {}, "live": {}}
    assert any("nothing is presumed" in problem for problem in judged(soaked, billed=nothing))
    much = {"batch": {"m": {"rows": 1, "input_tokens": 10**9, "output_tokens": 0}}, "live": {}}
    assert any("were paid" in problem for problem in judged(soaked, billed=much))
    stranger = {"id": "b", "name": "a" * 20 + ".jsonl", "executed": 3}
    assert any("no attempt announced" in problem for problem in judged(soaked, batches=[stranger]))


@pytest.mark.slow
def test_a_run_without_an_end_is_judged_by_all_its_ledgers(soaked: Path) -> None:
    run = soaked / "disturbed" / "runs" / "soaked"
    with look_at(RunFolder(run)) as view:
        token = view.attempts.everything()[0].token
    twice = {"body": "", "times": 2, "custom_ids": [f"o{token}-0"] * 2}
    log = {"batches": [], "rows_run_twice": []}
    assert problems_so_far(run, schedule(SEED), log) == []
    found = problems_so_far(run, schedule(SEED), {**log, "rows_run_twice": [twice]})
    assert found == [f"a question ran 2 times, 1 allowed: {twice['custom_ids']}"]
    with closing(sqlite3.connect(run / "ledger.db")) as db, db:
        ask, attempt, line = db.execute("SELECT ask, attempt, line FROM settled").fetchone()
        db.execute("DELETE FROM settled WHERE ask=?", (ask,))
    assert problems_so_far(run, schedule(SEED), log) == [f"question {ask} is nowhere"]
    with closing(sqlite3.connect(run / "ledger.db")) as db, db:
        db.execute("INSERT INTO settled(ask, attempt, line) VALUES(?,?,?)", (ask, attempt, line))


def test_every_fault_that_is_drawn_is_one_that_the_emulator_knows() -> None:
    for seed in range(300):
        read_faults(schedule(seed).faults)
        read_faults(foreign_schedule(seed).faults)
        read_faults(adopted_schedule(seed).faults)


def test_another_path_is_seen(tmp_path: Path) -> None:
    row = {
        "stage": "s",
        "arm": "a",
        "item_id": "i",
        "replicate": 0,
        "turn": 0,
        "request_key": "k",
        "status": "answered",
    }
    for name, pairs, answer in (
        ("one", ["a b"], "x"),
        ("same", ["a b"], "x"),
        ("other", ["a c"], "x"),
        ("joined", ["a b"], "y"),
    ):
        tables = tmp_path / name / "tables"
        tables.mkdir(parents=True)
        pl.DataFrame([{**row, "answer": answer}]).write_parquet(tables / "results.parquet")
        pl.DataFrame({"item_id": pairs}).write_parquet(tables / "selection.parquet")

    def found(name: str, *, reasked: bool = False) -> list[str]:
        return list(soak_rounds.problems(tmp_path / name, tmp_path / "one", hides_usage=False, reasked=reasked))

    assert found("same") == []
    assert found("other") == ["selection.parquet has other bytes than the undisturbed run's"]
    assert found("other", reasked=True) == []
    assert found("joined", reasked=True) == ["1 rows have another answer than the undisturbed run's"]
