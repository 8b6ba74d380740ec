"""The tables of written inputs: those that are kept, what was lost and why, and what each round brought."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import RenderableType

from overnight.core.ask import Arm
from overnight.core.stage import Stage
from overnight.core.wording import number_of
from overnight.tasks._inputs.history import NOT_NEEDED, REASONS, Lost, Story, Written
from overnight.tasks._inputs.questions import Inputs
from overnight.terminal.columns import columns

INPUTS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "statement_id": pl.String,
    "input_index": pl.Int64,
    "input": pl.String,
    "category": pl.String,
    "scenario": pl.String,
    "round": pl.Int64,
    "writer": pl.String,
    # The judges' mean grade, 1 to 5; from 0 to 1, how hard that is; and by how many readable ratings.
    "rating": pl.Float64,
    "difficulty": pl.Float64,
    "ratings": pl.Int64,
    "address": pl.String,
}
LOSSES: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "statement_id": pl.String,
    "round": pl.Int64,
    "writer": pl.String,
    # `scenarios` and `inputs` are whole lists, `scenario` and `input` one entry.
    "what": pl.String,
    "why": pl.String,
    "text": pl.String,
    "rating": pl.Float64,
    "difficulty": pl.Float64,
    # What it repeats, and how alike the two are.
    "near": pl.String,
    "likeness": pl.Float64,
    "address": pl.String,
}
ROUNDS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "round": pl.Int64,
    **dict.fromkeys(("statements", "scenarios", "written", "dropped", "rated", "usable"), pl.Int64),
    # Of the inputs of the round that can be used; and of those that are kept in the end.
    "difficulty": pl.Float64,
    "kept": pl.Int64,
    "kept_difficulty": pl.Float64,
    # Of all answers of the round, in US dollars; nothing where one of them has no price.
    "cost": pl.Float64,
}


def make_input_tables(results: Path, stages: Sequence[Stage]) -> Iterator[tuple[str, pl.LazyFrame]]:
    for stage in stages:
        assert isinstance(stage.task, Inputs)
        rows = pl.scan_parquet(results, glob=False).filter(pl.col("stage") == stage.name)
        found = rows.select("arm", "item_id", "status", "answer", "cost", "search_round").collect()
        told = stage.task.stories(found.iter_rows(named=True))
        if not told:
            continue
        yield "inputs", _frame(_kept_rows(stage, told), INPUTS)
        yield "input_losses", _frame(_lost_rows(stage, told), LOSSES)
        yield "input_rounds", _frame(_round_rows(stage, told, found), ROUNDS)


def _frame(rows: Iterator[dict[str, Any]], schema: Mapping[str, type[pl.DataType]]) -> pl.LazyFrame:
    return pl.DataFrame(list(rows), schema=schema, orient="row").lazy()


def _task(stage: Stage) -> Inputs:
    assert isinstance(stage.task, Inputs)
    return stage.task


def _name(arms: Sequence[Arm], number: int) -> str:
    return arms[number].model.full_name if number < len(arms) else str(number)


def _kept_rows(stage: Stage, told: Mapping[str, Story]) -> Iterator[dict[str, Any]]:
    task = _task(stage)
    for statement, story in told.items():
        for index, one in enumerate(story.kept(task.rules)):
            yield {
                "stage": stage.name,
                "statement_id": statement,
                "input_index": index,
                "input": one.text,
                "category": one.scenario.idea.category,
                "scenario": one.scenario.idea.text,
                "round": one.place.round + 1,
                "writer": _name(task.writers, one.place.writer),
                "rating": one.grade,
                "difficulty": one.difficulty,
                "ratings": len(one.ratings),
                "address": str(one.place),
            }


def _lost_rows(stage: Stage, told: Mapping[str, Story]) -> Iterator[dict[str, Any]]:
    """All that was written and is not kept, each with one reason."""
    task = _task(stage)
    for statement, story in told.items():
        kept = {one.place for one in story.kept(task.rules)}
        left = [
            (one.place, one, one.why_not(task.rules) or NOT_NEEDED) for one in story.inputs if one.place not in kept
        ]
        both: list[tuple[Any, Lost | Written, str]] = [(one.place, one, one.why) for one in story.lost]
        for place, one, why in sorted([*both, *left], key=lambda row: (row[0].order, str(row[0]))):
            row = {
                "stage": stage.name,
                "statement_id": statement,
                "round": place.round + 1,
                "writer": _name(task.writers, place.writer),
                "what": one.what if isinstance(one, Lost) else "input",
                "why": why,
                "text": one.text,
                "address": str(place),
            }
            if isinstance(one, Written):
                row |= {"rating": one.grade, "difficulty": one.difficulty}
            elif one.near is not None:
                row |= {"near": one.near.name, "likeness": one.near.likeness}
            yield row


def _round_rows(stage: Stage, told: Mapping[str, Story], rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    task = _task(stage)
    kept = [one for story in told.values() for one in story.kept(task.rules)]
    for number in rows["search_round"].drop_nulls().unique().sort():
        part = rows.filter(pl.col("search_round") == number)
        inputs = [one for story in told.values() for one in story.inputs if one.place.round == number - 1]
        lost = [one for story in told.values() for one in story.lost if one.place.round == number - 1]
        chosen = [one for one in kept if one.place.round == number - 1]
        usable = [one for one in inputs if one.ratings and one.usable]
        billed = part.filter((pl.col("status") != "failed") | pl.col("cost").is_not_null())["cost"]
        yield {
            "stage": stage.name,
            "round": number,
            "statements": len(
                {place.statement for place in (*(one.place for one in inputs), *(one.place for one in lost))}
            ),
            "scenarios": sum(one.key.born == number - 1 for story in told.values() for one in story.scenarios),
            "written": len(inputs) + sum(one.what == "input" for one in lost),
            "dropped": sum(one.what == "input" for one in lost),
            "rated": sum(bool(one.ratings) for one in inputs),
            "usable": len(usable),
            "difficulty": _mean([one.difficulty for one in usable]),
            "kept": len(chosen),
            "kept_difficulty": _mean([one.difficulty for one in chosen]),
            "cost": None if billed.null_count() or billed.is_empty() else sum(sorted(billed.to_list())),
        }


def _mean(values: Sequence[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return sum(known) / len(known) if known else None


def losses_text(losses: pl.DataFrame) -> str:
    """`12 near-duplicates` and so on, in the order in which things can go wrong."""
    counted = Counter(zip(losses["what"], losses["why"], strict=True))
    order = sorted(counted, key=lambda key: (REASONS.index(key[1]), key[0]))
    return ", ".join(f"{number_of(counted[what, why], what)} {why}" for what, why in order)


def input_summary(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator[RenderableType]:
    """What is shown when a run has ended."""
    path = tables / "input_rounds.parquet"
    if not path.exists():
        return
    kept, losses, rounds = (
        pl.read_parquet(tables / f"{name}.parquet", glob=False) for name in ("inputs", "input_losses", "input_rounds")
    )
    for (stage,), part in rounds.group_by("stage", maintain_order=True):
        yield ""
        if rounds["stage"].n_unique() > 1:
            yield f"{stage}:"
        numbers = ("round", "written", "dropped", "usable", "difficulty", "kept")
        table = columns(*numbers, numbers=numbers)
        for row in part.iter_rows(named=True):
            table.add_row(*(_cell(row[name]) for name in numbers))
        yield table
        own = kept.filter(pl.col("stage") == stage)
        statements = own["statement_id"].n_unique()
        yield f"{number_of(own.height, 'input')} kept, for {number_of(statements, 'statement')}"
        lost = losses.filter(pl.col("stage") == stage)
        if lost.height:
            yield f"left out: {losses_text(lost)}"
    yield f"as a table: {typed(f'overnight results {run} --table inputs -o inputs.csv')}"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) else f"{value:,}"
