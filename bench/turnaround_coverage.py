"""Does the spread that `plan` tells for its end hold? Seeded studies on the emulator, whose latencies nobody tells us.

    python bench/turnaround_coverage.py                    60 worlds, ten at a time: they mostly wait
    python bench/turnaround_coverage.py --worlds 10 --first 500
    python bench/turnaround_coverage.py --draws 2000       no emulator: batches drawn as it draws them, and otherwise

Each world has latencies of its own and a folder of its own. Some studies are run there first, so that there is
something to learn from; then one more is planned and run. Counted: how often it was over within the 90% interval of
`plan`, and how far its middle was off. Two turns and a judging stage wait for the batches before them. Some forty
worlds cannot tell 90% from 97%: `--draws` has thousands, of the same studies, by what the interval itself is made of.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from soaked_run import surroundings

from emulator_process import EmulatorProcess

# Slow enough that what a busy machine takes for its own work is little beside what the provider takes.
TIME_SCALE = 300.0
MODELS = ("openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash-lite")
SHAPES = ("plain", "talk", "judged")
# Seconds between two looks at a batch.
_LOOKED_AT = 60
# How much batches differ, where they are drawn: as the emulator's do (a factor between 1.1 and 4), or by logarithms.
_SPREADS = (None, 0.2, 0.35, 0.6, 1.0)


class Outcome(NamedTuple):
    shape: str
    # Batches that were seen before.
    seen: int
    middle: float
    low: float
    high: float
    took: float


def latency(draw: random.Random) -> list[float]:
    """Seconds from and to: fast and steady, slow and wide, or anything between."""
    least = math.exp(draw.uniform(math.log(1_500), math.log(4_000)))
    return [round(least), round(least * draw.uniform(1.1, 4.0))]


def study(draw: random.Random, name: str, shape: str) -> dict[str, Any]:
    batches, rows = draw.randint(1, 4), draw.choice((2, 5, 20))
    first: dict[str, Any] = {
        "name": "answers",
        "task": "generate",
        "items": [{"ID": str(number), "text": f"thing {name} {number}"} for number in range(batches * rows)],
        "prompt": "Describe {text}.",
        "models": draw.sample(MODELS, draw.choice((1, 2))),
        "batch": {"max_requests": rows},
        **({"turns": ["Are you sure about {answer}?"]} if shape == "talk" else {}),
    }
    judge = {"name": "judged", "task": "generate", "of": "answers", "when": "done", "prompt": "Good? {answer}"}
    stages = [first, {**judge, "models": first["models"][:1]}] if shape == "judged" else [first]
    return {"name": name, "timeout": "9999h", "gather": "1s", "stages": stages}


def outcome(seed: int) -> Outcome:
    draw = random.Random(f"turnaround {seed}")
    truth = {"seed": seed, "time_scale": TIME_SCALE, "latency": {"batch": latency(draw), "live": [0, 0]}}
    emulator = EmulatorProcess(truth, None).start()
    try:
        with tempfile.TemporaryDirectory(prefix="overnight-turnaround-") as folder:
            return world(draw, SHAPES[seed % len(SHAPES)], emulator, Path(folder))
    finally:
        os.chdir("/")
        emulator.close()


def world(draw: random.Random, shape: str, emulator: EmulatorProcess, folder: Path) -> Outcome:
    """In a process of its own: what it learns is in its folder, and its clock is the emulator's."""
    import polars as pl

    import overnight as on

    os.chdir(folder)
    surroundings(emulator, TIME_SCALE)
    earlier = [on.Study(**study(draw, f"before-{number}", "plain")) for number in range(draw.randint(1, 5))]
    asked = on.Study(**study(draw, "asked", shape))
    # One more, so that no provider is unknown.
    every = {"items": [{"ID": "1", "text": "any"}, {"ID": "2", "text": "other"}], "models": list(MODELS)}
    for one in (*earlier, on.Study(name="first", task="generate", prompt="Say {text}.", timeout="9999h", **every)):
        on.run(one)
    told = on.plan(asked).finishing
    assert told is not None
    assert told.seconds is not None
    on.run(asked)
    times = pl.read_parquet(folder / "runs" / "asked" / "tables" / "attempts.parquet")
    ended, began = (
        datetime.fromisoformat(str(one)) for one in (times["received_at"].max(), times["submitted_at"].min())
    )
    took = (ended - began).total_seconds()
    return Outcome(shape, told.seen, told.seconds, told.low or 0.0, told.high or 0.0, took)


def drawn(seed: int, spread: float | None) -> Outcome:
    """The same without an emulator: latencies as it draws them, or logarithms that spread by so much."""
    from overnight.core.estimate import step_of
    from overnight.core.turnaround import Leg, Work, over, took

    draw = random.Random(f"drawn {seed} {spread}")
    least, most = latency(draw)
    middle = math.log(least * most) / 2

    def took_seconds() -> float:
        seconds = draw.uniform(least, most) if spread is None else math.exp(draw.gauss(middle, spread))
        return seconds + draw.uniform(0, _LOOKED_AT)

    def shape_of() -> tuple[int, int, list[str]]:
        one = study(draw, "drawn", "plain")["stages"][0]
        rows = one["batch"]["max_requests"]
        return len(one["items"]) // rows, rows, one["models"]

    seen: dict[str, dict[int, list[float]]] = {model: {step_of(2): [math.log(took_seconds())]} for model in MODELS}
    for _ in range(draw.randint(1, 5)):
        batches, rows, models = shape_of()
        for model in models * batches:
            seen[model].setdefault(step_of(rows), []).append(math.log(took_seconds()))
    batches, rows, models = shape_of()
    shape = SHAPES[seed % len(SHAPES)]

    known = {
        model: [(step, len(logs), sum(logs), sum(one * one for one in logs)) for step, logs in steps.items()]
        for model, steps in seen.items()
    }

    def leg(model: str, size: int, count: int) -> Leg:
        told = took(known[model], size, [other for name, other in known.items() if name != model])
        assert told is not None
        return Leg(model, told, count)

    turns = 2 if shape == "talk" else 1
    legs = [[leg(model, rows, batches)] * turns for model in models]
    ends = max(sum(took_seconds() for _ in range(turns)) for _ in range(batches * len(models)))
    plan = [Work("answers", legs)]
    if shape == "judged":
        plan.append(Work("judged", [[leg(models[0], rows * batches * len(models), 1)]], "answers", waits=True))
        ends += took_seconds()
    window = over(plan)
    rests_on = sum(one[0].took.batches for one in legs)
    return Outcome(shape, rests_on, window.middle, window.low, window.high, ends)


def report(title: str, outcomes: list[Outcome]) -> None:
    held = sum(one.low <= one.took <= one.high for one in outcomes)
    late = sum(one.took > one.high for one in outcomes)
    off = [one.middle / one.took - 1 for one in outcomes]
    print(
        f"{title:22} {len(outcomes):4} studies: 90% interval holds {held / len(outcomes):6.1%} "
        f"({late} later, {len(outcomes) - held - late} earlier); middle off by {statistics.median(map(abs, off)):.0%} "
        f"(median), {statistics.mean(off):+.0%} (mean)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=10, help="worlds at a time")
    parser.add_argument("--draws", type=int, help="so many worlds without an emulator, for each spread of batches")
    options = parser.parse_args()
    if options.draws:
        for spread in _SPREADS:
            named = "as the emulator's" if spread is None else f"spread {spread:g}"
            outcomes = [drawn(options.first + seed, spread) for seed in range(options.draws)]
            report(named, outcomes)
            report("  6 or more seen", [one for one in outcomes if one.seen >= 6])
        return
    seeds = range(options.first, options.first + options.worlds)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        outcomes = list(pool.map(outcome, seeds))
    for shape in SHAPES:
        if own := [one for one in outcomes if one.shape == shape]:
            report(shape, own)
    few = [one for one in outcomes if one.seen < 12]
    if few:
        report("fewer than 12 seen", few)
    report("all", outcomes)


if __name__ == "__main__":
    main()
