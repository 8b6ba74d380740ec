"""A soaked folder of somebody else's making: batches that R sent, rows that fail, a resume that is killed now and then.

Whatever happens, every pair ends in exactly one table, a winner is the right one, and nothing is asked again.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
from soaked_run import Child, surroundings

from emulator_process import EmulatorProcess

_RESUMES = 6
_TIME_SCALE = 20_000


class ForeignSchedule(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    provider: str
    samples: int
    parts: int
    faults: list[dict[str, Any]]
    kills: list[float | None]


def foreign_schedule(seed: int) -> ForeignSchedule:
    draw = random.Random(f"foreign {seed}")
    faults = [draw_fault(draw) for _ in range(draw.choice((1, 1, 2, 3)))]
    return ForeignSchedule(
        seed=seed,
        provider=draw.choice(("openai", "anthropic")),
        samples=draw.choice((3, 5, 8)),
        parts=draw.choice((1, 2, 3)),
        faults=faults,
        kills=[
            round(draw.uniform(0.0, 0.8), 3) if draw.random() < 0.5 else None for _ in range(draw.choice((0, 1, 2)))
        ],
    )


def draw_fault(draw: random.Random) -> dict[str, Any]:
    """What goes wrong with a batch that somebody else has sent."""
    share = round(draw.random(), 2)
    choices: list[dict[str, Any]] = [
        {"on": "row", "do": "error", "status": draw.choice((400, 429, 500))},
        {"on": "row", "do": "omit"},
        {"on": "row", "do": "empty_body"},
        {"on": "row", "do": "duplicate"},
        {"on": "batch", "do": "expire", "share": share, "silent": draw.random() < 0.3, "seconds": 1_200},
        {"on": "batch", "do": "cancel"},
        {"on": "content", "do": "cut", "at": share, "quiet": draw.random() < 0.5},
        {"on": "retrieve", "do": "status", "status": draw.choice((429, 500, 503))},
    ]
    return {**draw.choice(choices), "times": draw.randint(1, 4), "skip": draw.choice((0, 0, 1, 3))}


def soak_foreign(plan: ForeignSchedule, scratch: Path) -> tuple[list[str], list[str], int]:
    """(what is wrong, the story, how many faults fired)."""
    story: list[str] = []
    folder = scratch / "r"
    base = {"time_scale": _TIME_SCALE, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7}
    qualities = {f"A text of quality {number:02d}.": 20.0 * number for number in range(plan.samples)}
    truth = {**base, "qualities": qualities, "judge": {"noise": 0.1}, "faults": plan.faults}
    with EmulatorProcess(truth) as emulator:
        # Polars starts threads, and a process with threads must not fork: the folder is made in a process of its own.
        made = Child(lambda: _made(plan, emulator, folder)).wait()
        if made is None:
            return ["the folder could not be made"], story, 0
        found = _resumed(plan, emulator, folder, made["pairs"], story)
        log = emulator.log(calls=False)
        if len(log["batches"]) != made["batches"]:
            found.append(f"{len(log['batches'])} batches are at the provider; R had sent {made['batches']}")
        judged = Child(lambda: _billed(folder, log)).wait()
        found += ["the checks themselves failed"] if judged is None else judged
        return found, story, sum(log["faults_fired"].values())


def _made(plan: ForeignSchedule, emulator: EmulatorProcess, folder: Path) -> dict[str, Any]:
    from pairwise.r_folder import pairs_of_samples, sent_by_r, write_folder

    pairs = pairs_of_samples(plan.samples)
    size = -(-pairs.height // plan.parts)
    parts = [pairs[begin : begin + size] for begin in range(0, pairs.height, size)]
    one: Any = SimpleNamespace(emulator=emulator, folder=folder)
    ids = [sent_by_r(one, plan.provider, part) for part in parts]
    write_folder(folder, plan.provider, ids, parts)
    wanted = [f"{first}:{second}" for first, second in pairs.select("ID1", "ID2").iter_rows()]
    return {"pairs": wanted, "batches": len(ids)}


def _resumed(
    plan: ForeignSchedule, emulator: EmulatorProcess, folder: Path, wanted: list[str], story: list[str]
) -> list[str]:
    for number in range(len(plan.kills) + _RESUMES):
        kill = plan.kills[number] if number < len(plan.kills) else None
        moments: list[tuple[float, Callable[[int], None]]] = []
        if kill is not None:
            moments.append((kill, lambda child: os.kill(child, signal.SIGKILL)))
        begun = time.monotonic()
        told = Child(lambda: _collected(emulator, folder)).wait(moments)
        story.append(f"resume, {time.monotonic() - begun:.1f} s: {'killed' if told is None else str(told)[:300]}")
        if told is None:
            continue
        if "crash" in told:
            return [f"crash: {told['crash']}"]
        if "error" not in told and not told["open"]:
            return _judged(told, wanted)
    return ["no end"]


def _collected(emulator: EmulatorProcess, folder: Path) -> dict[str, Any]:
    import traceback

    from overnight.core.errors import OvernightError
    from overnight.pairwise.multi_batch import llm_resume_multi_batches

    surroundings(emulator, _TIME_SCALE)
    try:
        got = llm_resume_multi_batches(output_dir=folder, interval_seconds=60)
    except OvernightError as error:
        return {"error": type(error).__name__, "message": str(error)}
    except BaseException:  # noqa: BLE001 - the process's edge: whatever it was is reported
        return {"crash": traceback.format_exc()}
    won = [] if got.combined is None else got.combined.select("ordered_key", "ID2", "better_id").rows()
    return {
        "won": [key for key, _, _ in won],
        "wrong": [key for key, later, winner in won if winner != later],
        "lost": got.failed_attempts["ordered_key"].to_list(),
        "open": [job.segment_index for job in got.jobs if not job.done],
    }


def _billed(folder: Path, log: dict[str, Any]) -> list[str]:
    from soak_checks import kept_bill

    return list(kept_bill([ledger.parent for ledger in folder.glob("*/ledger.db")], log))


def _judged(told: dict[str, Any], wanted: list[str]) -> list[str]:
    both = sorted([*told["won"], *told["lost"]])
    problems = [f"{key} has the wrong winner" for key in told["wrong"]]
    if both != sorted(wanted):
        problems.append(f"{len(wanted)} pairs: {len(told['won'])} have a winner, {len(told['lost'])} failed")
    return problems


__all__ = ["ForeignSchedule", "draw_fault", "foreign_schedule", "soak_foreign"]
