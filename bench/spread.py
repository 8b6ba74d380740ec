"""Live calls by 1, 2 and 4 actors of Ray: does spreading bring more, and what does it cost?

    .venv-ray/bin/python bench/spread.py [--rows 20000] [--at-once 50] [--latency 0.05]     (`make ray` makes .venv-ray)

As many servers as actors, each of which answers after 50 ms and is asked so many questions at once: so each actor can
make 1,000 calls a second at most, and two cores are not what limits them. `here` is the same pool of servers without
Ray. Calls a second are counted by the servers, from the first to the last; `leader` is the CPU of our own process,
start included, and `all` that of Ray and its actors, too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from live_race import PROMPT, Setting, Stub

HERE = "here"


class Lap(NamedTuple):
    name: str
    rows: int
    calls_a_second: float
    wall: float
    leader: float
    whole: float


def write_study(folder: Path, rows: int, at_once: int, urls: list[str]) -> None:
    with (folder / "items.jsonl").open("w") as items:
        for number in range(rows):
            items.write(json.dumps({"id": f"item-{number:07d}", "text": f"thing number {number}"}) + "\n")
    study = {
        "name": "bench",
        "task": "generate",
        "items": "items.jsonl",
        "prompt": PROMPT,
        "models": [{"model": "compatible/stub", "base_url": urls}],
        "mode": "live",
        "live": {"concurrency": at_once},
    }
    (folder / "study.yaml").write_text(json.dumps(study))


def lap(servers: int, on: str | None, setting: Setting) -> Lap:
    with tempfile.TemporaryDirectory(prefix="spread-") as scratch, ExitStack() as stack:
        folder = Path(scratch)
        stubs = [stack.enter_context(Stub(folder, setting)) for _ in range(servers)]
        write_study(folder, setting.rows, setting.at_once, [f"{one.url}/v1" for one in stubs])
        environ = {**os.environ, "COMPATIBLE_API_KEY": "sk-bench-0123456789abcdefghij", "RAY_TMPDIR": scratch}
        environ["XDG_CONFIG_HOME"] = str(folder / "config")
        hosts = [part for one in stubs for part in ("--allow-host", one.url.removeprefix("http://"))]
        command = [sys.executable, "-m", "overnight", "run", "study.yaml", "-q", *hosts, *(["--on", on] if on else [])]
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
            leader = 0.0
            while process.poll() is None:
                leader = _cpu_of(process.pid) or leader
                time.sleep(0.1)
        if process.returncode:
            sys.exit((folder / "log").read_text())
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        told = [one.stats() for one in stubs]
        seconds = max(one["last"] for one in told) - min(one["last"] - one["seconds"] for one in told)
        whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Lap(on or HERE, setting.rows, sum(one["count"] for one in told) / seconds, wall, leader, whole)


def _cpu_of(process: int) -> float:
    """Of that process alone, in seconds."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description="Live calls by actors of Ray.")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--latency", type=float, default=0.05)
    asked = parser.parse_args()
    setting = Setting(rows=asked.rows, at_once=asked.at_once, latency=asked.latency)
    print(
        f"{asked.rows:,} calls; each server is asked {asked.at_once} at once, "
        f"and answers in {asked.latency * 1000:.0f} ms"
    )
    print(f"{'':8}{'servers':>8}{'calls/s':>10}{'wall s':>8}{'leader us/row':>15}{'all us/row':>12}")
    for servers, on in ((1, None), (4, None), (1, "ray:1"), (2, "ray:2"), (4, "ray:4")):
        one = lap(servers, on, setting)
        leader, whole = (1e6 * spent / one.rows for spent in (one.leader, one.whole))
        print(
            f"{one.name:8}{servers:>8}{one.calls_a_second:>10,.0f}{one.wall:>8.1f}{leader:>15.0f}{whole:>12.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
