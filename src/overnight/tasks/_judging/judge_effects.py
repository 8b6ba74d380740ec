"""What sways the judges of answers, for a run's report: whose answer it is, how long it is; and what they never saw."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec
import numpy as np
import polars as pl

from overnight.analysis import holm
from overnight.core.names import short_models
from overnight.core.wording import number_of
from overnight.rank.distributions import normal_tail
from overnight.rank.labels import named
from overnight.reporting import Figure, Interval, Intervals, Part, Section, Sentence, Table
from overnight.reporting.wording import known, listed, number_text, p_text, percent_text, span_text
from overnight.tasks._judging.tables import EVERYBODY

_ALARM = 0.05
_SHOWN = ("judge", "model", "is_self", "n", "score", "others", "delta", "excess", "excess_lwr", "excess_upr", "p_holm")
# Draws of whole statements, with a fixed seed, for the interval of a correlation; and how few statements are too few.
_DRAWS, _FEWEST = 2_000, 6


def bias_section(bias: pl.DataFrame | None, title: str, stage: str, *, percent: bool) -> Iterator[Section]:
    """What each judge gives a candidate more than other judges do, and more than it gives other candidates."""
    if bias is None or bias.is_empty():
        return
    rows = with_tests(bias.to_dicts())
    judges, models = short_models(bias["judge"]), short_models(bias["model"])
    unit = "share" if percent else "points of a grade"
    drawn = [
        Interval(
            f"{judges[row['judge']]} on {models[row['model']]}{' (own family)' if row['is_self'] else ''}",
            _finite(row["excess"]),
            _finite(row["excess_lwr"]),
            _finite(row["excess_upr"]),
            p_text(row["p_holm"]) if known(row["p_holm"]) else "",
        )
        for row in rows
    ]
    form: Any = "percent" if percent else 2
    forms = {**dict.fromkeys(("score", "others", "delta", "excess", "excess_lwr", "excess_upr"), form), "p_holm": 3}
    parts: list[Part] = [Sentence(bias_text(rows, percent=percent))]
    numbers = Table(columns={name: [row[name] for row in rows] for name in _SHOWN}, forms=forms)
    if any(known(row["p_holm"]) for row in rows):
        parts.append(
            Figure(
                name=f"judge-bias-{stage}",
                title="Does a judge favour a candidate?",
                caption="How much more a judge gives a candidate than other judges give the same answers, less how "
                f"much more it gives all other candidates ({unit}), each with its 95% interval; p allows for "
                "all of them.",
                drawing=Intervals(rows=drawn, axis=f"in favour ({unit})", reference=0.0, percent=percent),
                numbers=numbers,
            )
        )
    else:
        parts.append(msgspec.structs.replace(numbers, title="What each judge gives", folded=True))
    yield Section(title=title, parts=parts)


def with_tests(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With Holm's p-values over all judges and candidates; none where there is no error to test by."""
    chances = [_chance(row) for row in rows]
    adjusted = holm(chances)
    return [row | {"p_holm": float(p) if isfinite(p) else None} for row, p in zip(rows, adjusted, strict=True)]


def _chance(row: Mapping[str, Any]) -> float | None:
    if not (known(row["excess"]) and known(row["excess_se"])) or row["excess_se"] <= 1e-12:
        return None
    p = float(2 * normal_tail(abs(row["excess"]) / row["excess_se"]))
    # However alike they are, so few answers cannot tell more than as many tosses of a coin.
    return max(p, 2.0 ** (1 - int(row["n"])))


def bias_text(rows: list[dict[str, Any]], *, percent: bool) -> str:
    """Which judges favour whom, by tests that hold together; the honest words where none is found."""
    tested = [row for row in rows if known(row["p_holm"])]
    if not tested:
        return "Whether a judge favours a candidate cannot be told: judges do not differ, or too few answers have two."
    told = [row for row in tested if row["p_holm"] < _ALARM]
    tests = number_of(len(tested), "test")
    if not told:
        return (
            f"That a judge favours a candidate, or disfavours one, cannot be told ({tests}, allowing for their number)."
        )
    words = []
    for row in sorted(told, key=lambda row: (-abs(row["excess"]), row["judge"], row["model"])):
        by = percent_text(abs(row["excess"])) if percent else number_text(abs(row["excess"]))
        verb = "favours" if row["excess"] > 0 else "disfavours"
        own = ", of its own family," if row["is_self"] else ""
        words.append(f"{row['judge']} {verb} {row['model']}{own} by {by} ({p_text(row['p_holm'])})")
    return f"Against the other judges, {listed(words, 4)}; {tests}, allowing for their number."


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def longer_wins_section(lengths: pl.DataFrame | None, title: str, stage: str) -> Iterator[Section]:
    if lengths is None or lengths.is_empty():
        return
    rows = lengths.to_dicts()
    short = short_models(lengths["judge"])
    figure = Figure(
        name=f"length-{stage}",
        title="How often does the longer of two answers win?",
        caption="Of the verdicts with a winner on answers of different lengths, with 95% intervals; verdicts on one "
        "statement count as dependent. One half is no effect. Longer answers may win because they are better.",
        drawing=Intervals(
            rows=[
                Interval(
                    "all judges" if row["judge"] == EVERYBODY else short[row["judge"]],
                    row["longer_wins"],
                    row["longer_wins_lwr"],
                    row["longer_wins_upr"],
                    number_of(row["n"], "verdict"),
                )
                for row in rows
            ],
            axis="the longer answer wins",
            reference=0.5,
            percent=True,
        ),
        numbers=Table.of(
            lengths.drop("stage"), dict.fromkeys(("longer_wins", "longer_wins_lwr", "longer_wins_upr"), "percent")
        ),
    )
    together = next((row for row in rows if row["judge"] == EVERYBODY), rows[0])
    yield Section(title=title, parts=[Sentence(longer_text(together)), figure])


def longer_text(row: Mapping[str, Any]) -> str:
    """Of all judges together, from the interval."""
    span = span_text(row["longer_wins_lwr"], row["longer_wins_upr"], percent=True)
    share = f"the longer of two answers wins {percent_text(row['longer_wins'])} of {number_of(row['n'], 'verdict')}"
    if row["longer_wins_lwr"] <= 0.5 <= row["longer_wins_upr"]:
        return f"No effect of length can be told: {share} (95% interval {span})."
    more = "Longer" if row["longer_wins"] > 0.5 else "Shorter"
    return f"{more} answers win more often: {share} (95% interval {span})."


def length_section(verdicts: pl.DataFrame, title: str, stage: str) -> Iterator[Section]:
    """Whether scores go with lengths, candidate by candidate: Pearson's correlation."""
    found = []
    read = verdicts.drop_nulls(["score", "length"]).sort("model")
    alarm = _ALARM / max(1, read["model"].n_unique())
    for (model,), part in read.group_by("model", maintain_order=True):
        value, low, high = length_correlation(part, alarm)
        if value is not None:
            statements = part["statement_id"].n_unique()
            found.append({"model": model, "n": part.height, "statements": statements} | _named(value, low, high))
    if not found:
        return
    short = short_models([row["model"] for row in found])
    figure = Figure(
        name=f"length-{stage}",
        title="Do longer answers score higher?",
        caption="Correlation of an answer's length with its score, candidate by candidate. The intervals hold for all "
        "candidates at once (95%); they come from drawing whole statements again and again, with a fixed seed. Nought "
        "is no connection; and longer answers may also be better ones.",
        drawing=Intervals(
            rows=[
                Interval(short[row["model"]], row["correlation"], row["lwr"], row["upr"], _how_many(row))
                for row in found
            ],
            axis="correlation of length and score",
            reference=0.0,
        ),
        numbers=Table(columns={name: [row[name] for row in found] for name in found[0]}),
    )
    yield Section(title=title, parts=[Sentence(length_text(found)), figure])


def _how_many(row: Mapping[str, Any]) -> str:
    return number_of(row["n"], "verdict") + ("" if row["lwr"] is not None else ", no interval")


def _named(value: float, low: float | None, high: float | None) -> dict[str, Any]:
    return {"correlation": value, "lwr": low, "upr": high}


def length_correlation(rows: pl.DataFrame, alarm: float) -> tuple[float | None, float | None, float | None]:
    """With a percentile interval over statements that fails with this chance; none where these are few."""
    score, length = (rows[name].cast(pl.Float64).to_numpy() for name in ("score", "length"))
    if rows.height < 3 or len(set(score)) < 2 or len(set(length)) < 2:
        return None, None, None
    value = float(np.corrcoef(score, length)[0, 1])
    codes = named(rows["statement_id"])[0].to_physical().cast(pl.Int64).fill_null(-1).rank("dense").to_numpy() - 1
    groups = int(codes.max()) + 1
    if groups < _FEWEST:
        return value, None, None
    x, y = score - score.mean(), length - length.mean()
    sums = np.stack(
        [np.bincount(codes, each, minlength=groups) for each in (np.ones_like(x), x, y, x * x, y * y, x * y)]
    )
    draw = np.random.default_rng(0)
    times = draw.multinomial(groups, np.full(groups, 1 / groups), size=_DRAWS).astype(np.float64)
    n, sx, sy, sxx, syy, sxy = (times @ row for row in sums)
    spread = (sxx - sx * sx / n) * (syy - sy * sy / n)
    valid = spread > 1e-12
    drawn = np.sort((sxy - sx * sy / n)[valid] / np.sqrt(spread[valid]))
    if len(drawn) < _DRAWS * 0.9:
        return value, None, None
    tail = int(alarm / 2 * len(drawn))
    return value, float(drawn[tail]), float(drawn[-1 - tail])


def length_text(rows: list[dict[str, Any]]) -> str:
    """For which candidates it is told, by intervals that hold together."""
    sure = [row for row in rows if row["lwr"] is not None]
    if not sure:
        return "Whether length and score go together cannot be told: there are too few statements."
    told = [row for row in sure if row["lwr"] > 0 or row["upr"] < 0]
    together = "95% interval" if len(sure) == 1 else f"95% intervals for all {len(sure)} at once"
    if not told:
        return f"That length and score go together cannot be told of any candidate ({together})."
    words = [
        f"{'longer' if row['correlation'] > 0 else 'shorter'} answers of {row['model']} score higher "
        f"({number_text(row['correlation'])}, {span_text(row['lwr'], row['upr'])})"
        for row in told
    ]
    text = listed(words, 4)
    return f"{text[0].upper()}{text[1:]} (correlation, {together})."


def unjudged_section(left_out: pl.DataFrame | None, title: str) -> Iterator[Section]:
    if left_out is None or left_out.is_empty():
        return
    count = int(left_out["answers"].sum())
    were, they = ("was", "counts") if count == 1 else ("were", "count")
    text = f"{number_of(count, 'answer')} {were} not put to a judge, and {they} for nobody."
    yield Section(title=title, parts=[Sentence(text), Table.of(left_out.drop("stage"), title="By candidate, and why")])
