"""Do the rankings that a run publishes keep what they promise? Known abilities, simulated judges, the run's own tables.

    make simulate                               every design, 200 studies each
    python bench/rank_coverage.py --studies 50 --only adaptive

Each study goes through the task itself: it makes the pairs (in rounds, where it chooses them by the verdicts), a
simulated judge answers, the task reads the answers, and `rankings.parquet` is written as at the end of a run. Counted:
how often the 95% interval of an ability holds the truth, in how many studies any rank interval misses it, and in how
many the reliability is above .3, which no coin's may be.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

# Studies are simulated side by side: threads inside each would only get into one another's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import polars as pl

from overnight.core.ask import Arm, Ask, Item, Model
from overnight.core.result import Result
from overnight.core.stage import Stage
from overnight.core.task import Thread
from overnight.core.template import Template
from overnight.tasks._pairs.pairing import PairPlan
from overnight.tasks._pairs.questions import Compare, kind_of
from overnight.tasks._pairs.tables import make_pair_tables

_STAGE = "compare"


class Design(NamedTuple):
    """How a study asks, and what its judges are like.

    `sameness` is how often a judge who is asked about a pair again repeats itself; `place` the log-odds of being shown
    first; `spread` the standard deviation of the true abilities: 0 is a judge who flips coins.
    """

    name: str
    items: int = 20
    per_item: int = 12
    reverse: float = 0.0
    replicates: int = 1
    templates: int = 1
    judges: int = 1
    sameness: float = 0.0
    place: float = 0.0
    spread: float = 1.0
    adaptive: bool = False
    # On so many subjects are all pairs compared, each time anew; 0: on one.
    subjects: int = 0

    @property
    def plan(self) -> PairPlan:
        if self.subjects:
            return PairPlan(reverse=self.reverse)
        n = self.items * self.per_item // 2
        return PairPlan(select="adaptive" if self.adaptive else "sample", n=n, reverse=self.reverse)


DESIGNS = (
    Design("one order"),
    Design("one order, 40 items", items=40, per_item=20),
    Design("both orders", reverse=1.0, sameness=0.7),
    Design("both orders, a judge sure of itself", reverse=1.0, sameness=1.0),
    Design("both orders, 3 replicates", reverse=1.0, replicates=3, sameness=0.7),
    Design("3 replicates by chance alone", replicates=3),
    Design("5 identical templates", templates=5, sameness=1.0),
    Design("3 judges", judges=3, sameness=0.5),
    Design("a judge that favours the first", place=0.8),
    Design("both orders, one that favours the first", reverse=1.0, sameness=0.7, place=0.8),
    Design("adaptive", items=40, per_item=12, adaptive=True),
    Design("adaptive, 20 per item", items=100, per_item=20, adaptive=True),
    Design("adaptive, both orders, 2 replicates", per_item=12, adaptive=True, reverse=1.0, replicates=2, sameness=0.7),
    Design("6 candidates on 15 subjects, 2 judges", items=6, subjects=15, judges=2, reverse=1.0, sameness=0.7),
    Design("6 candidates on 60 subjects, 2 judges", items=6, subjects=60, judges=2, reverse=1.0, sameness=0.7),
    Design("a coin", spread=0.0),
    Design("a coin, both orders, 3 replicates", spread=0.0, reverse=1.0, replicates=3, sameness=0.7),
    Design("a coin that repeats itself, 6 items", items=6, per_item=5, spread=0.0, reverse=1.0, sameness=1.0),
    Design("a coin that repeats itself, 8 items", items=8, per_item=7, spread=0.0, reverse=1.0, sameness=1.0),
    Design("a coin that repeats itself, 10 items", items=10, per_item=9, spread=0.0, reverse=1.0, sameness=1.0),
    Design("a coin, adaptive, 8 items, sure of itself", items=8, per_item=8, spread=0.0, adaptive=True, reverse=1.0,
           sameness=1.0),
    Design("a coin, adaptive", items=40, per_item=12, spread=0.0, adaptive=True),
    Design("a coin, adaptive, 20 per item", items=100, per_item=20, spread=0.0, adaptive=True),
)  # fmt: skip


class Seen(NamedTuple):
    """Of one study: abilities within their intervals, whether all ranks are, and how much it claims to know."""

    held: float
    all_ranks_hold: bool
    claims: int
    reliability: float


def study(design: Design, seed: int, folder: Path) -> Seen:
    draw = random.Random(f"{design.name} {seed}")
    ids = [f"S{number:03d}" for number in range(design.items)]
    drawn = [draw.gauss(0, design.spread) for _ in ids]
    centre = sum(drawn) / len(drawn)
    truth = {name: ability - centre for name, ability in zip(ids, drawn, strict=True)}
    arms = _arms(design)
    task = _task(design, arms, seed)
    if design.subjects:
        rows = [
            row | {"subject": f"{number}"}
            for number in range(design.subjects)
            for row in _asked(task, ids, _judge(design, truth, draw), design)
        ]
    else:
        rows = list(_asked(task, ids, _judge(design, truth, draw), design))
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / "results.parquet")
    stage = Stage(name=_STAGE, task=task, arms=tuple(arms))
    made = make_pair_tables(folder / "results.parquet", [stage])
    # The first of them is over all verdicts.
    ranking = next(frame for name, frame in made if name == "rankings").collect()
    return _seen(ranking, truth)


def _seen(ranking: pl.DataFrame, truth: dict[str, float]) -> Seen:
    best_first = sorted(truth.values(), reverse=True)
    held, ranks_hold, claims = 0, True, 0
    for row in ranking.iter_rows(named=True):
        ability = truth[row["ID"]]
        held += row["theta_lwr"] <= ability <= row["theta_upr"]
        # Equal abilities share all their places: any claim to know one of them is false.
        first = 1 + sum(other > ability + 1e-12 for other in best_first)
        last = sum(other >= ability - 1e-12 for other in best_first)
        claims += row["rank_lwr"] > 1 or row["rank_upr"] < len(truth)
        ranks_hold &= row["rank_lwr"] <= first and row["rank_upr"] >= last
    return Seen(held / len(truth), ranks_hold, claims, ranking["reliability"][0])


def _arms(design: Design) -> list[Arm]:
    return [
        Arm(stage=_STAGE, name=f"t{template}-j{judge}-{way}", template=f"t{template}", direction=way,
            model=Model(provider="simulated", name=f"j{judge}"))
        for template in range(design.templates) for judge in range(design.judges)
        for way in ("forward", "reverse")[: 2 if design.reverse else 1]
    ]  # fmt: skip


def _task(design: Design, arms: list[Arm], seed: int) -> Compare:
    templates = {f"t{number}": Template("{SAMPLE_1} or {SAMPLE_2}", f"t{number}") for number in range(design.templates)}
    plan = PairPlan(**{name: getattr(design.plan, name) for name in design.plan.__struct_fields__} | {"seed": seed})
    return kind_of(plan)(arms, templates=templates, pairs=plan, replicates=design.replicates)


def _judge(design: Design, truth: dict[str, float], draw: random.Random) -> Callable[[str, str], bool]:
    """Whether the first wins. The same luck is used again for the same two things, as often as the judge is steady."""
    luck: dict[frozenset[str], float] = {}

    def first_wins(first: str, second: str) -> bool:
        low, high = sorted((first, second))
        kept = luck.setdefault(frozenset((low, high)), draw.random())
        chance = kept if draw.random() < design.sameness else draw.random()
        lead = truth[low] - truth[high] + (design.place if first == low else -design.place)
        return (chance < 1 / (1 + exp(-lead))) == (first == low)

    return first_wins


def _asked(task: Any, ids: list[str], judge: Callable[[str, str], bool], design: Design) -> Iterator[dict[str, Any]]:
    items = [Item(name, {"text": name}) for name in ids]
    known: list[dict[str, Any]] = []
    for number in range(design.plan.rounds + 20 if design.adaptive else 1):
        asks = list(task.next_round(number, items, known, number) if design.adaptive else task.start(items, 0))
        if not asks:
            return
        fresh = [row for ask in asks for row in _answered(task, ask, judge)]
        known += fresh
        yield from fresh


def _answered(task: Any, ask: Ask, judge: Callable[[str, str], bool]) -> Iterator[dict[str, Any]]:
    item = Item(ask.item, {})
    (blank,) = task.read(Thread(arm=ask.arm, item=item, replicate=ask.replicate, turns=(_said("SAMPLE_1"),)))
    word = "SAMPLE_1" if judge(blank["first_id"], blank["second_id"]) else "SAMPLE_2"
    common = {
        "stage": _STAGE, "arm": ask.arm.name, "item_id": ask.item, "replicate": ask.replicate,
        "provider": ask.arm.model.provider, "model": ask.arm.model.name,
    }  # fmt: skip
    for own in task.read(Thread(arm=ask.arm, item=item, replicate=ask.replicate, turns=(_said(word),))):
        yield common | own


def _said(word: str) -> Result:
    return Result(outcome="answered", answer=f"<BETTER_SAMPLE>{word}</BETTER_SAMPLE>")


def _part(design: Design, seeds: range) -> list[Seen]:
    with tempfile.TemporaryDirectory() as folder:
        return [study(design, seed, Path(folder)) for seed in seeds]


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of the rankings that runs publish.")
    parser.add_argument("--studies", type=int, default=200, help="how many of each design")
    parser.add_argument("--only", default="", help="designs whose name holds this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    print(f"{'design':42s}  abilities held  studies with a wrong rank  ranks claimed  reliability (most, above .3)")
    with ProcessPoolExecutor(given.jobs) as pool:
        for design in (one for one in DESIGNS if given.only in one.name):
            cuts = [given.studies * at // given.jobs for at in range(given.jobs + 1)]
            parts = [range(begin, end) for begin, end in pairwise(cuts)]
            seen = [one for part in pool.map(_part, [design] * len(parts), parts) for one in part]
            wrong = sum(not one.all_ranks_hold for one in seen)
            held = sum(one.held for one in seen) / len(seen)
            claims = sum(one.claims for one in seen) / len(seen)
            found = [one.reliability for one in seen if one.reliability == one.reliability]
            print(
                f"{design.name:42s}  {held:14.3f}  {wrong:14d} of {len(seen):<8d}  {claims:13.1f}  "
                f"{sum(found) / len(found):.2f} ({max(found):.2f}, {sum(one > 0.3 for one in found)})",
                flush=True,
            )


if __name__ == "__main__":
    main()
