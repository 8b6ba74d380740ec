"""A run of a million rows browsed in the dashboard: what each page costs, and what the server takes.

    python bench/browse.py                        a real rehearsal of a million rows, then the pages
    python bench/browse.py --folder DIR           keeps the run there, or takes the one that is there

The run is made by the product's own verbs on the emulator: ledger, raw files and tables are those of any other run. The
dashboard is a process of its own, started as a user would. Each page is asked for over HTTP: its first time, and the
median and the highest of those that follow, and the server's CPU for each of these.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import polars as pl

MODELS = ("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4o", "gpt-4o-mini", "o3", "o4-mini", "gpt-5-mini")
NAME = "browsed"
_TIMES = 15
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


def make_run(folder: Path, rows: int) -> None:
    """Each of eight models is asked about every item."""
    items = folder / "items.jsonl"
    with items.open("w") as out:
        for n in range(rows // len(MODELS)):
            out.write(
                json.dumps({"id": f"essay {n:07d}", "text": f"Essay {n} asks how {n * 7919 % 1_000_003} ends."}) + "\n"
            )
    study = folder / "study.json"
    models = [f"openai/{name}" for name in MODELS]
    fields = {"task": "generate", "items": "items.jsonl", "prompt": "Sum it up: {text}", "models": models}
    study.write_text(json.dumps({"name": NAME, **fields}))
    truth = folder / "truth.yaml"
    truth.write_text("latency: {batch: [1, 2], live: [0, 0]}\nseed: 7\n")
    began = time.monotonic()
    command = [sys.executable, "-m", "overnight", "run", str(study), "--emulate", "--truth", str(truth), "-q"]
    subprocess.run(command, cwd=folder, env={**os.environ, "OVERNIGHT_TIME_SCALE": "60"}, check=True)
    print(f"made: {rows:,} rows in {time.monotonic() - began:.0f} s")


def is_made(folder: Path) -> bool:
    table = folder / "runs" / ".rehearsal" / NAME / "tables" / "results.parquet"
    return table.exists() and pl.scan_parquet(table).filter(pl.col("status") == "pending").head(1).collect().is_empty()


class Server:
    """The dashboard in a process of its own, and a browser's cookie."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self._pid = process.pid
        self.base = address.partition("/?")[0]
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self._opener.open(address).read()

    def get(self, path: str) -> bytes:
        return self._opener.open(self.base + path, timeout=600).read()

    def come_to_rest(self) -> None:
        """Searches that were begun by earlier pages are over: each page is measured by itself."""
        before = -1.0
        while self.cpu - before > 0.02:
            before = self.cpu
            time.sleep(0.5)

    @property
    def memory(self) -> float:
        """Megabytes in memory, pages of files that it maps included."""
        return int(Path(f"/proc/{self._pid}/statm").read_text().split()[1]) * _PAGE / 1e6

    @property
    def cpu(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK


@contextmanager
def dashboard(folder: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "overnight", "serve", "--emulate", "--port", "0", "--no-open"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield Server(process, found[0])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def pages(arms: list[str]) -> dict[str, list[str]]:
    """By what they show: several addresses of each, so that nothing is only remembered."""

    def rows(**query: Any) -> str:
        return f"/run/{NAME}/rows?{urllib.parse.urlencode(query)}"

    numbers = range(_TIMES)
    return {
        "runs": ["/"] * _TIMES,
        "run": [f"/run/{NAME}"] * _TIMES,
        "rows, any page": [rows(page=1 + 1_300 * n) for n in numbers],
        "rows of one arm": [rows(arm=arms[n % len(arms)], page=1 + 150 * n) for n in numbers],
        "rows by status and length": [rows(status="answered", least_length=100 + n, page=1 + 7 * n) for n in numbers],
        "rows, longest first": [rows(order="longest", page=1 + n) for n in numbers],
        "rows, dearest of an arm": [rows(order="dearest", arm=arms[n % len(arms)]) for n in numbers],
        "search, first time": [rows(q=f"essay 00{n:02d}") for n in numbers],
        "search, next page": [rows(q="essay 0001", page=2 + n) for n in numbers],
        "item": [f"/run/{NAME}/item?{urllib.parse.urlencode({'id': f'essay {n * 31:07d}'})}" for n in numbers],
        "two arms": [
            f"/run/{NAME}/arms?{urllib.parse.urlencode({'a': arms[0], 'b': arms[1 + n % 7]})}" for n in numbers
        ],
        "accounts": ["/accounts"] * _TIMES,
    }


def browse(folder: Path) -> Iterator[str]:
    with dashboard(folder) as server:
        yield f"{'page':>26} {'first ms':>9} {'median ms':>10} {'highest ms':>11} {'CPU ms':>7} {'memory MB':>10}"
        arms = re.findall(r'<option value="(prompt__[^"]+)"', server.get(f"/run/{NAME}/rows").decode())
        for name, addresses in pages(arms).items():
            server.come_to_rest()
            times, before = [], 0.0
            for address in addresses:
                began = time.perf_counter()
                server.get(address)
                times.append(1000 * (time.perf_counter() - began))
                before = before or server.cpu
            first, later = times[0], times[1:]
            cpu = 1000 * (server.cpu - before) / len(later)
            yield (
                f"{name:>26} {first:9.0f} {statistics.median(later):10.0f} {max(later):11.0f} {cpu:7.0f} "
                f"{server.memory:10.0f}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description="A large run, browsed.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the run is kept; default: a folder that goes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not is_made(folder):
            make_run(folder, asked.rows)
        for line in browse(folder):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
