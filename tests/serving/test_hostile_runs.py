"""A run folder may be a stranger's: whatever stands in its ledger and its tables is text, or is said to be wrong."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overnight
from overnight.serving.dashboard import Dashboard
from overnight.settings import settings
from reporting.pages import Page
from serving.runs_to_show import HOSTILE, Looker
from serving.test_screens import item

ROOT = ".rehearsal"
WORDS = f"{HOSTILE}\x00\u2066\u200f\ufeff'\"><svg onload=alert(1)>{{{{7*7}}}}</textarea></select>"
MARKS = set("\x00\x1b\u202e\u202c\u2066\u200f\ufeff")
NAMES = {"answers": "essay 1", "pairs": "essay 1:essay 0", "talk": "q1", "spec": "rule_0_0"}
# Where words of others are kept in a ledger, besides the JSON of its events.
COLUMNS = [
    "stage.name", "stage.task", "stage.version", "stage.settings", "arm.name", "account.provider", "account.place",
    "account.organization", "item.item_id", "slot.item", "file.path", "attempt.token", "event.kind",
    "result.outcome", "result.cause", "result.detail", "counted.outcome", "counted.cause", "price.processing",
]  # fmt: skip


def changed(value: Any) -> Any:
    if isinstance(value, str):
        return value + WORDS
    if isinstance(value, list):
        return [changed(one) for one in value]
    return {name: changed(one) for name, one in value.items()} if isinstance(value, dict) else value


def copied(runs: Path, folder: Path, run: str, name: str) -> Path:
    there = folder / ROOT / name
    shutil.copytree(runs / ROOT / run, there)
    return there


def tables(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Tables that our own writer never writes."""
    nothing = pl.lit(None, pl.String)
    return {
        "words": frame.with_columns(pl.col(pl.String) + WORDS),
        "status": frame.with_columns(status=pl.lit(WORDS), cause=pl.lit(WORDS), arm=pl.lit(WORDS)),
        "huge": frame.with_columns(answer=pl.lit("x" * 300_000 + WORDS), item_id=pl.lit("y" * 9_000 + WORDS)),
        "nothing": frame.with_columns(item_id=nothing, status=nothing, stage=nothing, arm=nothing),
        "less": frame.drop("answer"),
        "numbers": frame.with_columns(answer=pl.lit(5), status=pl.lit(1.5)),
        "empty": frame.head(0),
    }


def look(runs: Path) -> None:
    """Every screen of every run there."""
    names = sorted(one.name for one in (runs / ROOT).iterdir() if one.is_dir())
    with Dashboard(settings(runs=runs, emulate=True), port=0) as dashboard:
        looker = Looker(dashboard.address)
        for run in names:
            kind = run.partition("-")[0]
            for path in (
                "/", f"/run/{run}", f"/run/{run}/rows", f"/run/{run}/rows?q=a&order=longest&status=answered",
                item(run, NAMES[kind]), f"/run/{run}/arms?measure=length&cell=apart", f"/run/{run}/arms",
                f"/run/{run}/cancel", "/accounts",
            ):  # fmt: skip
                check(looker.get(path), f"{run} {path}")


def check(found: Any, where: str) -> None:
    assert found.status < 500, where
    page = Page(found.text)
    assert not [tag for tag, _ in page.tags if tag in ("img", "b", "i", "iframe", "textarea")], where
    assert not [one for _, attributes in page.tags for one in attributes if one.startswith("on")], where
    assert [tag for tag, _ in page.tags].count("script") == 1, where
    assert not MARKS & set(found.text), where


@pytest.mark.parametrize("run", ["answers", "spec"])
def test_tables_of_a_stranger(runs: Path, tmp_path: Path, run: str) -> None:
    frame = pl.read_parquet(runs / ROOT / run / "tables" / "results.parquet")
    for kind, table in tables(frame).items():
        there = copied(runs, tmp_path, run, f"{run}-{kind}")
        table.write_parquet(there / "tables" / "results.parquet")
    look(tmp_path)


def test_a_ledger_of_a_stranger(runs: Path, tmp_path: Path) -> None:
    for place in COLUMNS:
        table, column = place.split(".")
        there = copied(runs, tmp_path, "answers", f"answers-{table}-{column}")
        ledger = sqlite3.connect(there / "ledger.db")
        try:
            ledger.execute(f"UPDATE {table} SET {column}=?", (WORDS,))
        except sqlite3.IntegrityError:  # every row has one of its own
            ledger.execute(f"UPDATE {table} SET {column}={column}||?", (WORDS,))
        ledger.commit()
        ledger.close()
    look(tmp_path)


@pytest.mark.parametrize("run", ["answers", "talk"])
def test_ids_of_batches_and_words_of_errors(runs: Path, tmp_path: Path, run: str) -> None:
    """What a provider says about a batch is in the events, as JSON."""
    there = copied(runs, tmp_path, run, f"{run}-events")
    ledger = sqlite3.connect(there / "ledger.db")
    events = ledger.execute("SELECT rowid, data FROM event").fetchall()
    told = [(json.dumps(changed(json.loads(data))), number) for number, data in events if data]
    assert told
    ledger.executemany("UPDATE event SET data=? WHERE rowid=?", told)
    ledger.execute("UPDATE result SET outcome='failed', cause=?, detail=?, file=NULL", (WORDS, WORDS))
    ledger.commit()
    ledger.close()
    look(tmp_path)
    with Dashboard(settings(runs=tmp_path, emulate=True), port=0) as dashboard:
        page = Page(Looker(dashboard.address).get(item(there.name, NAMES[run])).text)
    assert "onerror=alert(1)>" in page.text  # the words of the error are shown


@pytest.mark.parametrize("run", sorted(NAMES))
def test_reports_of_hostile_runs(runs: Path, tmp_path: Path, run: str) -> None:
    """Sections, statements, items and answers hold what a stranger wrote: it is text in every part of the page."""
    there = copied(runs, tmp_path, run, f"{run}-report")
    ledger = sqlite3.connect(there / "ledger.db")
    ledger.execute("UPDATE result SET cause=?, detail=? WHERE attempt=1 AND line=1", (WORDS, WORDS))
    ledger.commit()
    ledger.close()
    text = overnight.report(there.name, runs=tmp_path, emulate=True).path.read_text(encoding="utf-8")
    page = Page(text)
    assert {"img", "i", "iframe"}.isdisjoint(tag for tag, _ in page.tags)
    assert not [one for _, attributes in page.tags for one in attributes if one.startswith("on")]
    assert [attributes for tag, attributes in page.tags if tag == "script" and "type" not in attributes] == [{}]
    assert not MARKS & set(text)
    if run in ("answers", "pairs"):  # their texts are among those to read
        assert "onerror=alert(1)>" in page.text
