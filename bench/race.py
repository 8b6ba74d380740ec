"""The same work by other hands: one table of answers from N requests, through the same emulator.

    python bench/race.py --rows 20000                     ourselves, a bare script, the official SDK, other clients
    python bench/race.py --without-rivals                 only what needs no environment of its own

Measured from outside, by the kernel: each client's CPU and highest memory, its imports included. The emulator is
another process and does not count. What a rival does not do (survive a kill, pay once, stay within limits) is not
measured here either.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
from environments import compile_ours, python_with
from pipeline import PROMPT, TRUTH, EmulatorProcess, write_study

HERE = Path(__file__).resolve().parent
# The emulator here is taken for a provider, and time passes as fast as it does there.
OWN_TIME = str(HERE.parent / "tests" / "own_time.py")
MODEL = "gpt-4.1-mini"
PATIENCE = 1200
# Script, and the package that its own environment needs; None: ours has it.
RIVALS: dict[str, str | None] = {
    "bare": None,
    "openai_sdk": None,
    "litellm_sdk": "litellm",
    "instructor_batch": "instructor",
    "distilabel_batch": "distilabel[openai] requests",
    "curator_batch": "bespokelabs-curator",
    "batchata_batch": "batchata",
    "inspect_batch": "inspect_ai openai",
}
# Clients whose cost for each row is such that the whole would take an hour: a part of it says the same.
FEWER = {"inspect_batch": 2_000, "batchata_batch": 5_000}


class Time(msgspec.Struct, kw_only=True):
    name: str
    rows: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    peak_mb: float = 0.0
    problem: str = ""


def race(rows: int, *, rivals: bool) -> Iterator[Time]:
    """Ourselves first, then everybody who can be run."""
    compile_ours()
    with tempfile.TemporaryDirectory(prefix="race-") as scratch:
        folder = Path(scratch)
        write_study(folder, rows)
        yield _lap("overnight", [sys.executable, OWN_TIME, "-m", "overnight", "run", "study.yaml", "-q"], folder, rows)
        for name, package in RIVALS.items():
            python = python_with(package) if rivals or package is None else None
            if python is None:
                continue
            part = min(rows, FEWER.get(name, rows))
            items, out = _first(folder / "items.jsonl", part), folder / f"{name}.csv"
            script = [str(python), str(HERE / "rivals" / f"{name}.py"), str(items), "{base}", str(out), PROMPT, MODEL]
            yield _lap(name, script, folder, part, out)


def _first(items: Path, rows: int) -> Path:
    """So many of the items, in a file of their own."""
    some = items.with_name(f"items-{rows}.jsonl")
    with items.open() as everything, some.open("w") as part:
        part.writelines(islice(everything, rows))
    return some


def _lap(name: str, command: list[str], folder: Path, rows: int, out: Path | None = None) -> Time:
    """One client against an emulator of its own."""
    with EmulatorProcess(TRUTH) as emulator, (folder / f"{name}.log").open("w") as log:
        environ = {
            **os.environ,
            "OPENAI_BASE_URL": emulator.openai_url,
            "OPENAI_API_KEY": "sk-bench-0123456789abcdefghij",
            "OVERNIGHT_TIME_SCALE": str(TRUTH["time_scale"]),
        }
        begun = time.perf_counter()
        arguments = [part.replace("{base}", emulator.openai_url) for part in command]
        client = subprocess.Popen(arguments, cwd=folder, env=environ, stdout=log, stderr=log)
        status, usage = wait_for(client)
        wall = time.perf_counter() - begun
    answered = _answered(folder, out)
    problem = "" if status == 0 and answered == rows else f"exit {status}, {answered:,} of {rows:,} rows"
    return Time(
        name=name,
        rows=answered,
        cpu=usage.ru_utime + usage.ru_stime,
        wall=wall,
        peak_mb=usage.ru_maxrss / 1024,
        problem=problem,
    )


def wait_for(client: subprocess.Popen[bytes]) -> tuple[int, os.struct_rusage]:
    deadline = time.monotonic() + PATIENCE
    while True:
        pid, status, usage = os.wait4(client.pid, os.WNOHANG)
        if pid:
            client.returncode = os.waitstatus_to_exitcode(status)
            return client.returncode, usage
        if time.monotonic() > deadline:
            client.kill()
        time.sleep(0.05)


def _answered(folder: Path, out: Path | None) -> int:
    if out is None:
        import polars as pl

        table = folder / "runs" / "bench" / "tables" / "results.parquet"
        return pl.read_parquet(table, columns=["status"]).height if table.exists() else 0
    if not out.exists():
        return 0
    with out.open(newline="") as rows:
        return sum(1 for row in csv.reader(rows) if row[1])


def lines(times: list[Time]) -> Iterator[str]:
    yield f"{'client':>17} {'rows':>7} {'CPU s':>8} {'µs/row':>8} {'rows/CPU s':>11} {'peak MB':>8} {'wall s':>7}"
    for one in times:
        if one.problem:
            yield f"{one.name:>17} did not finish: {one.problem}"
            continue
        rate = one.rows / one.cpu
        counted = f"{one.name:>17} {one.rows:7,} {one.cpu:8.2f} {1e6 / rate:8.1f} {rate:11,.0f}"
        yield f"{counted} {one.peak_mb:8,.0f} {one.wall:7.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="The same requests through several clients.")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--without-rivals", action="store_true", help="install nothing")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    times = list(race(asked.rows, rivals=not asked.without_rivals))
    print(json.dumps(msgspec.to_builtins(times)) if asked.json else "\n".join(lines(times)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
