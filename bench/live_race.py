"""The same live calls by other hands: N requests, so many at once, to one stub server that only answers.

    python bench/live_race.py                             ourselves, raw aiohttp, the official SDK, other clients
    python bench/live_race.py --without-rivals            only what needs no environment of its own
    python bench/live_race.py --without-rivals --tls      the same over TLS, with a certificate made for the run
    python bench/live_race.py --alone --at-once 1600 --latency 0.5     how near we come to what the latency allows
    python bench/live_race.py --proof                     what is promised of live calls, each three times
    python bench/live_race.py --sizes 10000 200000        ourselves alone, at these sizes: does memory stay flat?

`--repeats 3` runs all of it three times; each time has its own ratios. Requests for each second are counted by the
server, from the first to the last; CPU and memory by the kernel, imports and all (their bytecode is made beforehand).
Ours keeps a ledger, flushes every group of answers to the disk and ends with a table; the others keep answers
in memory. `calling` is the memory while there were calls, before tables and the report; `server` is the share of a core
that the stub was busy with: below 100%, nobody waits for it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from ssl import create_default_context
from typing import Self

import msgspec
from environments import python_with
from race import MODEL, wait_for

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from certificates import Authority  # noqa: E402 - what tests use too

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


# Slow ones: a part of it says the same.
FEWER = {
    "live_openai": 2_000,
    "live_openai_aiohttp": 4_000,
    "live_litellm": 2_000,
    "live_curator": 2_000,
    "live_inspect": 1_000,
}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of every client."""

    rows: int = 10_000
    at_once: int = AT_ONCE
    latency: float = 0.0
    tls: bool = False

    @property
    def limit(self) -> float | None:
        """The most answers a second that the latency allows."""
        return self.at_once / self.latency if self.latency else None


class Lap(msgspec.Struct, kw_only=True):
    name: str
    rows: int = 0
    per_second: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    # The most while there were calls: tables and the report come after them.
    calling_mb: float = 0.0
    wall: float = 0.0
    # The most that were at the server at once, and how busy it was.
    at_once: int = 0
    server: float = 0.0
    problem: str = ""


class Stub:
    """The server, in a process of its own."""

    def __init__(self, scratch: Path, setting: Setting) -> None:
        self._command = [sys.executable, str(HERE / "stub_server.py"), "--latency", str(setting.latency)]
        self.environ: dict[str, str] = {}
        self._trust = None
        if setting.tls:
            authority = Authority(scratch)
            self._command += ["--certificate", str(authority.shown())]
            # How a user names a certificate authority of their own. Nobody's verification is turned off.
            self.environ = {"SSL_CERT_FILE": str(authority.file)}
            self._trust = create_default_context(cafile=str(authority.file))

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().removeprefix("listening on ").strip()
        return self

    def stats(self) -> dict[str, float]:
        with urllib.request.urlopen(f"{self.url}/stats", context=self._trust) as answer:
            told: dict[str, float] = json.load(answer)
        return told

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


class Memory(threading.Thread):
    """What a process holds, looked at ten times a second."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._status = Path(f"/proc/{process}/status")
        self._seen: list[tuple[float, float]] = []
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.1):
            try:
                held = next((line for line in self._status.read_text().splitlines() if line.startswith("VmRSS")), "")
            except OSError:
                return
            if held:
                self._seen.append((time.perf_counter(), int(held.split()[1]) / 1024))

    def until(self, moment: float) -> float:
        """The most until then, in MB."""
        self._over.set()
        self.join()
        return max((held for at, held in self._seen if at <= moment), default=0.0)


def write_study(folder: Path, setting: Setting) -> None:
    with (folder / "items.jsonl").open("w") as items:
        for number in range(setting.rows):
            items.write(json.dumps({"id": f"item-{number:07d}", "text": f"thing number {number}"}) + "\n")
    study = {
        "name": "bench",
        "task": "generate",
        "items": "items.jsonl",
        "prompt": PROMPT,
        "models": [f"openai/{MODEL}"],
        "mode": "live",
        "live": {"concurrency": setting.at_once},
    }
    (folder / "study.yaml").write_text(json.dumps(study))


def race(setting: Setting, *, rivals: bool, alone: bool = False) -> Iterator[Lap]:
    with tempfile.TemporaryDirectory(prefix="live-race-") as scratch:
        folder = Path(scratch)
        with Stub(folder, setting) as stub:
            write_study(folder, setting)
            yield ours(stub, folder, setting.rows)
            for name, package in {} if alone else RIVALS.items():
                python = python_with(package) if rivals or package is None else None
                if python is not None:
                    rows = min(setting.rows, FEWER.get(name, setting.rows))
                    yield theirs(stub, folder, name, python, msgspec.structs.replace(setting, rows=rows))


def ours(stub: Stub, folder: Path, rows: int) -> Lap:
    return lap(stub, "overnight", [sys.executable, "-m", "overnight", "run", "study.yaml", "-q"], folder, rows)


def theirs(stub: Stub, folder: Path, name: str, python: Path, setting: Setting) -> Lap:
    items, out = folder / f"{name}.jsonl", folder / f"{name}.csv"
    with (folder / "items.jsonl").open() as all_of_them, items.open("w") as some:
        some.writelines(islice(all_of_them, setting.rows))
    wanted = (str(items), f"{stub.url}/v1", str(out), PROMPT, MODEL, str(setting.at_once))
    return lap(stub, name, [str(python), str(HERE / "rivals" / f"{name}.py"), *wanted], folder, setting.rows)


def lap(stub: Stub, name: str, command: Sequence[str], folder: Path, rows: int) -> Lap:
    environ = {**os.environ, **stub.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environ |= {"OPENAI_BASE_URL": f"{stub.url}/v1", "OPENAI_API_KEY": "sk-bench-0123456789abcdefghij"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if name == "overnight":
        subprocess.run(
            [sys.executable, "-m", "overnight", "plan", "study.yaml", "-q"],
            cwd=folder,
            env=environ,
            stdout=subprocess.DEVNULL,
            check=True,
        )
    stub.stats()
    begun = time.perf_counter()
    with (folder / f"{name}.log").open("w") as log:
        client = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
        memory = Memory(client.pid)
        memory.start()
        status, usage = wait_for(client)
    told = stub.stats()
    served, seconds = int(told["count"]), max(told["seconds"], 1e-9)
    return Lap(
        name=name,
        rows=served,
        per_second=served / seconds,
        cpu=usage.ru_utime + usage.ru_stime,
        peak_mb=usage.ru_maxrss / 1024,
        calling_mb=memory.until(told["last"]),
        wall=time.perf_counter() - begun,
        at_once=int(told["most"]),
        server=told["cpu"] / seconds,
        problem="" if status == 0 and served >= rows else f"exit {status}, {served:,} of {rows:,} requests",
    )


def sizes(asked: Sequence[int], setting: Setting | None = None) -> Iterator[Lap]:
    """Ourselves at several sizes."""
    for rows in asked:
        one = msgspec.structs.replace(setting or Setting(), rows=rows)
        for done in race(one, rivals=False, alone=True):
            yield msgspec.structs.replace(done, name=f"overnight, {rows:,}")


def lines(laps: Sequence[Lap], setting: Setting | None = None) -> Iterator[str]:
    head = (
        ("requests/s", 11),
        ("CPU ms each", 12),
        ("peak MB", 8),
        ("calling", 8),
        ("wall s", 7),
        ("at once", 8),
        ("server", 7),
    )
    yield f"{'client':>22} " + " ".join(f"{name:>{wide}}" for name, wide in head)
    for one in laps:
        if one.problem:
            yield f"{one.name:>22} did not finish: {one.problem}"
            continue
        each = one.cpu / one.rows * 1000
        yield (
            f"{one.name:>22} {one.per_second:11,.0f} {each:12.3f} {one.peak_mb:8,.0f} {one.calling_mb:8,.0f} "
            f"{one.wall:7.1f} {one.at_once:8,} {one.server:7.0%}"
        )
    yield from ratios(laps, setting or Setting())


def ratios(laps: Sequence[Lap], setting: Setting) -> Iterator[str]:
    """Ours beside the others of the same run, and beside what the latency allows."""
    us = next((one for one in laps if one.name == "overnight" and not one.problem), None)
    if us is None:
        return
    if setting.limit is not None:
        yield f"{us.per_second / setting.limit:.1%} of the {setting.limit:,.0f} requests/s that the latency allows"
    for other in laps:
        if other is not us and not other.problem:
            dearer = (us.cpu / us.rows) / (other.cpu / other.rows)
            yield f"{us.per_second / other.per_second:.2f} times the rate of {other.name}, {dearer:.2f} times its CPU"


def proof(repeats: int = 3) -> Iterator[str]:
    """The rate beside others', plain and over TLS, and how near we come to what a latency allows."""
    for _ in range(repeats):
        for setting in (Setting(rows=20_000), Setting(rows=20_000, tls=True)):
            yield f"{setting.at_once:,} at once{', TLS' if setting.tls else ''}"
            yield from lines(list(race(setting, rivals=False)), setting)
        for at_once, latency, tls in ((1_600, 1.0, False), (1_600, 1.0, True), (5_000, 2.0, False), (5_000, 2.0, True)):
            setting = Setting(rows=20 * at_once, at_once=at_once, latency=latency, tls=tls)
            yield f"{at_once:,} at once, {latency:g} s for each answer{', TLS' if tls else ''}"
            yield from lines(list(race(setting, rivals=False, alone=True)), setting)


def main() -> int:
    parser = argparse.ArgumentParser(description="The same live calls through several clients.")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that the server takes for an answer")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="only ourselves")
    parser.add_argument("--without-rivals", action="store_true", help="install nothing")
    parser.add_argument("--proof", action="store_true", help="all that is promised of live calls")
    parser.add_argument("--sizes", type=int, nargs="+", help="ourselves alone, at these sizes")
    asked = parser.parse_args()
    setting = Setting(rows=asked.rows, at_once=asked.at_once, latency=asked.latency, tls=asked.tls)
    if asked.proof:
        for line in proof():
            print(line, flush=True)
        return 0
    for _ in range(asked.repeats):
        if asked.sizes:
            laps = list(sizes(asked.sizes, setting))
        else:
            laps = list(race(setting, rivals=not asked.without_rivals, alone=asked.alone))
        print("\n".join(lines(laps, setting)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
