"""Do the rates of giving in that a run publishes hold what was planted? Known odds, simulated models and judges.

    python bench/flip_coverage.py               every design, 200 studies each
    python bench/flip_coverage.py --studies 50 --only types

Each study goes through the tasks themselves: `pressure` asks, simulated models hold out or give in, `pressure` goes on
with their answers, `flips` asks judges about the whole conversations, and the tables are made as at the end of a run.
Counted: how often a 95% interval holds the planted rate, and the planted difference from the control, by model, level
and type.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from overnight.core.ask import Arm, Ask, Item, Model, Options
from overnight.core.handed_on import group_item, handed_on, turns_of
from overnight.core.result import Result
from overnight.core.task import Thread
from overnight.tasks._flips.labels import schema
from overnight.tasks._flips.tables import flip_tables
from overnight.tasks._pressure.texts import CONTROL, phrases
from overnight.tasks.flips import Flips
from overnight.tasks.pressure import Pressure

HELD, GAVE_IN = "I stand by it.", "You are right, I take it back."
# The log-odds of giving in, by model and by what is said: a level, or a type.
PLANTED = {
    "firm": {"1": -4.0, "2": -3.0, "3": -2.0, "dismissal": -3.5, "flattery": -2.5, CONTROL: -4.5},
    "weak": {"1": -1.5, "2": -0.5, "3": 0.5, "dismissal": -1.0, "flattery": 0.0, CONTROL: -2.5},
}


class Design(NamedTuple):
    """`spread`: how far questions differ, as a standard deviation of log-odds."""

    name: str
    design: str
    questions: int = 100
    replicates: int = 1
    spread: float = 0.0
    types: tuple[str, ...] = ()


DESIGNS = (
    Design("escalation", "escalation"),
    Design("escalation, 30 questions", "escalation", questions=30),
    Design("escalation, 3 replicates, questions that differ", "escalation", replicates=3, spread=1.5),
    Design("types", "types", types=("dismissal", "flattery")),
    Design(
        "types, 3 replicates, questions that differ", "types", replicates=3, spread=1.5, types=("dismissal", "flattery")
    ),
)


def chance(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def planted(design: Design) -> dict[tuple[str, str, str], tuple[float, float]]:
    """By model and part of the table: the rate, and the difference from the control."""
    draw = random.Random(0)
    shifts = [draw.gauss(0, design.spread) for _ in range(20_000)] if design.spread else [0.0]
    found = {}
    for model, odds in PLANTED.items():
        control = sum(chance(odds[CONTROL] + shift) for shift in shifts) / len(shifts)
        by, names = ("level", ("1", "2", "3")) if design.design == "escalation" else ("type", design.types)
        for name in names:
            mean = sum(chance(odds[name] + shift) for shift in shifts) / len(shifts)
            found[model, by, name] = (mean, mean - control)
    return found


class Simulation:
    """One study: the tasks, and models that give in by chance."""

    def __init__(self, design: Design, seed: int) -> None:
        self.draw = random.Random(f"{design.name} {seed}")
        said = phrases(design.design, "safety", None, design.types or None, True)  # type: ignore[arg-type]
        arms = [
            Arm(stage="talk", name=f"{name}-{model}", template=name, model=Model(provider="x", name=model))
            for name in said.names
            for model in PLANTED
        ]
        options = Options(json_schema=schema(confidence=False))
        judge = Arm(stage="flips", name="j", template="t", model=Model(provider="x", name="judge", options=options))
        self.talk = Pressure(arms, {"phrases": msgspec.to_builtins(said), "replicates": design.replicates})
        self.flips = Flips([judge], {"templates": [{"name": "t", "text": "{CONVERSATION}"}]})
        self.judge = judge
        self.items = [Item(f"q{n:03d}", {"question": f"Is thing {n} safe?"}) for n in range(design.questions)]
        self.shifts = {item.id: self.draw.gauss(0, design.spread) for item in self.items}

    def rows(self) -> Iterator[dict[str, Any]]:
        by_id = {item.id: item for item in self.items}
        for first in self.talk.start(self.items, 0):
            thread, asked = self._talked(first, by_id[first.item])
            yield from self._rows(thread, self.talk.read(thread))
            parts = [handed_on(part, ask.messages) for part, ask in zip(turns_of(thread), asked, strict=True)]
            item = group_item(parts, "thread", 0, thread.item.fields)
            for _ in self.flips.start([item], 0):
                labels = ["explicit_flip" if turn.answer == GAVE_IN else "no_flip" for turn in thread.turns[1:]]
                said = msgspec.json.encode({"explanation": "", "labels": labels}).decode()
                verdict = Result(outcome="answered", answer=said)
                judged = Thread(arm=self.judge, item=item, replicate=0, turns=(verdict,))
                yield from self._rows(judged, self.flips.read(judged))

    def _talked(self, first: Ask, item: Item) -> tuple[Thread, list[Ask]]:
        thread = Thread(arm=first.arm, item=item, replicate=first.replicate, turns=(self._answer(first, 0),))
        asked = [first]
        while follow := self.talk.follow_up(thread):
            asked.append(follow[0])
            answer = self._answer(first, len(thread.turns))
            thread = msgspec.structs.replace(thread, turns=(*thread.turns, answer))
        return thread, asked

    def _answer(self, ask: Ask, turn: int) -> Result:
        odds = PLANTED[ask.arm.model.name]
        pressed = ask.arm.template if ask.arm.template != "escalation" else str(turn)
        gives_in = turn > 0 and self.draw.random() < chance(odds[pressed] + self.shifts[ask.item])
        return Result(outcome="answered", answer=GAVE_IN if gives_in else HELD)

    def _rows(self, thread: Thread, own: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for turn, (row, result) in enumerate(zip(own, thread.turns, strict=True)):
            arm = thread.arm
            yield {
                "stage": arm.stage, "arm": arm.name, "item_id": thread.item.id, "replicate": thread.replicate,
                "turn": turn, "provider": "x", "model": arm.model.name, "status": "answered",
                "answer": result.answer, **row,
            }  # fmt: skip


class Held(NamedTuple):
    """Of one study: which intervals hold what was planted."""

    rates: list[bool]
    differences: list[bool]


def study(design: Design, seed: int) -> Held:
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.parquet"
        rows = list(Simulation(design, seed).rows())
        names = dict.fromkeys(name for row in rows for name in row)
        whole = [{name: row.get(name) for name in names} for row in rows]
        pl.DataFrame(whole, infer_schema_length=None).write_parquet(results)
        tables = dict(flip_tables(results, {"flips": "talk"}))
    rates = tables["flip_rates"].filter(pl.col("judge") == "x/judge").collect()
    held = Held([], [])
    for (model, by, value), (rate, difference) in planted(design).items():
        (row,) = rates.filter(by=by, value=value, model=f"x/{model}").to_dicts()
        held.rates.append(row["rate_lwr"] <= rate <= row["rate_upr"])
        held.differences.append(row["difference_lwr"] <= difference <= row["difference_upr"])
    return held


def _study(given: tuple[int, int]) -> Held:
    return study(DESIGNS[given[0]], given[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--only", default="", help="designs whose names contain this")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    flags = parser.parse_args()
    print(f"{'design':50} {'cells':>5} {'rate':>6} {'least':>6} {'difference':>10} {'least':>6}")
    with ProcessPoolExecutor(flags.processes) as pool:
        for number, design in enumerate(DESIGNS):
            if flags.only in design.name:
                found = list(pool.map(_study, [(number, seed) for seed in range(flags.studies)], chunksize=5))
                print(f"{design.name:50} {len(found[0].rates):5} {_told(found, 0)} {_told(found, 1, 10)}", flush=True)


def _told(found: list[Held], part: int, width: int = 6) -> str:
    """Over all cells, and of the cell that is held least often."""
    cells = list(zip(*(held[part] for held in found), strict=True))
    shares = [sum(cell) / len(cell) for cell in cells]
    return f"{sum(shares) / len(shares):{width}.1%} {min(shares):6.1%}"


if __name__ == "__main__":
    main()
