"""Pairs that were chosen in rounds, for a run's report: how sure the order was after each, for how many dollars."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from overnight.core.wording import number_of
from overnight.reporting import Figure, Line, Lines, Part, Point, Section, Sentence, Table
from overnight.reporting.wording import known, money_text, number_text, percent_text

_ERRORS = ("mean_se", "width", "reliability", "split_half")
_SHOWN = ("round", "pairs", "verdicts", "cost", *_ERRORS, "could_be_best", "told_apart")
_FORMS: dict[str, Any] = {"cost": "dollars", **dict.fromkeys(_ERRORS, 2), "mean_se": 3, "told_apart": "percent"}


def round_sections(precision: pl.DataFrame | None, named: str, stage: str) -> Iterator[Section]:
    if precision is None or precision.is_empty():
        return
    rows = precision.sort("round").to_dicts()
    parts: list[Part] = [Sentence(precision_text(rows))]
    if rows[-1].get("stopped"):
        parts.append(Sentence(f"No further round was asked: {rows[-1]['stopped']}."))
    numbers = Table.of(precision.sort("round").select(_SHOWN), _FORMS)
    measures = [(name, name.replace("_", "-")) for name in ("pairs", "cost")]
    for column, name in measures:
        points = [
            Point(float(row[column]), row["mean_se"]) for row in rows if known(row[column]) and known(row["mean_se"])
        ]
        if len(points) < 2:
            continue
        money = column == "cost"
        parts.append(
            Figure(
                name=f"precision-by-{name}-{stage}",
                title=f"How sure was the order after so many {'dollars' if money else 'pairs'}?",
                caption="A dot for each round, after all of its verdicts: the mean standard error of the abilities, in "
                "log-odds. The lower it is, the more is known."
                + (" Dollars are those of the answers so far." if money else ""),
                drawing=Lines(
                    lines=[Line("mean standard error", points)],
                    x_axis="US dollars so far" if money else "pairs so far",
                    y_axis="mean standard error, log-odds",
                    joined=True,
                    dollars=money,
                ),
                numbers=numbers,
            )
        )
    if not any(isinstance(part, Figure) for part in parts):
        parts.append(numbers)
    yield Section(title=f"What each round added{named}", parts=parts)


def precision_text(rows: list[dict[str, Any]]) -> str:
    """Where it began and where it is, each with what it took; no word on what other pairs would have told."""
    first, last = rows[0], rows[-1]
    if len(rows) == 1:
        return f"There was one round: {_told(last)}."
    return f"After the first round: {_told(first)}. After round {len(rows):,}: {_told(last)}."


def _told(row: Mapping[str, Any]) -> str:
    spent = f" for {money_text(row['cost'])}" if known(row["cost"]) else ""
    parts = [f"{number_of(row['pairs'], 'pair')}{spent}"]
    if known(row["mean_se"]):
        parts.append(f"a mean standard error of {number_text(row['mean_se'])}")
    if row["could_be_best"] is not None:
        parts.append(f"{row['could_be_best']:,} of {number_of(row['items'], 'item')} could be the best")
    if known(row["told_apart"]):
        parts.append(f"the order of {percent_text(row['told_apart'], 0)} of all pairs of items is known")
    return ", ".join(parts)
