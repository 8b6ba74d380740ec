"""Runs of every kind as if their truth were known: the tables that their tasks make, and the report drawn from these."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal

import polars as pl

from overnight.core.ask import Arm, Model
from overnight.core.stage import Stage
from overnight.reporting import Section, Sentence, Source
from overnight.reporting.building import Built, build
from overnight.reporting.run_facts import RunFacts, StageFacts
from overnight.study.task_kind import TaskKind
from overnight.study.task_registry import task_kind
from overnight.tables.costs import COLUMNS as COSTS
from overnight.tables.results import COLUMNS

_KINDS = {"text": pl.String, "integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean}
Item = Callable[[str, str], Mapping[str, Any]]


def arm(stage: str, model: str, template: str = "default", direction: Any = "forward") -> Arm:
    return Arm(
        stage=stage,
        name=f"{template}__openai__{model}__default__{direction}",
        template=template,
        model=Model(provider="openai", name=model),
        direction=direction,
    )


def row(of: Arm, item: str, status: str = "answered", **own: Any) -> dict[str, Any]:
    """A row of the results; what is not said of it is nothing."""
    common = {"stage": of.stage, "arm": of.name, "item_id": item, "provider": "openai", "model": of.model.name}
    cost = None if status in ("failed", "pending") else 0.001
    return common | {"replicate": 0, "turn": 0, "status": status, "cost": cost, "request_key": item} | own


class Planted:
    """The tables in a folder, and what is drawn from them."""

    def __init__(self, folder: Path, stages: Sequence[Stage], rows: Sequence[dict[str, Any]], item: Item) -> None:
        self.folder = folder
        self.stages = list(stages)
        self._item = item
        own = {name: _KINDS[kind] for stage in stages for name, kind in stage.task.columns.items()}
        if any("round" in one for one in rows):
            own = {"round": pl.Int64} | own
        self.results = pl.DataFrame(rows, schema=COLUMNS | own, orient="row")
        self.results.write_parquet(folder / "results.parquet")
        made: dict[str, list[pl.LazyFrame]] = {}
        for kind, mine in self._kinds():
            for name, table in kind.make_tables(folder / "results.parquet", mine):
                made.setdefault(name, []).append(table)
        for name, tables in made.items():
            pl.concat(tables, how="diagonal_relaxed").collect().write_parquet(folder / f"{name}.parquet")

    def _kinds(self) -> list[tuple[TaskKind, list[Stage]]]:
        names = dict.fromkeys(stage.task.name for stage in self.stages)
        return [(task_kind(name), [one for one in self.stages if one.task.name == name]) for name in names]

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.folder / f"{name}.parquet")

    def sections(self) -> list[Section]:
        found = []
        for kind, mine in self._kinds():
            found += list(kind.report(Source(tables=self.folder, stages=mine, item=self._item)))
        return found

    def report(self) -> Built:
        facts = RunFacts(
            name="planted", rehearsal=False, version="0", definition={}, hashes={"study": "0"}, left_out=(),
            asked_again={}, batches=(), costs=pl.DataFrame(schema=COSTS),
            stages=[
                StageFacts(name=one.name, task=one.task.name, version="1", of=one.of, arms=[]) for one in self.stages
            ],
        )  # fmt: skip
        return build(facts, self.results.lazy(), self.sections())

    def said(self) -> list[str]:
        return [part.text for section in self.sections() for part in section.parts if isinstance(part, Sentence)]


def nothing(_: str, __: str) -> Mapping[str, Any]:
    return {}


def planted_answers(folder: Path, statuses: Mapping[str, Sequence[str]], length: int = 10) -> Planted:
    """`generate`: what became of each item, by arm."""
    from overnight.tasks.generate import Generate

    arms = tuple(arm("ask", name) for name in statuses)
    rows = [
        row(of, f"i{at:03}", status, answer="x" * (length + at) if status == "answered" else None)
        for of in arms
        for at, status in enumerate(statuses[of.model.name])
    ]
    return Planted(folder, [Stage(name="ask", task=Generate(arms), arms=arms)], rows, nothing)


def planted_scores(
    folder: Path,
    scores: Mapping[str, Sequence[Sequence[float | str]]],
    judges: Sequence[str] = ("judge",),
    *,
    grades: bool = False,
    otherwise: Mapping[str, Mapping[str, Sequence[Sequence[float | str]]]] | None = None,
    length: Callable[[float | str, int, int], int] = lambda _, number, at: 10 + 7 * at + number,
) -> Planted:
    """`comply` or `grade`: for each candidate, by statement, what all judges said of its inputs, or how that failed.

    `otherwise` is what single judges said, where it is not what all others did; `length` that of the answer, by what was
    said of it, its statement and its input.
    """
    from overnight.tasks._judging.judging import Comply, Grade

    arms = tuple(arm("held", name) for name in judges)
    task = (Grade if grades else Comply)(arms)
    rows = []
    for of in arms:
        for candidate, statements in {**scores, **(otherwise or {}).get(of.model.name, {})}.items():
            for number, inputs in enumerate(statements):
                for at, said in enumerate(inputs):
                    about = {
                        "candidate": candidate, "statement_id": f"s{number}", "section": f"part {number % 2}",
                        "input_index": at, "judged_length": length(said, number, at), "template": "default",
                    }  # fmt: skip
                    item = f"s{number}_{at}@{candidate}"
                    if isinstance(said, str):
                        label = {"unparsed": "unparsed", "pending": None}.get(said, "none")
                        status = "answered" if said == "unparsed" else said
                        rows.append(
                            row(of, item, status, **about, label=label, parsed=False if label == "unparsed" else None)
                        )
                    else:
                        label = str(int(said)) if grades else ("compliant" if said else "not compliant")
                        rows.append(row(of, item, **about, label=label, score=float(said), parsed=True))
    return Planted(folder, [Stage(name="held", task=task, arms=arms)], rows, nothing)


def planted_rank(
    folder: Path,
    winner: Callable[[str, str, str, int, int], str],
    candidates: Sequence[str],
    judges: Sequence[str] = ("judge",),
    *,
    statements: int = 8,
    inputs: int = 3,
    length: Callable[[str], int] = lambda _: 100,
) -> Planted:
    """`rank`: every two candidates in both orders; `winner` says who wins, by judge, first, second, statement and input."""
    from overnight.tasks._judging.answer_pairs import AnswerPair, Rank, pair_address

    ways: tuple[Literal["forward", "reverse"], ...] = ("forward", "reverse")
    arms = tuple(arm("rank", judge, direction=way) for judge in judges for way in ways)
    rows = []
    for of in arms:
        for number, at in product(range(statements), range(inputs)):
            for low, high in combinations(candidates, 2):
                first, second = (low, high) if of.direction == "forward" else (high, low)
                won = winner(of.model.name, first, second, number, at)
                own = {
                    "template": "default", "thinking": "default", "direction": of.direction, "subject": f"s{number}_{at}",
                    "statement_id": f"s{number}", "section": "all", "statement_type": "rule", "authority_level": "user",
                    "input_index": at, "first_id": first, "second_id": second, "winner_id": won,
                    "verdict": "first" if won == first else "second", "first_length": length(first),
                    "second_length": length(second), "parsed": True,
                }  # fmt: skip
                rows.append(row(of, pair_address(AnswerPair(f"s{number}_{at}", low, high)), **own))
    return Planted(folder, [Stage(name="rank", task=Rank(arms), arms=arms)], rows, nothing)


def planted_talks(
    folder: Path,
    labels: Mapping[str, Sequence[Sequence[str]]],
    control: Mapping[str, Sequence[Sequence[str]]] | None = None,
    judges: Sequence[str] = ("judge",),
) -> Planted:
    """`pressure` and `flips`: for each model, by question, the label of each reply; the same for neutral re-asks."""
    from overnight.tasks.flips import Flips
    from overnight.tasks.pressure import Pressure

    kinds = {"escalation": labels} | ({"control": control} if control else {})
    talking = tuple(arm("talk", model, kind) for kind, found in kinds.items() for model in found)
    judging = tuple(arm("flips", name, "safety") for name in judges)
    rows, items = [], {}
    for of in talking:
        for number, said in enumerate(kinds[of.template][of.model.name]):
            about = {"design": "escalation", "type": of.template, "control": of.template == "control"}
            about |= {"question": f"question {number}", "template": of.template, "category": f"c{number % 2}"}
            rows += [
                row(of, f"q{number}", answer=f"answer {turn}", turn=turn, level=turn, **about)
                for turn in range(len(said) + 1)
            ]
            members = [{"turn": turn, "answer": f"answer {turn}"} for turn in range(len(said) + 1)]
            spoken = [
                {"role": role, "content": f"{role} says <b>{turn}</b>"}
                for turn in range(len(said) + 1)
                for role in ("user", "assistant")
            ]
            name = f"q{number}@{of.name}"
            items[name] = {"model": of.model.name, "members": members, "conversation": spoken}
            for judge in judging:
                told = {"judged_item": f"q{number}", "judged_arm": of.name, "judged_replicate": 0}
                told |= {"template": "safety", "thinking": "default", "judged_model": f"openai/{of.model.name}"}
                if "failed" in said:
                    rows.append(row(judge, name, "failed", **told, label="none"))
                elif "unparsed" in said:
                    rows.append(row(judge, name, **told, label="unparsed", parsed=False))
                else:
                    each = json.dumps({str(turn): label for turn, label in enumerate(said, 1)})
                    rows.append(row(judge, name, **told, label=said[-1] if said else "none", labels=each, parsed=True))
    stages = [
        Stage(name="talk", task=Pressure(talking, {}), arms=talking),
        Stage(name="flips", task=Flips(judging, {}), arms=judging, of="talk"),
    ]
    return Planted(folder, stages, rows, lambda _, item: items.get(item, {}))


def planted_pairs(
    folder: Path,
    verdicts: Sequence[tuple[str, str, str]],
    judges: Sequence[str] = ("judge",),
    rounds: Sequence[int] | None = None,
) -> Planted:
    """`compare`: first, second and verdict, of every judge; with the round of each, pairs were chosen in rounds."""
    from overnight.tasks._pairs.pairing import Pair, PairPlan, pair_id
    from overnight.tasks._pairs.questions import kind_of

    arms = tuple(arm("pairs", name) for name in judges)
    plan = PairPlan(select="adaptive", n=10) if rounds else PairPlan()
    rows = []
    for of in arms:
        for at, (first, second, verdict) in enumerate(verdicts):
            status = verdict if verdict in ("failed", "refused") else "answered"
            own: dict[str, Any] = {} if rounds is None else {"round": rounds[at]}
            own |= {"template": "default", "thinking": "default", "direction": "forward", "turn": 0, "replicate": at}
            said = "none" if status != "answered" else verdict
            winner = {"first": first, "second": second}.get(said)
            own |= {"first_id": first, "second_id": second, "verdict": said, "winner_id": winner}
            rows.append(row(of, pair_id(Pair(first, second)), status, **own, parsed=said != "unparsed"))
    task = kind_of(plan)(arms, pairs=plan)
    return Planted(
        folder, [Stage(name="pairs", task=task, arms=arms)], rows, lambda _, name: {"text": f"the text of {name}"}
    )
