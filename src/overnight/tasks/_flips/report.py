"""Who gave in, for a run's report: rates under pressure, what the control takes off, and how long models hold out."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from overnight.core.wording import number_of
from overnight.reporting import Figure, Interval, Intervals, Line, Lines, Part, Point, Section, Sentence, Source, Table
from overnight.reporting.wording import percent_text, span_text
from overnight.tasks._flips.pictures import chosen_judge

_SHOWN = ("model", "by", "value", "n", "questions", "flips", "rate", "rate_lwr", "rate_upr", "left_out")
_OF_CONTROL = ("model", "by", "value", "control_rate", "difference", "difference_lwr", "difference_upr", "p")


def flip_report(source: Source) -> Iterator[Section]:
    """By the majority of the judges, or the only one; a section for each stage that judges."""
    if not (source.tables / "flip_rates.parquet").exists():
        return
    rates = pl.read_parquet(source.tables / "flip_rates.parquet", glob=False)
    curves = pl.read_parquet(source.tables / "flip_survival.parquet", glob=False)
    for stage in source.stages:
        own = rates.filter(pl.col("stage") == stage.name)
        if own.is_empty():
            continue
        judge = chosen_judge(own)
        named = f": {stage.name}" if len(source.stages) > 1 else ""
        mine = own.filter(pl.col("judge") == judge, pl.col("by") != "control")
        yield Section(title=f"Who gave in{named}", parts=list(_rates(mine, judge, stage.name)))
        curve = curves.filter(pl.col("stage") == stage.name, pl.col("judge") == judge)
        if curve.height and curve["level"].n_unique() > 1:
            yield Section(title=f"How long they hold out{named}", parts=[_survival(curve, stage.name)])


def _rates(rates: pl.DataFrame, judge: str, stage: str) -> Iterator[Part]:
    for row in rates.filter(pl.col("by") == "all", pl.col("n") > 0).iter_rows(named=True):
        yield Sentence(_told(row), "finding")
    yield Sentence(f"Labels are those of {judge}. What has no label is left out, and counted.", "note")
    drawn = [
        Interval(_label(row), row["rate"], row["rate_lwr"], row["rate_upr"], f"{row['n']:,}")
        for row in rates.iter_rows(named=True)
    ]
    yield Figure(
        name=f"flips-{stage}",
        title="How often do models give in?",
        caption="Share of conversations (by level: of replies) that give in, with its 95% interval; all that goes back "
        "to one question counts as dependent. At the end of each line: how many.",
        drawing=Intervals(rows=drawn, axis="gave in", percent=True, reference=0.0),
        numbers=Table.of(rates.select(_SHOWN), dict.fromkeys(("rate", "rate_lwr", "rate_upr"), "percent")),
    )
    known = rates.drop_nulls("difference")
    if known.height:
        apart = [
            Interval(_label(row), row["difference"], row["difference_lwr"], row["difference_upr"])
            for row in known.iter_rows(named=True)
        ]
        shares = ("control_rate", "difference", "difference_lwr", "difference_upr")
        yield Figure(
            name=f"pressure-{stage}",
            title="What is due to pressure, and not to asking again?",
            caption="The rate under pressure less that of neutral re-asks, on the questions that both have, with its "
            "95% interval. At nought, asking again does as much as pressing.",
            drawing=Intervals(rows=apart, axis="more than the control", percent=True, reference=0.0),
            numbers=Table.of(known.select(_OF_CONTROL), {**dict.fromkeys(shares, "percent"), "p": 3}),
        )


def _told(row: dict[str, Any]) -> str:
    """One sentence about a model, from its numbers."""
    span = span_text(row["rate_lwr"], row["rate_upr"], percent=True)
    gave = f"{row['model']} gave in {percent_text(row['rate'])} of the time, in {number_of(row['n'], 'conversation')}"
    if row["flips"] == 0:
        gave = f"{row['model']} never gave in, in {number_of(row['n'], 'conversation')}"
    if row["difference"] is None:
        return f"{gave} (95% interval {span})."
    apart = row["difference_lwr"] > 0 or row["difference_upr"] < 0
    control = percent_text(row["control_rate"])
    versus = "pressure tells" if apart else "no difference from pressure can be told"
    return f"{gave} (95% interval {span}); asked again in neutral words, {control}: {versus}."


def _label(row: dict[str, Any]) -> str:
    part = "" if row["by"] == "all" else f", {row['value']}" if row["by"] == "type" else f", {row['by']} {row['value']}"
    return f"{row['model']}{part}"


def _survival(curve: pl.DataFrame, stage: str) -> Figure:
    lines = []
    for (model, kind), part in curve.group_by("model", "type", maintain_order=True):
        points = [Point(0.0, 1.0)]
        points += [
            Point(float(row["level"]), row["survival"], row["survival_lwr"], row["survival_upr"])
            for row in part.sort("level").iter_rows(named=True)
        ]
        lines.append(Line(f"{model}, {kind}", points))
    shares = ("survival", "survival_lwr", "survival_upr")
    return Figure(
        name=f"holding-out-{stage}",
        title="How many still hold after each level?",
        caption="Kaplan and Meier's share of conversations that have not given in, with its 95% band. One that cannot "
        "be followed any further counts for as long as it can.",
        drawing=Lines(lines=lines, x_axis="level", y_axis="still hold", percent=True),
        numbers=Table.of(curve.drop("stage", "judge"), dict.fromkeys(shares, "percent")),
    )
