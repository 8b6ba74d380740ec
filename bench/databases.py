"""SQLite beside PostgreSQL: what a row costs by step, by batch and live, with the server on the same machine.

    python bench/databases.py [--rows 30000] [--live-rows 10000]

CPU of our own process in µs for each row, and that of the server. Live calls go to a stub that answers at once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import live_race
import pipeline
from environments import compile_ours

DATABASES = ("sqlite", "postgres")
LIVE_STEPS = ("items, intake", "pack", *pipeline.LIVE_STEPS, "tables")


def live(rows: int, database: str) -> pipeline.Measured:
    compile_ours()
    setting = live_race.Setting(rows=rows)
    with tempfile.TemporaryDirectory(prefix="bench-live-") as scratch:
        folder = Path(scratch)
        with live_race.Stub(folder, setting) as stub:
            live_race.write_study(folder, setting)
            environ = {**stub.environ, "OPENAI_BASE_URL": f"{stub.url}/v1"}
            return pipeline.measure_study(folder / "study.yaml", environ, database)


def table(title: str, steps: Sequence[str], measured: Sequence[pipeline.Measured]) -> Iterator[str]:
    rows = measured[0].rows
    yield f"{title + f', {rows:,} rows':>28} {'SQLite':>11} {'PostgreSQL':>11}   µs of CPU a row"
    found = [[one.steps.get(name, pipeline.Step()).cpu for one in measured] for name in steps]
    named = [sum(column) for column in zip(*found, strict=True)]
    told = {
        **dict(zip(steps, found, strict=True)),
        "rest": [one.cpu - sure for one, sure in zip(measured, named, strict=True)],
        "all": [one.cpu for one in measured],
        "the database's server": [one.server_cpu for one in measured],
    }
    for name, values in told.items():
        yield f"{name:>28} {' '.join(f'{value / rows * 1e6:11.1f}' for value in values)}"
    yield f"{'wall s':>28} {' '.join(f'{one.wall:11.1f}' for one in measured)}"
    yield f"{'peak MB':>28} {' '.join(f'{one.peak_mb:11,.0f}' for one in measured)}"


def lines(rows: int, live_rows: int) -> Iterator[str]:
    yield from table("by batch", list(pipeline.STEPS), [pipeline.measure(rows, database=one) for one in DATABASES])
    yield ""
    yield from table("live", LIVE_STEPS, [live(live_rows, one) for one in DATABASES])


def main() -> int:
    parser = argparse.ArgumentParser(description="SQLite beside PostgreSQL, by step.")
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--live-rows", type=int, default=10_000)
    asked = parser.parse_args()
    for line in lines(asked.rows, asked.live_rows):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
