"""Soak: seeded runs with random kills and faults, each held to every promise.

    python bench/soak.py --runs 200             200 runs, seeds from --seed on
    python bench/soak.py --only 4711 --keep DIR one run again, its folder kept
    python bench/soak.py --providers xai,groq   runs of our own alone, at these providers
    python bench/soak.py --database postgres    runs of our own alone, in PostgreSQL, against the same on SQLite

A run's schedule derives from its seed alone. Kills at a checkpoint come back exactly; kills at a moment of the wall
clock come at the same moment of another execution.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from soak_adopted import adopted_schedule, soak_adopted
from soak_foreign import foreign_schedule, soak_foreign
from soak_hostile import hostile_schedule, soak_hostile
from soak_schedule import Schedule, schedule
from soak_study import MODELS
from soaked_run import HOME, KEY, OVER, RUN, CalmEmulators, Hung, SoakedRun, emulator_for, forked, warm_up

import postgres_server  # beside the tests, where soaked_run looks

# How many of all seeds are of these kinds.
_HOSTILE, _FOREIGN, _ADOPTED = 0.07, 0.1, 0.1
_SCRATCH = Path("/dev/shm") if Path("/dev/shm").is_dir() else None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    kind: str = "run"
    problems: list[str]
    kills: int
    faults_fired: int
    failed_rows: bool
    story: list[str]
    seconds: float
    # What really happened to the folder between commands, and how often.
    incidents: dict[str, int] = {}


def kind_of(seed: int) -> str:
    """Most are runs of our own; some are folders of somebody else's making, and studies that are up to no good."""
    drawn = random.Random(f"kind {seed}").random()
    for kind, share in {"hostile": _HOSTILE, "foreign": _FOREIGN, "adopted": _ADOPTED}.items():
        if drawn < share:
            return kind
        drawn -= share
    return "run"


class Road(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs are soaked; all there are where nothing is said."""

    among: tuple[str, ...] = ()
    rounds: bool = False
    in_database: bool = False

    @property
    def words(self) -> str:
        """As they are typed."""
        where = f" --providers {','.join(self.among)}" if self.among else ""
        return where + (" --rounds" if self.rounds else "") + (" --database postgres" if self.in_database else "")


def soak(seed: int, calm: CalmEmulators, keep: Path | None = None, road: Road = Road()) -> Outcome:  # noqa: B008
    kind = "run" if road.words else kind_of(seed)
    plan = schedule(seed, road.among, rounds=road.rounds) if kind == "run" else None
    if plan is None:
        return soak_stranger(seed, kind, keep)
    return soak_run(plan, calm, keep, in_database=road.in_database)


def soak_stranger(seed: int, kind: str, keep: Path | None = None) -> Outcome:
    """A folder that R made, a batch of another tool, or a hostile study, by its seed."""
    begun, fired, kills = time.monotonic(), 0, 0
    scratch = Path(tempfile.mkdtemp(prefix=f"soak-{seed}-", dir=keep or _SCRATCH))
    try:
        if kind == "foreign":
            plan = foreign_schedule(seed)
            kills = sum(kill is not None for kill in plan.kills)
            found, story, fired = soak_foreign(plan, scratch)
        elif kind == "adopted":
            theirs = adopted_schedule(seed)
            kills = sum(kill is not None for kill in theirs.kills)
            found, story, fired = soak_adopted(theirs, scratch)
        else:
            found, story = soak_hostile(hostile_schedule(seed), scratch)
    except Hung:
        found, story = ["a command hung"], []
    finally:
        if keep is None:
            shutil.rmtree(scratch, ignore_errors=True)
    seconds = time.monotonic() - begun
    return Outcome(
        seed=seed, kind=kind, problems=found, kills=kills, faults_fired=fired, failed_rows=False, story=story,
        seconds=seconds,
    )  # fmt: skip


def soak_run(plan: Schedule, calm: CalmEmulators, keep: Path | None = None, *, in_database: bool = False) -> Outcome:
    """One run as it was drawn: undisturbed, disturbed, then compared."""
    begun = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix=f"soak-{plan.seed}-", dir=keep or _SCRATCH))
    emulator = emulator_for(plan, faults=True)
    disturbed = SoakedRun(scratch / "disturbed", plan, emulator, in_database=in_database)
    found: list[str] = []
    log: dict[str, Any] = {"faults_fired": {}}
    state = None
    try:
        wanted = SoakedRun(scratch / "undisturbed", plan, calm.of(plan)).finish()
        disturbed.perform()
        state = disturbed.finish(passes=plan.passes_only).state
        if state in OVER and plan.late_damage is not None:
            state = disturbed.damage_late().state
        if in_database:
            state = disturbed.command("pull", ()).state or state
        log = emulator.log(calls=False)
        log["reasked"] = disturbed.reasked
        runs = [scratch / "disturbed" / (HOME if in_database else "runs"), scratch / "undisturbed" / "runs"]
        found = _judged(runs, plan, (wanted.state, state), log)
        found += [line for line in disturbed.story if ": crash" in line]
        found += _complaints(emulator.complaints())
    except Hung:
        found = ["a command hung"]
    finally:
        emulator.close()
        if keep is None:
            shutil.rmtree(scratch, ignore_errors=True)
    return Outcome(
        seed=plan.seed,
        kind="rounds" if plan.in_rounds else "run",
        problems=found,
        kills=sum(1 for line in disturbed.story if ": signal 9" in line),
        faults_fired=sum(log["faults_fired"].values()),
        failed_rows=state == "rows failed",
        story=disturbed.story,
        seconds=time.monotonic() - begun,
        incidents={**disturbed.incidents, **({"passes only": 1} if plan.passes_only else {})},
    )


def _complaints(text: str) -> list[str]:
    """What the emulator had to say, but for clients that were killed while they talked to it."""
    reports = text.split("Error handling request")
    return [f"the emulator complains: {report}" for report in reports if report.strip() and "Connection" not in report]


def _judged(
    places: list[Path], plan: Schedule, states: tuple[str | None, str | None], log: dict[str, Any]
) -> list[str]:
    """In a process of its own: polars starts threads, and a process with threads must not fork."""
    ended = all(state in OVER for state in states)
    log["key"] = KEY
    kinds = [fault["do"] for fault in plan.faults]
    log["twice_fired"] = sum(times for number, times in log["faults_fired"].items() if kinds[int(number)] == "twice")

    def work() -> list[str]:
        from soak_checks import problems, problems_so_far

        run, reference = (place / RUN for place in places)
        return problems(run, reference, plan, log) if ended else problems_so_far(run, plan, log)

    judged: list[str] | None = forked(work)
    no_end = [] if ended else [f"no end: the undisturbed run is {states[0]}, the disturbed one {states[1]}"]
    return [*no_end, *(["the checks themselves failed"] if judged is None else judged)]


class _Worker:
    """What lives as long as a process of the pool."""

    calm: ClassVar[CalmEmulators]

    @classmethod
    def begin(cls) -> None:
        os.nice(5)
        warm_up()
        cls.calm = CalmEmulators()

    @classmethod
    def soak(cls, seed: int, road: Road) -> Outcome:
        return soak(seed, cls.calm, road=road)


def report(outcome: Outcome, road: Road) -> None:
    print(f"seed {outcome.seed}: FAILED", flush=True)
    for problem in outcome.problems:
        print(f"  {problem}")
    for line in outcome.story:
        print(f"  | {line}")
    print(f"  replay: {sys.executable} bench/soak.py --only {outcome.seed}{road.words}", flush=True)


def soak_all(seeds: range, jobs: int, road: Road) -> Counter[str]:
    totals: Counter[str] = Counter()
    happened: Counter[str] = Counter()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_Worker.begin) as pool:
        waiting = [pool.submit(_Worker.soak, seed, road) for seed in seeds]
        for number, done in enumerate(as_completed(waiting), 1):
            outcome = done.result()
            totals[outcome.kind] += 1
            totals.update(runs=1, kills=outcome.kills, faults=outcome.faults_fired)
            totals.update(failed_rows=outcome.failed_rows, seconds=round(outcome.seconds))
            happened.update(outcome.incidents)
            if outcome.problems:
                totals["failures"] += 1
                report(outcome, road)
            if number % 25 == 0:
                print(f"{number} of {len(seeds)}: {_summary(totals)}", flush=True)
    print("beside the main road:", ", ".join(f"{count} {what}" for what, count in sorted(happened.items())), flush=True)
    return totals


def _summary(totals: Counter[str]) -> str:
    return (
        f"{totals['runs']} runs ({totals['rounds']} of studies in rounds, {totals['foreign']} of folders that R made, "
        f"{totals['adopted']} of adopted batches, "
        f"{totals['hostile']} of hostile studies), "
        f"{totals['kills']} kills, {totals['faults']} faults, "
        f"{totals['failed_rows']} with rows that failed for good, {totals['failures']} failures"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Seeded runs with random kills and faults.")
    parser.add_argument("--runs", type=int, default=200, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--only", type=int, help="this seed alone, with its story")
    parser.add_argument("--keep", type=Path, help="with --only: keep the folders here")
    parser.add_argument("--providers", default="", help=f"these alone, with commas between: {', '.join(MODELS)}")
    parser.add_argument("--rounds", action="store_true", help="studies that ask in rounds alone")
    parser.add_argument("--database", choices=["postgres"], help="keep the disturbed runs there")
    asked = parser.parse_args()
    among = tuple(asked.providers.split(",")) if asked.providers else ()
    if not set(among) <= set(MODELS):
        parser.error(f"--providers: found '{asked.providers}', wanted some of {', '.join(MODELS)}")
    road = Road(among=among, rounds=asked.rounds, in_database=asked.database is not None)
    if road.in_database:
        postgres_server.start()
    if asked.only is not None:
        warm_up()
        calm = CalmEmulators()
        if asked.keep is not None:
            asked.keep.mkdir(parents=True, exist_ok=True)
        outcome = soak(asked.only, calm, asked.keep, road)
        calm.close()
        schedules = {"foreign": foreign_schedule, "adopted": adopted_schedule, "hostile": hostile_schedule}
        ours = schedule(asked.only, among, rounds=asked.rounds)
        drawn = schedules[outcome.kind](asked.only) if outcome.kind in schedules else ours
        print(msgspec.json.format(msgspec.json.encode(drawn), indent=1).decode())
        for line in outcome.story:
            print(f"| {line}")
        print("\n".join(outcome.problems) or "all promises kept")
        return 1 if outcome.problems else 0
    totals = soak_all(range(asked.seed, asked.seed + asked.runs), asked.jobs, road)
    print(_summary(totals))
    return 1 if totals["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
