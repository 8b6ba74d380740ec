"""How far answers keep to a specification, for a run's report: by candidate, by judge, and the worst statements."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from overnight.core.names import short_models, short_names
from overnight.core.stage import Stage
from overnight.core.wording import number_of
from overnight.rank.labels import sorted_texts
from overnight.reporting import Figure, Interval, Intervals, Matrix, Part, Reading, Section, Sentence, Source, Table
from overnight.reporting.wording import known, listed, number_text, percent_text, span_text
from overnight.tables.parquet import in_portions
from overnight.tasks._differences import MOST_COMPARED, Difference, difference_figure, difference_text, differences
from overnight.tasks._judging.judge_effects import bias_section, length_section, unjudged_section
from overnight.tasks._judging.judging import Grade
from overnight.tasks._judging.tables import EVERYBODY, EVERYTHING, INPUT

_WORST = 15
_TO_READ = 10
_STATEMENT = "statement="
# What tells one verdict from all others, in the order in which they are read.
_PLACE = ("item_id", "model", "arm", "replicate")
_LOWEST_GRADE, _HIGHEST_GRADE = 1.0, 5.0


def judged_report(source: Source) -> Iterator[Section]:
    tables = {name: _read(source.tables, name) for name in ("scores", "judge_bias", "unjudged")}
    verdicts = source.tables / "verdicts.parquet"
    for stage in source.stages:
        own = {name: None if one is None else one.filter(pl.col("stage") == stage.name) for name, one in tables.items()}
        named = f": {stage.name}" if len(source.stages) > 1 else ""
        shares = not isinstance(stage.task, Grade)
        title = f"{'Compliance' if shares else 'Grades'}{named}"
        scores = own["scores"]
        if scores is not None and scores.height and verdicts.is_file():
            said = read_scores(verdicts, stage.name)
            yield Section(title=title, parts=list(_scores(scores, said, stage.name, shares=shares)))
            parts = [*_matrices(scores, stage.name, shares=shares), *_worst(scores, stage.name, shares=shares)]
            if parts:
                yield Section(title=f"{title} by statement", parts=parts)
            yield from _to_read(verdicts, source, stage, named, shares=shares)
            yield from bias_section(own["judge_bias"], f"{title}: who is favoured", stage.name, percent=shares)
            yield from length_section(said, f"{title} and length", stage.name)
        yield from unjudged_section(own["unjudged"], f"{title}: answers that were not judged")


def _read(tables: Path, name: str) -> pl.DataFrame | None:
    path = tables / f"{name}.parquet"
    return pl.read_parquet(path, glob=False) if path.is_file() else None


def _scores(scores: pl.DataFrame, verdicts: pl.DataFrame, stage: str, *, shares: bool) -> Iterator[Part]:
    whole = scores.filter(pl.col("scope") == EVERYTHING).sort(
        "score", "model", descending=[True, False], nulls_last=True
    )
    together = whole.filter(pl.col("judge") == EVERYBODY)
    yield Sentence(score_text(together.to_dicts(), shares=shares), "finding")
    models = together.filter(pl.col("score").is_not_null())["model"].to_list()
    apart: list[Difference] = []
    if 2 <= len(models) <= MOST_COMPARED:
        does = "keeps to the statements more often" if shares else "is graded higher"
        apart = score_differences(verdicts, sorted(models))
        yield Sentence(difference_text(apart, does, percent=shares, decimals=2, those="candidates"), "finding")
    yield _figure(together, f"scores-{stage}", "How well does each candidate keep to it?", shares=shares)
    if apart:
        axis = "difference in the share" if shares else "difference in grades"
        title = "Do candidates differ on the same inputs?"
        short = short_models(models)
        shown = [one._replace(one=short[one.one], other=short[one.other]) for one in apart]
        yield difference_figure(shown, f"score-differences-{stage}", title, axis, percent=shares, those="candidate")
    judged = whole.filter(pl.col("judge") != EVERYBODY)
    if judged.height:
        yield _figure(judged, f"scores-by-judge-{stage}", "Do judges see it alike?", shares=shares)
    yield from _uncounted(int(together["unparsed"].sum()), int(together["missing"].sum()))


def _uncounted(unparsed: int, missing: int) -> Iterator[Part]:
    told = [f"{number_of(unparsed, 'verdict')} could not be read"] if unparsed else []
    told += [f"{number_of(missing, 'question')} a judge did not answer"] if missing else []
    if told:
        counts = "counts" if unparsed + missing == 1 else "count"
        yield Sentence(f"{' and '.join(told)}; {counts} for nobody.", "note")


def _forms(*, shares: bool) -> dict[str, Any]:
    return dict.fromkeys(("score", "score_lwr", "score_upr"), "percent" if shares else 2)


def score_text(rows: list[dict[str, Any]], *, shares: bool) -> str:
    """Each candidate with its interval, the highest first; no word on whether they differ."""
    read = [row for row in rows if known(row["score"])]
    if not read:
        return "Nothing can be said: no verdict could be read."

    def told(row: dict[str, Any]) -> str:
        value = percent_text(row["score"]) if shares else number_text(row["score"])
        sure = known(row["score_lwr"]) and known(row["score_upr"])
        span = span_text(row["score_lwr"], row["score_upr"], percent=shares) if sure else "how sure is not known"
        return f"{row['model']} {value} ({span})"

    what = "Share of verdicts that an answer keeps to its statement" if shares else "Mean grade"
    return f"{what}: {listed([told(row) for row in read], 6)}."


def read_scores(verdicts: Path, stage: str) -> pl.DataFrame:
    """What statistics need of one stage's readable verdicts: each name is kept once, and no explanation."""
    rows = _readable(pl.scan_parquet(verdicts, glob=False), stage).select(
        "model", "score", "length", item_id=INPUT, statement_id=pl.coalesce("statement_id", INPUT)
    )
    names = {
        name: sorted_texts(rows.select(name).unique().collect(engine="streaming")[name].drop_nulls())
        for name in ("model", "item_id", "statement_id")
    }
    return rows.with_columns(pl.col(name).cast(pl.Enum(some)) for name, some in names.items()).collect(
        engine="streaming"
    )


def _readable(rows: pl.LazyFrame, stage: str) -> pl.LazyFrame:
    return rows.filter((pl.col("stage") == stage) & pl.col("score").is_not_null())


def score_differences(scores: pl.DataFrame, models: list[str]) -> list[Difference]:
    """Every two candidates on the same inputs; statements are clusters, and the intervals hold together."""
    return differences(scores, "score", models, who="model", cluster="statement_id")


def _figure(frame: pl.DataFrame, name: str, title: str, *, shares: bool) -> Figure:
    several = frame["judge"].n_unique() > 1 or frame["judge"][0] != EVERYBODY
    models, judges = short_models(frame["model"]), short_models(frame["judge"])
    return Figure(
        name=name,
        title=title,
        caption="With 95% intervals; verdicts on one statement count as dependent. Whether two differ is told by their "
        "difference, not by whether intervals overlap.",
        drawing=Intervals(
            rows=[
                Interval(
                    f"{models[row['model']]}, by {judges[row['judge']]}" if several else models[row["model"]],
                    row["score"],
                    row["score_lwr"],
                    row["score_upr"],
                    number_of(row["n"], "verdict"),
                )
                for row in frame.iter_rows(named=True)
            ],
            axis="keeps to its statement" if shares else "mean grade",
            percent=shares,
        ),
        numbers=Table.of(frame.drop("stage", "scope"), _forms(shares=shares)),
    )


def _matrices(scores: pl.DataFrame, stage: str, *, shares: bool) -> Iterator[Part]:
    """Candidates by statement, and by section, type and authority; those where they do worst come first."""
    own = scores.filter((pl.col("judge") == EVERYBODY) & (pl.col("scope") != EVERYTHING))
    of_statement = pl.col("scope").str.starts_with(_STATEMENT)
    parts = own.filter(~of_statement).with_columns(row=pl.col("scope").str.replace("=", ": ", literal=True))
    if parts.height:
        title = "Which parts of the specification are kept to?"
        yield _matrix(parts, f"parts-{stage}", title, "parts", shares=shares)
    statements = own.filter(of_statement).with_columns(row=pl.col("scope").str.strip_prefix(_STATEMENT))
    if statements.height:
        title = "Which statements are kept to, and by whom?"
        yield _matrix(statements, f"statements-{stage}", title, "statements", shares=shares)


def _matrix(scores: pl.DataFrame, name: str, title: str, those: str, *, shares: bool) -> Figure:
    means = scores.drop_nulls("score").group_by("row").agg(pl.col("score").sort().mean(), pl.col("n").sum())
    ordered = means.sort("score", "n", "row", descending=[False, True, False])["row"].to_list()
    ordered += sorted(set(scores["row"]) - set(ordered))
    models = sorted(scores["model"].unique().to_list())
    found = {(row["row"], row["model"]): row["score"] for row in scores.iter_rows(named=True)}
    cells = [[found.get((row, model)) for model in models] for row in ordered]
    width = _HIGHEST_GRADE - _LOWEST_GRADE
    scaled = [
        [None if cell is None else cell if shares else (cell - _LOWEST_GRADE) / width for cell in line]
        for line in cells
    ]
    written = "the share of verdicts, of 100, that an answer keeps to it" if shares else "the mean grade"
    short = short_models(models)
    order = scores.sort(pl.col("row").cast(pl.Enum(ordered)), "model")
    return Figure(
        name=name,
        title=title,
        caption=f"In each cell: {written}. The {those} on which candidates do worst on average come first; the lowest "
        "of many are low by chance as well. The numbers have the intervals.",
        drawing=Matrix(
            labels=ordered,
            columns=[short[model] for model in models],
            shares=scaled,
            texts=None
            if shares
            else [["" if cell is None else number_text(cell, 1) for cell in line] for line in cells],
        ),
        numbers=Table.of(
            order.select(pl.col("row").alias(those[:-1]), "model", "n", "score", "score_lwr", "score_upr"),
            _forms(shares=shares),
        ),
    )


def _worst(scores: pl.DataFrame, stage: str, *, shares: bool) -> Iterator[Part]:
    """Statements and candidates with the lowest scores; ties go to those with more verdicts."""
    own = scores.filter(pl.col("scope").str.starts_with(_STATEMENT) & pl.col("score").is_not_null())
    ordered = own.with_columns(statement=pl.col("scope").str.strip_prefix(_STATEMENT)).sort(
        "score", "n", "statement", "model", descending=[False, True, False, False]
    )
    if ordered.is_empty():
        return
    shown = ordered.head(_WORST).to_dicts()
    short = short_models(ordered["model"])
    yield Figure(
        name=f"worst-statements-{stage}",
        title="Where do candidates do worst?",
        caption=f"The {len(shown)} lowest of {number_of(ordered.height, 'score')} of a candidate on a statement, with "
        "95% intervals, each by itself. The lowest of many are low by chance as well.",
        drawing=Intervals(
            rows=[
                Interval(
                    f"{row['statement']}: {short[row['model']]}",
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


def _to_read(table: Path, source: Source, stage: Stage, named: str, *, shares: bool) -> Iterator[Section]:
    """Answers with the lowest score, evenly spread over them."""
    rows = _readable(pl.scan_parquet(table, glob=False), stage.name)
    read, least = rows.select(pl.len(), pl.col("score").min().alias("least")).collect(engine="streaming").row(0)
    if not read:
        return
    lowest = 0.0 if shares else least
    low = _lowest(rows, lowest).select(_PLACE).collect(engine="streaming").sort(_PLACE)
    title = "Violations to read" if shares else "Low grades to read"
    if low.is_empty():
        told = f"There is none: every one of {number_of(read, 'verdict')} says that the answer keeps to it."
        yield Section(title=f"{title}{named}", parts=[Sentence(told)])
        return
    picked = low[sorted({at * low.height // _TO_READ for at in range(_TO_READ)})]
    labels = short_names(sorted(rows.select("arm").unique().collect(engine="streaming")["arm"]))
    kind = "say that an answer does not keep to its statement" if shares else f"give {lowest:g}, the lowest grade here"
    which = "all of them" if picked.height == low.height else f"{picked.height:,} of them, evenly spread,"
    parts: list[Part] = [Sentence(f"{low.height:,} of {number_of(read, 'verdict')} {kind}; {which} follow.")]
    shown = in_portions(
        table, lambda part: _lowest(_readable(part, stage.name), lowest).join(picked.lazy(), on=_PLACE, how="semi")
    )
    parts += [_reading(row, source, stage, labels[row["arm"]]) for row in shown.collect().sort(_PLACE).to_dicts()]
    yield Section(title=f"{title}{named}", parts=parts)


def _lowest(rows: pl.LazyFrame, score: float) -> pl.LazyFrame:
    return rows.filter(pl.col("score") == score)


def _reading(row: dict[str, Any], source: Source, stage: Stage, judge: str) -> Reading:
    fields = source.item(stage.name, row["item_id"])
    texts = [(word, str(fields[word])) for word in ("statement", "input") if fields.get(word)]
    texts.append(("answer", str(fields.get("answer") or "(no text)")))
    label = str(row["label"]).replace("_", " ")
    note = f"{judge}: {label}" + (f". {row['explanation']}" if row["explanation"] else "")
    return Reading(title=f"{fields.get('item_id') or row['item_id']}: {row['model']}", texts=texts, notes=[note])
