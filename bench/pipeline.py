"""The whole way of N requests: planned, sent to the emulator in another process, fetched, tabled; measured by step.

    python bench/pipeline.py --rows 100000
    python bench/pipeline.py --rows 100000 --database postgres

Only our own process is measured: its CPU, its wall time, its highest memory. Each step is timed where it happens. Of a
PostgreSQL server, which comes from a wheel and lies on the same machine, the CPU is told too.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from environments import compile_ours

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from emulator_process import EmulatorProcess

# A request of about 1.5 KB, as an essay with its instructions has it.
PROMPT = "Judge the following essay by its clarity and its use of evidence, and answer in one sentence.\n\n{text}"
WORDS = 175
_WORDS = ("night", "paper", "answer", "careful", "evidence", "because", "however", "measure", "student", "written")
TRUTH = {"time_scale": 300, "latency": {"batch": [10, 20], "live": [0, 0]}, "seed": 7}

# What is timed: a step's name, and the function that is that step.
STEPS = {
    "items, intake": "overnight.api.running:take_stage",
    "pack": "overnight.ledger.shards:Shards.pack",
    "input files": "overnight.engine.scheduler:write_input",
    "upload": "overnight.engine.batch.attempt:BatchAttempt._upload",
    "download": "overnight.engine.batch.ingest:Ingest._download",
    "ingest": "overnight.engine.batch.ingest:Ingest._read_files",
    "tables": "overnight.api.work:keep_tables",
}
# Of live calls.
LIVE_STEPS = {
    "answers on disk": "overnight.engine.live.live_slice:LiveSlice._written",
    "answers on record": "overnight.engine.settlement:Settlement.settle",
}
# While these run, nothing else does: all threads' CPU is theirs.
ALONE = frozenset({"items, intake", "pack", "tables"})


class Step(msgspec.Struct):
    wall: float = 0.0
    cpu: float = 0.0


class Measured(msgspec.Struct, kw_only=True):
    rows: int
    wall: float
    cpu: float
    peak_mb: float
    steps: dict[str, Step]
    table_bytes: int = 0
    server_cpu: float = 0.0
    # At the end, of the folder with the study, the run and the emulator's state, and of the database.
    disk_mb: dict[str, float] = {}

    @property
    def rows_per_cpu_second(self) -> float:
        return self.rows / self.cpu


def write_items(path: Path, rows: int, words: int = WORDS) -> None:
    """Texts of some 1.3 KB, or of other lengths, all different, made quickly."""
    filler = " ".join(_WORDS[n % len(_WORDS)] for n in range(words))
    with path.open("w") as out:
        for n in range(rows):
            out.write(f'{{"id":"essay {n:07d}","text":"Essay {n}. {filler} {n * 7919 % 1_000_003}"}}\n')


def write_study(folder: Path, rows: int, words: int = WORDS) -> Path:
    write_items(folder / "items.jsonl", rows, words)
    study = folder / "study.yaml"
    fields = {"task": "generate", "items": "items.jsonl", "prompt": PROMPT, "models": ["openai/gpt-4.1-mini"]}
    study.write_text(json.dumps({"name": "bench", **fields}))
    return study


class Stopwatch:
    """Wraps the steps' functions: what runs alone or is a coroutine is timed by the process, the rest by its thread."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = defaultdict(Step)
        self._lock = threading.Lock()
        self._busy: dict[str, int] = defaultdict(int)
        self._since: dict[str, tuple[float, float]] = {}

    def wrap(self, name: str, place: str) -> None:
        module, _, path = place.partition(":")
        owner: Any = import_module(module)
        *outer, last = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        function = getattr(owner, last)
        timed = self._coroutine if inspect.iscoroutinefunction(function) else self._function
        setattr(owner, last, timed(name, function))

    def _function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        clock = time.process_time if name in ALONE else time.thread_time

        @functools.wraps(function)
        def timed(*args: Any, **options: Any) -> Any:
            wall, cpu = time.perf_counter(), clock()
            try:
                return function(*args, **options)
            finally:
                self._add(name, time.perf_counter() - wall, clock() - cpu)

        return timed

    def _coroutine(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Several may run at once: the time during which at least one does."""

        @functools.wraps(function)
        async def timed(*args: Any, **options: Any) -> Any:
            if not self._busy[name]:
                self._since[name] = (time.perf_counter(), time.process_time())
            self._busy[name] += 1
            try:
                return await function(*args, **options)
            finally:
                self._busy[name] -= 1
                if not self._busy[name]:
                    wall, cpu = self._since[name]
                    self._add(name, time.perf_counter() - wall, time.process_time() - cpu)

        return timed

    def _add(self, name: str, wall: float, cpu: float) -> None:
        with self._lock:
            step = self.steps[name]
            step.wall += wall
            step.cpu += cpu


def work(study: str) -> Measured:
    """In a process of its own: the run, timed."""
    from overnight.core import heap
    from own_time import use_own_time

    heap.let_polars_give_back()  # as the command does
    from overnight import api

    use_own_time()
    watch = Stopwatch()
    for name, place in {**STEPS, **LIVE_STEPS}.items():
        watch.wrap(name, place)
    wall, cpu = time.perf_counter(), time.process_time()
    run = api.run(study, timeout="300d")
    if run.state != "done":
        raise SystemExit(f"the run ended {run.state}: {run.message}")
    table = run.path / "tables" / "results.parquet"
    return Measured(
        rows=run.snapshot.settled,
        wall=time.perf_counter() - wall,
        cpu=time.process_time() - cpu,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        steps=dict(watch.steps),
        table_bytes=table.stat().st_size,
    )


def measure(rows: int, scratch: Path | None = None, database: str = "sqlite", words: int = WORDS) -> Measured:
    compile_ours()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=scratch) as folder:
        study = write_study(Path(folder), rows, words)
        with EmulatorProcess(TRUTH, Path(folder) / "state") as emulator:
            environ = {"OPENAI_BASE_URL": emulator.openai_url, "OVERNIGHT_TIME_SCALE": str(TRUTH["time_scale"])}
            measured = measure_study(study, environ, database)
        return msgspec.structs.replace(measured, disk_mb={"in all": _megabytes(folder), **measured.disk_mb})


def measure_study(study: Path, environ: dict[str, str], database: str = "sqlite") -> Measured:
    """In a process of its own, with the run beside the study, or its ledger in a database of its own."""
    if database == "sqlite":
        return _measure(study, environ)
    import own_database
    import postgres_server

    runs = own_database.address_of(study.parent / "runs")
    before = _server_cpu()
    measured = _measure(study, {**environ, "OVERNIGHT_RUNS": runs})
    import psycopg

    with psycopg.connect(runs.partition("&files=")[0]) as db:
        (size,) = db.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
    disk = {"the database": size / 1e6, "its log": _megabytes(postgres_server.folder() / "pg_wal")}
    return msgspec.structs.replace(measured, server_cpu=_server_cpu() - before, disk_mb=disk)


def _server_cpu() -> float:
    """Of the server and of all connections that have ended."""
    import psutil

    import postgres_server

    server = psutil.Process(int((postgres_server.folder() / "postmaster.pid").read_text().split()[0]))
    total = sum(server.cpu_times()[:4])
    for one in server.children():
        with suppress(psutil.NoSuchProcess):  # what cleans tables up comes and goes
            total += sum(one.cpu_times()[:2])
    return total


def _measure(study: Path, environ: dict[str, str]) -> Measured:
    done = subprocess.run(
        [sys.executable, __file__, "--work", str(study)],
        cwd=study.parent,
        env={**os.environ, "OPENAI_API_KEY": "sk-bench-0123456789abcdefghij", **environ},
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Measured)


def lines(measured: Measured) -> Iterator[str]:
    """The step table of one size."""
    named = sum(step.wall for name, step in measured.steps.items() if name in STEPS)
    per_row = 1e6 / measured.rows
    yield f"{measured.rows:>9,} rows  {'wall s':>8} {'CPU s':>8} {'µs/row':>8}"
    for name in STEPS:
        step = measured.steps.get(name, Step())
        yield f"{name:>14}  {step.wall:8.2f} {step.cpu:8.2f} {step.cpu * per_row:8.2f}"
    yield f"{'waiting, rest':>14}  {max(0.0, measured.wall - named):8.2f}"
    yield (
        f"{'all':>14}  {measured.wall:8.2f} {measured.cpu:8.2f} {measured.cpu * per_row:8.2f}   "
        f"{measured.rows_per_cpu_second:,.0f} rows/s of CPU, peak {measured.peak_mb:,.0f} MB"
    )
    if measured.server_cpu:
        yield f"{'server':>14}  {'':8} {measured.server_cpu:8.2f} {measured.server_cpu * per_row:8.2f}"

    yield f"{'disk':>14}  " + ", ".join(f"{name} {size:,.0f} MB" for name, size in measured.disk_mb.items())


def _megabytes(folder: str | Path) -> float:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description="N requests from study to table, by step.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--scratch", type=Path, help="where the run and the emulator's state are kept meanwhile")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--words", type=int, default=WORDS, help="of each text; 10 make requests of some 300 bytes")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        sys.stdout.buffer.write(msgspec.json.encode(work(asked.work)))
        return 0
    print("\n".join(lines(measure(asked.rows, asked.scratch, asked.database, asked.words))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
