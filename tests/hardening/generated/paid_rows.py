"""Ledgers that were edited, beside the provider that was paid: no row that was paid for is bought again or left out of
the bill, or words say why not.

Each case has a copy of a run and of its emulator's state, so that the emulator knows what it has charged for.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from emulator_process import EmulatorProcess, charged
from hardening.conftest import KEY, STUDY
from hardening.generated.cases import Case, judged, typed
from hardening.generated.folders import Spoil, kept_run, ledger_edits, write_staged
from ledger import damage
from overnight import api
from overnight.core import clock
from overnight.core.errors import OvernightError

FAST = {"time_scale": 20_000, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7}
# What `charged` counts by.
PRICES = "".join(
    f"{model}: {{input: 1, cached: 1, output: 2, batch: 0.5}}\n"
    for model in ("openai/gpt-4.1", "openai/gpt-4.1-mini", "openai/gpt-4.1-nano", "openai/gpt-5-nano", "ollama/qwen3")
)
ROWS = 8
VERBS: dict[str, tuple[str, ...]] = {
    "resume": ("resume", "fruit", "--timeout", "12h"),
    "run": ("run", "study.yaml", "--timeout", "12h"),
}


def paid_rows() -> Iterator[Case]:
    return _cases(done=done_run, half=half_run, live=live_run)


def paid_staged_rows() -> Iterator[Case]:
    return _cases(staged=staged_run)


def _cases(**runs: Callable[[Path], Path]) -> Iterator[Case]:
    for label, make in runs.items():
        kept = kept_run(make)
        for name, spoil in {**ledger_edits(kept / "runs" / "fruit"), **row_edits(kept / "runs" / "fruit")}.items():
            for verb in VERBS:
                yield Case(f"paid, {label}: {name}, {verb}", _arranged(kept, spoil), ("paid", verb))


def bought_again(verb: str) -> tuple[int, str]:
    """The verb beside the provider, in the folder of the case: as an exit code and what was said."""
    with _provider(Path.cwd() / "state") as emulator:
        emulator.advance(7200)
        before = emulator.log(calls=False)
        code, told = typed(VERBS[verb])
        emulator.finish()
        after = emulator.log(calls=False)
    if (problem := judged(code, told)) is not None:
        return 1, problem
    if after["rows_run_twice"] != before["rows_run_twice"]:
        return 1, f"rows were bought again: exit code {code}: {after['rows_run_twice']}: {told[-300:]}"
    if code in (0, 3) and (problem := _left_out_of_the_bill(charged(after))) is not None:
        return 1, f"{problem}: exit code {code}: {told[-300:]}"
    return 0, ""


def _left_out_of_the_bill(paid: int) -> str | None:
    """What was paid is settled or presumed spent, or `verify` says what is wrong with the ledger."""
    try:
        status = api.status("fruit", runs="runs")[0]
    except OvernightError:
        return None  # in words, which others look at
    known = status.spent + status.presumed
    if paid <= known or api.verify("fruit", runs="runs"):
        return None
    return f"{paid} nano-dollars were paid, and {status.spent} + {status.presumed} are on record"


def row_edits(run: Path) -> dict[str, Spoil]:
    """Rows that are gone, and rows that are there twice under another key."""
    found: dict[str, Spoil] = {}
    for table, names in damage.columns(run).items():
        for which, order in (("first", "ASC"), ("last", "DESC")):
            found[f"{which} row of {table} gone"] = damage.spoiling(
                table, f"DELETE FROM {table} WHERE {_chosen(table, names, order)}", None
            )
        for column in names:
            others = ", ".join(f"(SELECT max({name})+1 FROM {table})" if name == column else name for name in names)
            found[f"row of {table} doubled by {column}"] = damage.spoiling(
                table, f"INSERT OR IGNORE INTO {table}({', '.join(names)}) SELECT {others} FROM {table} LIMIT 1", None
            )
        for column in names:
            for kind, value in {
                "NULL": "NULL",
                "another": f"(SELECT max({column})+1 FROM {table})",
                "less": f"{column}-1",
            }.items():
                found[f"one {table}.{column} = {kind}"] = damage.spoiling(
                    table, f"UPDATE {table} SET {column}={value} WHERE {_chosen(table, names, 'ASC')}", column
                )
    return found


def _chosen(table: str, names: list[str], order: str) -> str:
    """One row, whether the table has numbers of its own or not."""
    every = ", ".join(names)
    return (
        f"({every}) IS (SELECT {every} FROM {table} ORDER BY 1 {order}, 2 {order} LIMIT 1)"
        if len(names) > 1
        else (f"{every} IS (SELECT {every} FROM {table} ORDER BY 1 {order} LIMIT 1)")
    )


def done_run(folder: Path) -> Path:
    """Every row is paid for."""
    _write(folder, batch={"max_requests": 3})
    with _provider(folder / "state"):
        api.run(folder / "study.yaml", runs=folder / "runs")
    return folder


def live_run(folder: Path) -> Path:
    """Every row is paid for, and no listing shows them."""
    _write(folder, mode="live")
    with _provider(folder / "state"):
        api.run(folder / "study.yaml", runs=folder / "runs")
    return folder


def half_run(folder: Path) -> Path:
    """Some rows are collected, some under way, and some not sent yet."""
    _write(folder, batch={"max_requests": 2})
    with _provider(folder / "state") as emulator:
        api.run(folder / "study.yaml", runs=folder / "runs", limit=ROWS // 2)
        emulator.arm([{"on": "create", "do": "status", "status": 429, "skip": 1, "lasts": 3600}])
        api.submit(folder / "study.yaml", runs=folder / "runs", timeout=1800)
    return folder


def staged_run(folder: Path) -> Path:
    """Stages that follow one another, two models of which one is asked live."""
    folder.mkdir(parents=True)
    write_staged(folder, prices="prices.yaml")
    (folder / "prices.yaml").write_text(PRICES)
    with _provider(folder / "state"):
        api.run(folder / "study.yaml", runs=folder / "runs")
    return folder


def _write(folder: Path, **fields: Any) -> None:
    folder.mkdir(parents=True)
    (folder / "items.csv").write_text("id,text\n" + "".join(f"{n},thing {n}\n" for n in range(ROWS)))
    (folder / "prices.yaml").write_text(PRICES)
    models = [{"model": "openai/gpt-4.1", "max_tokens": 800}]
    (folder / "study.yaml").write_text(json.dumps({**STUDY, "models": models, "prices": "prices.yaml", **fields}))


def _arranged(kept: Path, spoil: Spoil) -> Callable[[Path], None]:
    def arrange(folder: Path) -> None:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        spoil(folder / "runs" / "fruit")

    return arrange


@cache
def _port() -> int:
    """The same for all: a run remembers the address that it was sent to."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _provider(state: Path) -> Iterator[EmulatorProcess]:
    before = dict(os.environ)
    with EmulatorProcess(FAST, state, f"--port={_port()}") as emulator:
        os.environ.update(OPENAI_BASE_URL=emulator.openai_url, OPENAI_API_KEY=KEY, OVERNIGHT_TIME_SCALE="20000")
        os.environ["OLLAMA_HOST"] = f"{emulator.url}/ollama"
        wall_time, clock.wall_time = clock.wall_time, emulator.now
        try:
            yield emulator
        finally:
            clock.wall_time = wall_time
            os.environ.clear()
            os.environ.update(before)
