"""Malformed input by the thousand: each case must end in an answer, or in one clear line and its exit code.

    python bench/malformed.py --cases 1000          so many of each family, drawn from --seed
    python bench/malformed.py --only 'items.csv is a FIFO'

Commands are typed in a process of its own that is killed when a case takes too long: a hang is a finding.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from hardening.conftest import KEY, NOBODY
from hardening.generated.cases import Case, finding
from hardening.generated.families import FAMILIES
from own_time import use_own_time

# How long a case may take, and how long it may take until the first one begins: a run is made for some of them.
CASE_SECONDS, BEGIN_SECONDS = 60, 300


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000, help="of each family (1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=[*FAMILIES, "requests"], help="this one only")
    parser.add_argument("--only", help="the case of this name, again")
    parser.add_argument("--from", type=int, default=0, dest="begin", help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    _surroundings()
    use_own_time()
    if options.worker:
        return _work(options)
    found = 0
    for family in [options.family] if options.family else [*FAMILIES, "requests"]:
        count, findings = _family(family, options)
        found += len(findings)
        print(f"{family}: {count:,} cases, {len(findings)} findings", flush=True)
        if findings:
            print(f"    again: python bench/malformed.py --family '{family}' --only NAME", flush=True)
    return 1 if found else 0


def _surroundings() -> None:
    for name in [name for name in os.environ if name.startswith(("OPENAI_", "OVERNIGHT_"))]:
        del os.environ[name]
    os.environ.update(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=NOBODY, COLUMNS="100")


def _family(family: str, options: argparse.Namespace) -> tuple[int, list[str]]:
    if family == "requests":
        return _requests(options)
    return _commands(family, options)


def _drawn(family: str, options: argparse.Namespace) -> list[Case]:
    every = list(FAMILIES[family]())
    if options.only:
        return [case for case in every if case.name == options.only]
    return random.Random(options.seed).sample(every, min(options.cases, len(every)))


def _commands(family: str, options: argparse.Namespace) -> tuple[int, list[str]]:
    """Workers one after another: one that says nothing for too long is killed, and the next goes on behind it."""
    findings: list[str] = []
    begin = 0
    while True:
        only = ["--only", options.only] if options.only else []
        command = [sys.executable, __file__, "--worker", "--family", family, "--from", str(begin), *only]
        command += ["--seed", str(options.seed), "--cases", str(options.cases)]
        worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        name, before = "", begin
        for line in _lines(worker):
            kind, _, rest = line.partition(" ")
            if kind == "begin":
                number, _, name = rest.partition(" ")
                begin = int(number) + 1
            elif kind == "finding":
                findings.append(rest.replace("\\n", "\n"))
                print(f"  {findings[-1]}", flush=True)
            elif kind == "done":
                worker.wait()
                return int(rest), findings
        worker.wait()
        if begin == before:
            raise SystemExit(f"{family}: no case began within {BEGIN_SECONDS} seconds")
        findings.append(f"{name}: hung, or ended the process")
        print(f"  {findings[-1]}", flush=True)


def _lines(worker: subprocess.Popen[str]) -> Iterator[str]:
    """What the worker says; it is killed when it is silent for too long."""
    assert worker.stdout is not None
    seconds = BEGIN_SECONDS
    while True:
        timer = threading.Timer(seconds, worker.kill)
        timer.start()
        line = worker.stdout.readline()
        timer.cancel()
        if not line:
            worker.kill()
            return
        yield line.rstrip("\n")
        seconds = CASE_SECONDS


def _work(options: argparse.Namespace) -> int:
    cases = _drawn(options.family, options)
    say = os.fdopen(os.dup(1), "w", buffering=1)
    for number, case in enumerate(cases):
        if number < options.begin:
            continue
        say.write(f"begin {number} {case.name!r}\n")
        folder = Path(tempfile.mkdtemp(prefix="hardening-"))
        try:
            if told := finding(case, folder):
                say.write(f"finding {told!r}\n")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    say.write(f"done {len(cases)}\n")
    return 0


def _requests(options: argparse.Namespace) -> tuple[int, list[str]]:
    """Odd requests against every route of every dialect of the emulator, about what is there and what is not."""
    from emulator_process import EmulatorProcess
    from hardening.odd_requests import faulty, furnish, odd_requests, statuses

    with EmulatorProcess({"time_scale": 500, "latency": {"batch": [60, 600], "live": [0, 0]}}) as emulator:
        requests = list(odd_requests(options.seed, 5 * options.cases, furnish(emulator.url)))
        answered = asyncio.run(statuses(emulator.url, requests))
    obeyed = sum(200 <= status < 300 for status in answered)
    print(f"  of {len(requests):,} requests {obeyed:,} were obeyed", flush=True)
    findings = faulty(requests, answered)
    print("".join(f"  {finding}\n" for finding in findings), end="", flush=True)
    return len(requests), findings


if __name__ == "__main__":
    sys.exit(main())
