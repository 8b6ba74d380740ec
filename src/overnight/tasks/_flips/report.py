"""Who gave in, for a run's report: rates under pressure, what the control takes off, and how long models hold out."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from overnight.analysis import holm
from overnight.core.names import short_models
from overnight.core.wording import number_of
from overnight.reporting import Figure, Interval, Intervals, Line, Lines, Part, Point, Section, Sentence, Source, Table
from overnight.reporting.wording import known, listed, number_text, p_text, percent_text, span_text
from overnight.tasks._flips.pictures import chosen_judge
from overnight.tasks._flips.talks_to_read import talks_to_read
from overnight.tasks._flips.votes import MAJORITY

# The chance of a false alarm that is put up with, over all models together.
_ALARM = 0.05
# Fewer replies than these cannot tell agreement from luck, however alike their labels are.
_FEWEST = 6
# More sentences than these on top of a page are read by nobody.
_MOST_FINDINGS = 4
_SHOWN = ("model", "by", "value", "n", "questions", "flips", "rate", "rate_lwr", "rate_upr", "left_out")
_OF_CONTROL = ("model", "by", "value", "control_rate", "difference", "difference_lwr", "difference_upr", "p")
_RATES = ("rate", "rate_lwr", "rate_upr")
_APART = ("control_rate", "difference", "difference_lwr", "difference_upr")
# How rates are taken apart, and the word for what is counted.
_PARTS = {"level": "replies", "type": "conversations", "category": "conversations"}


def flip_report(source: Source) -> Iterator[Section]:
    """By the majority of the judges, or the only one; sections for each stage that judges."""
    tables = {name: _read(source.tables, name) for name in ("rates", "survival", "comparisons", "agreement")}
    for stage in source.stages:
        own = {name: table.filter(pl.col("stage") == stage.name) for name, table in tables.items() if table is not None}
        if "rates" not in own or own["rates"].is_empty():
            continue
        if missing := tables.keys() - own.keys():
            # They are made together: the reader is told to have them made again.
            raise FileNotFoundError(f"tables/flip_{min(missing)}.parquet is missing")
        judge = chosen_judge(own["rates"])
        own = {
            name: table if name == "agreement" else table.filter(pl.col("judge") == judge)
            for name, table in own.items()
        }
        named = f": {stage.name}" if len(source.stages) > 1 else ""
        short = short_models(own["rates"]["model"])
        yield Section(title=f"Who gave in{named}", parts=list(_rates(own, judge, stage.name, short)))
        parts = [part for by in _PARTS for part in _by(own["rates"], by, stage.name, short)]
        if parts:
            yield Section(title=f"By level, type and category{named}", parts=parts)
        curve = own["survival"]
        if curve.height and curve["level"].n_unique() > 1:
            yield Section(title=f"How long they hold out{named}", parts=[_survival(curve, stage.name, short)])
        if own["agreement"].height:
            yield Section(title=f"Do judges agree{named}", parts=list(_agreement(own["agreement"], stage.name)))
        yield from talks_to_read(source, stage, judge, named)


def _read(tables: Path, name: str) -> pl.DataFrame | None:
    path = tables / f"flip_{name}.parquet"
    return pl.read_parquet(path, glob=False) if path.is_file() else None


def _rates(own: Mapping[str, pl.DataFrame], judge: str, stage: str, short: Mapping[str, str]) -> Iterator[Part]:
    whole = own["rates"].filter(pl.col("by") == "all")
    rows = whole.to_dicts()
    between = own["comparisons"].filter((pl.col("kind") == "models") & (pl.col("value") == "all"))
    apart = [Sentence(comparison_text(between.to_dicts()), "finding")] if between.height else []
    if len(rows) > _MOST_FINDINGS:
        yield Sentence(most_and_least_text(rows), "finding")
        yield from apart
    for text in flip_texts(rows):
        yield Sentence(text, "finding" if len(rows) <= _MOST_FINDINGS else "plain")
    said = "the majority of the judges" if judge == MAJORITY else judge
    yield Sentence(f"Labels are those of {said}. What has no label is left out, and counted.", "note")
    shown = own["rates"].filter(pl.col("by").is_in(["all", "control"]))
    yield _rate_figure(shown, f"flips-{stage}", "How often do models give in?", "conversations", short)
    yield from _against_control(whole, f"pressure-{stage}", short)
    if between.height:
        yield from apart if len(rows) <= _MOST_FINDINGS else []
        yield _between_models(between, stage, short)


def _by(rates: pl.DataFrame, by: str, stage: str, short: Mapping[str, str]) -> Iterator[Part]:
    part = rates.filter(pl.col("by") == by)
    if part.is_empty():
        return
    yield _rate_figure(part, f"flips-by-{by}-{stage}", f"How often do models give in, by {by}?", _PARTS[by], short)
    yield from _against_control(part, f"pressure-by-{by}-{stage}", short, f", by {by}")


def _rate_figure(rates: pl.DataFrame, name: str, title: str, counted: str, short: Mapping[str, str]) -> Figure:
    drawn = [
        Interval(_label(row, short), row["rate"], row["rate_lwr"], row["rate_upr"], f"{row['n']:,}")
        for row in rates.iter_rows(named=True)
    ]
    return Figure(
        name=name,
        title=title,
        caption=f"Share of {counted} that give in, with its 95% interval; all that goes back to one question counts "
        "as dependent. At the end of each line: how many have a label.",
        drawing=Intervals(rows=drawn, axis="gave in", percent=True, reference=0.0),
        numbers=Table.of(rates.select(_SHOWN), dict.fromkeys(_RATES, "percent")),
    )


def _against_control(rates: pl.DataFrame, name: str, short: Mapping[str, str], part: str = "") -> Iterator[Figure]:
    known_rows = rates.drop_nulls("difference")
    if known_rows.is_empty():
        return
    apart = [
        Interval(_label(row, short), row["difference"], row["difference_lwr"], row["difference_upr"], p_text(row["p"]))
        for row in known_rows.iter_rows(named=True)
    ]
    yield Figure(
        name=name,
        title=f"What is due to pressure, and not to asking again{part}?",
        caption="The rate under pressure less that of neutral re-asks, on the questions that both have, each with its "
        "95% interval and the exact test's p by itself. At nought, asking again does as much as pressing.",
        drawing=Intervals(rows=apart, axis="more than the control", percent=True, reference=0.0),
        numbers=Table.of(known_rows.select(_OF_CONTROL), {**dict.fromkeys(_APART, "percent"), "p": 3}),
    )


def _label(row: Mapping[str, Any], short: Mapping[str, str]) -> str:
    parts = {
        "all": "",
        "control": ", asked again in neutral words",
        "type": f", {row['value']}",
        "level": f", level {row['value']}",
        "category": f", {row['value'] or '(no category)'}",
    }
    return f"{short[row['model']]}{parts[row['by']]}"


def flip_texts(rows: list[dict[str, Any]]) -> Iterator[str]:
    """One sentence about each model, from its numbers; tests against the control allow for the number of models."""
    adjusted = holm([row["p"] if known(row["difference"]) else None for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        yield _told(row, float(p), sum(known(row["difference"]) for row in rows))


def most_and_least_text(rows: list[dict[str, Any]]) -> str:
    """The two ends of many models, each with its interval; no word on whether they differ."""
    labelled = sorted((row for row in rows if row["n"]), key=lambda row: (-row["rate"], row["model"]))
    if not labelled:
        return f"Nothing can be said of any of {len(rows):,} models: no conversation has a label that counts."

    def told(row: Mapping[str, Any]) -> str:
        span = span_text(row["rate_lwr"], row["rate_upr"], percent=True)
        return f"{row['model']} {percent_text(row['rate'])} ({span}) of {number_of(row['n'], 'conversation')}"

    if labelled[0]["rate"] == labelled[-1]["rate"]:
        share = percent_text(labelled[0]["rate"])
        return f"Each of {len(labelled):,} models gave in {share} of the time."
    return (
        f"Of {len(labelled):,} models, those that gave in most and least often: {told(labelled[0])} and "
        f"{told(labelled[-1])}."
    )


def _told(row: Mapping[str, Any], p: float, tested: int) -> str:
    if not row["n"]:
        left = number_of(row["left_out"], "conversation")
        return f"Nothing can be said of {row['model']}: of its {left} none has a label that counts."
    span = span_text(row["rate_lwr"], row["rate_upr"], percent=True)
    gave = f"{row['model']} gave in {percent_text(row['rate'])} of the time, in {number_of(row['n'], 'conversation')}"
    if row["flips"] == 0:
        gave = f"{row['model']} never gave in, in {number_of(row['n'], 'conversation')}"
    text = f"{gave} (95% interval {span})"
    if not known(row["difference"]):
        return f"{text}."
    apart = row["difference_lwr"] > 0 or row["difference_upr"] < 0
    points = f"{number_text(100 * abs(row['difference']), 1)} points"
    several = "" if tested == 1 else f", allowing for {tested} models"
    if not apart or p >= _ALARM:
        control = percent_text(row["control_rate"])
        return f"{text}; no difference from asking again in neutral words ({control}) can be told."
    if row["difference"] > 0:
        return f"{text}, {points} more than when asked again in neutral words ({p_text(p)}{several})."
    return f"{text}, {points} less than when asked again in neutral words ({p_text(p)}{several})."


def comparison_text(rows: list[dict[str, Any]]) -> str:
    """Which models differ under the same pressure: by the interval, and by tests that allow for their number."""
    told = [
        row
        for row in rows
        if known(row["p_holm"]) and row["p_holm"] < _ALARM and (row["difference_lwr"] > 0 or row["difference_upr"] < 0)
    ]
    if not told:
        who = f"{rows[0]['model_a']} and {rows[0]['model_b']}" if len(rows) == 1 else "any two models"
        return f"No difference between {who} can be told on the questions that both have."
    words = []
    for row in sorted(told, key=lambda row: (-abs(row["difference"]), row["model_a"], row["model_b"])):
        more, less = ("model_a", "model_b") if row["difference"] > 0 else ("model_b", "model_a")
        points = number_text(100 * abs(row["difference"]), 1)
        words.append(f"{row[more]} gives in more often than {row[less]} (by {points} points, {p_text(row['p_holm'])})")
    return f"{listed(words, 3)}; tests allow for the number of comparisons."


def _between_models(between: pl.DataFrame, stage: str, short: Mapping[str, str]) -> Figure:
    drawn = [
        Interval(
            f"{short.get(row['model_a'], row['model_a'])} \u2212 {short.get(row['model_b'], row['model_b'])}",
            row["difference"],
            row["difference_lwr"],
            row["difference_upr"],
            "" if not known(row["p_holm"]) else p_text(row["p_holm"]),
        )
        for row in between.iter_rows(named=True)
    ]
    shares = ("rate_a", "rate_b", "difference", "difference_lwr", "difference_upr")
    return Figure(
        name=f"flips-between-models-{stage}",
        title="Do models differ on the same questions?",
        caption="The rate of one model less that of another under the same pressure, on the questions that both have, "
        "each with its 95% interval; p allows for all comparisons at once.",
        drawing=Intervals(rows=drawn, axis="difference in rates", percent=True, reference=0.0),
        numbers=Table.of(
            between.drop("kind", "stage", "judge", "value"),
            {**dict.fromkeys(shares, "percent"), "p": 3, "p_holm": 3},
        ),
    )


def _survival(curve: pl.DataFrame, stage: str, short: Mapping[str, str]) -> Figure:
    lines = []
    for (model, kind), part in curve.sort("model", "type", "level").group_by("model", "type", maintain_order=True):
        points = [Point(0.0, 1.0)]
        points += [
            Point(float(row["level"]), row["survival"], row["survival_lwr"], row["survival_upr"])
            for row in part.iter_rows(named=True)
        ]
        lines.append(Line(f"{short.get(str(model), str(model))}, {kind}", points))
    shares = ("survival", "survival_lwr", "survival_upr")
    return Figure(
        name=f"holding-out-{stage}",
        title="How many still hold after each level?",
        caption="Kaplan and Meier's share of conversations that have not given in, with its 95% band. One that cannot "
        "be followed any further counts for as long as it can.",
        drawing=Lines(lines=lines, x_axis="level", y_axis="still hold", percent=True),
        numbers=Table.of(curve.drop("stage", "judge"), dict.fromkeys(shares, "percent")),
    )


def _agreement(agreement: pl.DataFrame, stage: str) -> Iterator[Part]:
    together = agreement.filter(pl.col("measure") == "alpha").to_dicts()
    for row in together:
        yield Sentence(alpha_text(row))
    twos = agreement.filter(pl.col("measure") == "kappa")
    if twos.is_empty():
        return
    short = short_models([*twos["judge_a"], *twos["judge_b"]])
    drawn = [
        Interval(
            f"{short[row['judge_a']]} and {short[row['judge_b']]}",
            row["value"],
            row["lwr"],
            row["upr"],
            number_of(row["n"], "reply", "replies"),
        )
        for row in twos.iter_rows(named=True)
    ]
    yield Figure(
        name=f"flip-agreement-{stage}",
        title="How much do two of them agree, beyond chance?",
        caption="Cohen's kappa on the labels of replies, with its 95% interval; key words are a list of phrases, which "
        "nobody asked. One is perfect agreement, nought is what chance gives.",
        drawing=Intervals(rows=drawn, axis="agreement beyond chance", reference=0.0),
        numbers=Table.of(agreement.drop("stage"), {"observed": "percent"}),
    )


def alpha_text(row: Mapping[str, Any]) -> str:
    """Whether all judges agree beyond chance, from the interval."""
    if not known(row["value"]):
        return "How far the judges agree cannot be told."
    if row["value"] == 1 and row["n"] >= _FEWEST:
        return f"All judges gave the same label to every one of {row['n']:,} replies."
    value = f"Krippendorff's alpha is {number_text(row['value'])}"
    if not (known(row["lwr"]) and known(row["upr"])) or row["lwr"] == row["upr"] or row["n"] < _FEWEST:
        return f"{value} on {number_of(row['n'], 'reply', 'replies')}; how sure that is cannot be told."
    span = f"{value} ({span_text(row['lwr'], row['upr'])})"
    if row["lwr"] > 0:
        return f"The judges agree beyond chance: {span}."
    return f"No agreement of the judges beyond chance can be told: {span}."
