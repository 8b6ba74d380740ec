"""`make bench`: the pipeline by step and size, the same work and rankings by other hands, and what rounds save."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import databases
import live_race
import pipeline
import race
import rank_bench
import savings

RAY = Path(__file__).resolve().parents[1] / ".venv-ray" / "bin" / "python"
SIZES = (10_000, 100_000)
LIVE_SIZES = (10_000, 200_000)
FULL_SIZES = (10_000, 100_000, 1_000_000)


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed and memory of the whole way, beside other clients.")
    parser.add_argument("--full", action="store_true", help="one million requests as well")
    parser.add_argument("--without-rivals", action="store_true", help="install nothing, race only what is here")
    parser.add_argument("--race-rows", type=int, default=20_000)
    parser.add_argument("--live-rows", type=int, default=10_000)
    parser.add_argument(
        "--studies", type=int, default=50, help="of each kind, to see what choosing pairs in rounds saves"
    )
    asked = parser.parse_args()
    rivals = not asked.without_rivals
    measured = [pipeline.measure(rows) for rows in (FULL_SIZES if asked.full else SIZES)]
    print("\n".join(by_step(measured)))
    print()
    for line in databases.lines(SIZES[0], asked.live_rows):
        print(line, flush=True)
    print()
    print(f"The same {asked.race_rows:,} requests by other hands, imports included")
    print("\n".join(race.lines(list(race.race(asked.race_rows, rivals=rivals)))))
    print()
    print(f"The same {asked.live_rows:,} live calls, {live_race.AT_ONCE} at once, by other hands")
    print("\n".join(live_race.lines(list(live_race.race(live_race.Setting(rows=asked.live_rows), rivals=rivals)))))
    print("\n".join(live_race.lines(list(live_race.sizes(LIVE_SIZES)))))
    for line in live_race.proof():
        print(line, flush=True)
    print()
    with_ray()
    for line in rank_bench.race(rank_bench.FULL, repeats=1, rivals=rivals):
        print(line, flush=True)
    print()
    print(f"Pairs chosen in rounds beside pairs at random, {asked.studies} studies of each kind")
    savings.savings(asked.studies)
    savings.coins(asked.studies)
    savings.large_round()
    return 0


def with_ray() -> None:
    """Live calls by actors, where `make ray` has made an environment for that."""
    if not RAY.exists():
        print("Live calls by actors of Ray are left out: `make ray` makes an environment for them")
        return
    subprocess.run([RAY, Path(__file__).with_name("spread.py")], check=True)


def by_step(measured: list[pipeline.Measured]) -> list[str]:
    """CPU of our own process in µs for each row: flat from size to size."""
    wide = [f"{one.rows:>11,}" for one in measured]
    table = [f"{'µs of CPU a row':>17} {' '.join(wide)}"]
    for name in pipeline.STEPS:
        costs = (one.steps.get(name, pipeline.Step()).cpu / one.rows * 1e6 for one in measured)
        table.append(f"{name:>17} {' '.join(f'{cost:11.1f}' for cost in costs)}")
    for name, values in {
        "all": [f"{one.cpu / one.rows * 1e6:11.1f}" for one in measured],
        "rows/CPU s": [f"{one.rows_per_cpu_second:11,.0f}" for one in measured],
        "peak MB": [f"{one.peak_mb:11,.0f}" for one in measured],
        "wall s": [f"{one.wall:11.1f}" for one in measured],
    }.items():
        table.append(f"{name:>17} {' '.join(values)}")
    return table


if __name__ == "__main__":
    sys.exit(main())
