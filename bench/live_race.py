"""The same live calls by other hands: N requests, 200 at once, to one stub server that only answers.

    python bench/live_race.py                             ourselves, raw aiohttp, the official SDK, other clients
    python bench/live_race.py --without-rivals            only what needs no environment of its own
    python bench/live_race.py --sizes 10000 200000        ourselves alone, at these sizes: does memory stay flat?

Requests for each second are counted by the server, from the first to the last; CPU and memory by the kernel, imports
and all. Ours keeps a ledger, flushes every group of answers to the disk and ends with a table; the others keep answers
in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import msgspec
from environments import python_with
from race import MODEL, wait_for

HERE = Path(__file__).resolve().parent
PROMPT = "Describe {text} in a sentence."
AT_ONCE = 200
# Script, and what its own environment needs; None: ours has it.
RIVALS: dict[str, str | None] = {
    "live_aiohttp": None,
    "live_openai": None,
    "live_openai_aiohttp": "openai[aiohttp]",
    "live_litellm": "litellm",
    "live_curator": "bespokelabs-curator",
    "live_inspect": "inspect_ai openai",
}


class Lap(msgspec.Struct, kw_only=True):
    name: str
    rows: int = 0
    per_second: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    wall: float = 0.0
    problem: str = ""


class Stub:
    """The server, in a process of its own."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "stub_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().removeprefix("listening on ").strip()
        return self

    def stats(self) -> dict[str, float]:
        with urllib.request.urlopen(f"{self.url}/stats") as answer:
            told: dict[str, float] = json.load(answer)
        return told

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def write_study(folder: Path, rows: int) -> None:
    with (folder / "items.jsonl").open("w") as items:
        for number in range(rows):
            items.write(json.dumps({"id": f"item-{number:07d}", "text": f"thing number {number}"}) + "\n")
    study = {
        "name": "bench",
        "task": "generate",
        "items": "items.jsonl",
        "prompt": PROMPT,
        "models": [f"openai/{MODEL}"],
        "mode": "live",
        "live": {"concurrency": AT_ONCE},
    }
    (folder / "study.yaml").write_text(json.dumps(study))


def race(rows: int, *, rivals: bool) -> Iterator[Lap]:
    with tempfile.TemporaryDirectory(prefix="live-race-") as scratch, Stub() as stub:
        folder = Path(scratch)
        write_study(folder, rows)
        yield ours(stub, folder, rows)
        for name, package in RIVALS.items():
            python = python_with(package) if rivals or package is None else None
            if python is not None:
                out = folder / f"{name}.csv"
                wanted = (str(folder / "items.jsonl"), f"{stub.url}/v1", str(out), PROMPT, MODEL, str(AT_ONCE))
                yield lap(stub, name, [str(python), str(HERE / "rivals" / f"{name}.py"), *wanted], folder, rows)


def ours(stub: Stub, folder: Path, rows: int) -> Lap:
    return lap(stub, "overnight", [sys.executable, "-m", "overnight", "run", "study.yaml", "-q"], folder, rows)


def lap(stub: Stub, name: str, command: Sequence[str], folder: Path, rows: int) -> Lap:
    stub.stats()
    environ = {**os.environ, "OPENAI_BASE_URL": f"{stub.url}/v1", "OPENAI_API_KEY": "sk-bench-0123456789abcdefghij"}
    begun = time.perf_counter()
    with (folder / f"{name}.log").open("w") as log:
        client = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
        status, usage = wait_for(client)
    told = stub.stats()
    served = int(told["count"])
    return Lap(
        name=name,
        rows=served,
        per_second=served / max(told["seconds"], 1e-9),
        cpu=usage.ru_utime + usage.ru_stime,
        peak_mb=usage.ru_maxrss / 1024,
        wall=time.perf_counter() - begun,
        problem="" if status == 0 and served >= rows else f"exit {status}, {served:,} of {rows:,} requests",
    )


def sizes(asked: Sequence[int]) -> Iterator[Lap]:
    """Ourselves at several sizes."""
    for rows in asked:
        with tempfile.TemporaryDirectory(prefix="live-race-") as scratch, Stub() as stub:
            write_study(Path(scratch), rows)
            yield msgspec.structs.replace(ours(stub, Path(scratch), rows), name=f"overnight, {rows:,}")


def lines(laps: Sequence[Lap]) -> Iterator[str]:
    yield f"{'client':>22} {'requests/s':>11} {'CPU s/1,000':>12} {'peak MB':>8} {'wall s':>7}"
    for one in laps:
        if one.problem:
            yield f"{one.name:>22} did not finish: {one.problem}"
            continue
        each = one.cpu / one.rows * 1000
        yield f"{one.name:>22} {one.per_second:11,.0f} {each:12.3f} {one.peak_mb:8,.0f} {one.wall:7.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="The same live calls through several clients.")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--without-rivals", action="store_true", help="install nothing")
    parser.add_argument("--sizes", type=int, nargs="+", help="ourselves alone, at these sizes")
    asked = parser.parse_args()
    laps = sizes(asked.sizes) if asked.sizes else race(asked.rows, rivals=not asked.without_rivals)
    print("\n".join(lines(list(laps))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
