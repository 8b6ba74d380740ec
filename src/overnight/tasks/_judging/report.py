"""How far answers keep to a specification, for a run's report: by candidate, by judge, and the worst statements."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from overnight.analysis import paired_difference
from overnight.core.names import short_names
from overnight.core.stage import Stage
from overnight.core.wording import number_of
from overnight.reporting import Figure, Interval, Intervals, Part, Reading, Section, Sentence, Source, Table
from overnight.reporting.wording import known, listed, number_text, percent_text, span_text
from overnight.tasks._answer_report import MOST_COMPARED, Difference, difference_text
from overnight.tasks._judging.judging import Grade
from overnight.tasks._judging.tables import EVERYBODY, EVERYTHING, INPUT

_CHANCE = 0.05
_WORST = 15
_TO_READ = 10


def judged_report(source: Source) -> Iterator[Section]:
    verdicts, scores = (_read(source.tables, name) for name in ("verdicts", "scores"))
    if verdicts is None or scores is None:
        return
    for stage in source.stages:
        own, said = (frame.filter(pl.col("stage") == stage.name) for frame in (scores, verdicts))
        if own.is_empty():
            continue
        named = f": {stage.name}" if len(source.stages) > 1 else ""
        shares = not isinstance(stage.task, Grade)
        title = "Compliance" if shares else "Grades"
        yield Section(title=f"{title}{named}", parts=list(_scores(own, said, stage.name, shares=shares)))
        worst = list(_worst(own, stage.name, shares=shares))
        if worst:
            yield Section(title=f"{title} where they are worst{named}", parts=worst)
        yield from _to_read(said, source, stage, named, shares=shares)


def _read(tables: Path, name: str) -> pl.DataFrame | None:
    path = tables / f"{name}.parquet"
    return pl.read_parquet(path, glob=False) if path.is_file() else None


def _scores(scores: pl.DataFrame, verdicts: pl.DataFrame, stage: str, *, shares: bool) -> Iterator[Part]:
    whole = scores.filter(pl.col("scope") == EVERYTHING).sort("score", "model", descending=[True, False])
    together = whole.filter(pl.col("judge") == EVERYBODY)
    yield Sentence(score_text(together.to_dicts(), shares=shares), "finding")
    models = together["model"].to_list()
    if 2 <= len(models) <= MOST_COMPARED:
        does = "keeps to the statements more often" if shares else "is graded higher"
        yield Sentence(difference_text(score_differences(verdicts, sorted(models)), does, percent=shares, decimals=2))
    yield _figure(together, f"scores-{stage}", "How well does each candidate keep to it?", shares=shares)
    judged = whole.filter(pl.col("judge") != EVERYBODY)
    if judged.height:
        yield _figure(judged, f"scores-by-judge-{stage}", "Do judges see it alike?", shares=shares)
    parts = scores.filter(
        (pl.col("scope") != EVERYTHING)
        & (pl.col("judge") == EVERYBODY)
        & ~pl.col("scope").str.starts_with("statement=")
    )
    if parts.height:
        columns = parts.select("scope", "model", "n", "score", "score_lwr", "score_upr").sort("scope", "score", "model")
        yield Table.of(columns, _forms(shares=shares), "By section, type and authority")
    unread = int(together["unparsed"].sum()) + int(together["none"].sum())
    if unread:
        yield Sentence(f"{number_of(unread, 'verdict')} came without a readable answer and count for nobody.", "note")


def _forms(*, shares: bool) -> dict[str, Any]:
    return dict.fromkeys(("score", "score_lwr", "score_upr"), "percent" if shares else 2)


def score_text(rows: list[dict[str, Any]], *, shares: bool) -> str:
    """Each candidate with its interval, the highest first; no word on whether they differ."""
    read = [row for row in rows if known(row["score"])]
    if not read:
        return "Nothing can be said: no verdict could be read."

    def told(row: dict[str, Any]) -> str:
        value = percent_text(row["score"]) if shares else number_text(row["score"])
        span = span_text(row["score_lwr"], row["score_upr"], percent=shares) if known(row["score_lwr"]) else "unsure"
        return f"{row['model']} {value} ({span})"

    what = "Share of verdicts that an answer keeps to its statement" if shares else "Mean grade"
    return f"{what}: {listed([told(row) for row in read])}."


def score_differences(verdicts: pl.DataFrame, models: list[str]) -> list[Difference]:
    """Every two candidates on the same inputs; statements are clusters, and the intervals hold together."""
    read = verdicts.filter(pl.col("score").is_not_null()).with_columns(input=INPUT)
    means = read.group_by("input", "statement_id", "model").agg(pl.col("score").mean()).sort("input", "model")
    wide = means.pivot(on="model", index=["input", "statement_id"], values="score", maintain_order=True)
    pairs = [(one, other) for one, other in combinations(models, 2) if {one, other} <= set(wide.columns)]
    found = []
    for one, other in pairs:
        both = wide.select("statement_id", a=pl.col(one), b=pl.col(other)).drop_nulls(["a", "b"])
        statements = both["statement_id"].n_unique()
        if both.height < 2 or statements == 1 < both["statement_id"].count():
            continue
        cluster = both["statement_id"] if 1 < statements < both.height else None
        apart = paired_difference(both["a"], both["b"], cluster, level=1 - _CHANCE / len(pairs))
        ends = (apart.difference_lwr, apart.difference_upr)
        found.append(Difference(one, other, both.height, apart.difference, *ends))
    return found


def _figure(frame: pl.DataFrame, name: str, title: str, *, shares: bool) -> Figure:
    rows = frame.to_dicts()
    several = frame["judge"].n_unique() > 1 or frame["judge"][0] != EVERYBODY
    return Figure(
        name=name,
        title=title,
        caption="With 95% intervals; verdicts on one statement count as dependent. Whether two differ is told by their "
        "difference, not by whether intervals overlap.",
        drawing=Intervals(
            rows=[
                Interval(
                    f"{row['model']}, by {row['judge']}" if several else row["model"],
                    row["score"],
                    row["score_lwr"],
                    row["score_upr"],
                    number_of(row["n"], "verdict"),
                )
                for row in rows
            ],
            axis="keeps to its statement" if shares else "mean grade",
            percent=shares,
        ),
        numbers=Table.of(frame.drop("stage", "scope"), _forms(shares=shares)),
    )


def _worst(scores: pl.DataFrame, stage: str, *, shares: bool) -> Iterator[Part]:
    """Statements and candidates with the lowest scores; ties go to those with more verdicts."""
    own = scores.filter(pl.col("scope").str.starts_with("statement=") & pl.col("score").is_not_null())
    ordered = own.with_columns(statement=pl.col("scope").str.strip_prefix("statement=")).sort(
        "score", "n", "statement", "model", descending=[False, True, False, False]
    )
    if ordered.is_empty():
        return
    shown = ordered.head(_WORST).to_dicts()
    yield Figure(
        name=f"worst-statements-{stage}",
        title="Where do candidates do worst?",
        caption=f"The {len(shown)} lowest of {number_of(ordered.height, 'score')} of a candidate on a statement, with "
        "95% intervals. The lowest of many are low by chance as well.",
        drawing=Intervals(
            rows=[
                Interval(
                    f"{row['statement']}: {row['model']}",
                    row["score"],
                    row["score_lwr"],
                    row["score_upr"],
                    number_of(row["n"], "verdict"),
                )
                for row in shown
            ],
            axis="keeps to its statement" if shares else "mean grade",
            percent=shares,
        ),
        numbers=Table.of(
            ordered.select("statement", "model", "n", "score", "score_lwr", "score_upr"), _forms(shares=shares)
        ),
    )


def _to_read(verdicts: pl.DataFrame, source: Source, stage: Stage, named: str, *, shares: bool) -> Iterator[Section]:
    """Answers with the lowest score, evenly spread over them."""
    read = verdicts.filter(pl.col("score").is_not_null())
    low = read.filter(pl.col("score") == (0.0 if shares else read["score"].min())).sort(
        "item_id", "model", "arm", "replicate"
    )
    what, title = ("violation", "Violations to read") if shares else ("lowest grade", "Low grades to read")
    if low.is_empty():
        yield Section(title=f"{title}{named}", parts=[Sentence(f"There is no {what}.")])
        return
    picked = sorted({at * low.height // _TO_READ for at in range(_TO_READ)})
    labels = short_names(sorted(low["arm"].unique().to_list()))
    parts: list[Part] = [Sentence(f"{len(picked):,} of {number_of(low.height, what)}, evenly spread.")]
    for row in low[picked].iter_rows(named=True):
        answer = source.item(stage.name, row["item_id"]).get("answer")
        note = f"{labels[row['arm']]}: {row['label']}" + (f". {row['explanation']}" if row["explanation"] else "")
        about = f"{row['statement_id'] or row['item_id']}: {row['model']}"
        parts.append(Reading(title=about, texts=[(row["item_id"], str(answer or "(no text)"))], notes=[note]))
    yield Section(title=f"{title}{named}", parts=parts)
