"""Tables of answers that were held to statements: what was said, how often they keep to them, and who agrees.

Scores are shares (`comply`: 1 keeps to it, 0 does not) or mean grades. Rows of one statement count as dependent. What
could not be read, or was not answered, is counted beside the score and is no part of it.
"""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from overnight.analysis import cohen_kappa, judge_bias, krippendorff_alpha, rate
from overnight.analysis.samples import cluster_codes, mean_error
from overnight.core.errors import OvernightError
from overnight.rank.labels import names_in, sorted_texts
from overnight.rank.shares import quantile
from overnight.tasks._judging.form import NONE, UNPARSED
from overnight.tasks._judging.model_makers import maker_of

EVERYBODY = EVERYTHING = "all"
VERDICTS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "arm": pl.String,
    "judge": pl.String,
    "item_id": pl.String,
    "model": pl.String,
    "label": pl.String,
    "score": pl.Float64,
    "confidence": pl.Float64,
    "explanation": pl.String,
    "template": pl.String,
    "thinking": pl.String,
    "replicate": pl.Int32,
    "statement_id": pl.String,
    "section": pl.String,
    "statement_type": pl.String,
    "authority_level": pl.String,
    "input_index": pl.Int64,
    "length": pl.Int64,
}
# What scores may be of, where there are several: the word in `scope`, and the column of the verdicts.
PARTS = {
    "section": "section",
    "type": "statement_type",
    "authority": "authority_level",
    "statement": "statement_id",
}
# What was asked, whoever answered it.
INPUT = pl.coalesce(pl.concat_str("statement_id", "input_index", separator="_"), "item_id")
_LEVEL = 0.95
# A mean grade, and what it may be, lies between these.
_LOWEST, _HIGHEST = 1.0, 5.0
_MOST_DRAWN = 20_000
_DRAWS = 200


def judged_verdicts(results: pl.LazyFrame, stage: str) -> pl.LazyFrame:
    """One row for each judge and answer. Open rows have no verdict yet."""
    rows = results.filter((pl.col("stage") == stage) & pl.col("label").is_not_null())
    judge = pl.concat_str("provider", "model", separator="/").alias("judge")
    renamed = rows.select(
        *(name for name in VERDICTS if name not in {"judge", "model", "length"}),
        judge,
        pl.col("candidate").alias("model"),
        pl.col("judged_length").alias("length"),
    )
    return renamed.select(pl.col(name).cast(kind) for name, kind in VERDICTS.items())


# What statistics need of a verdict.
_NAMES = ("stage", "arm", "judge", "item_id", "model", "label", *PARTS.values())
_NUMBERS = ("score", "length")


def read_judged(results: Path, stage: str) -> pl.DataFrame:
    """One stage's verdicts, as statistics need them, with the `input`: each name is kept once, sorted, and no text."""
    rows = judged_verdicts(pl.scan_parquet(results, glob=False), stage).with_columns(input=INPUT)
    # First what names there are, and then the rows: names of all rows are never in memory at once.
    found = names_in(rows, (*_NAMES, "input"))
    # Labels are asked for whether there are any or not.
    found["label"] = sorted_texts([*found["label"], UNPARSED, NONE])
    kinds = {name: pl.Enum(names) for name, names in found.items()}
    named = rows.select(*(pl.col(name).cast(kind) for name, kind in kinds.items()), *_NUMBERS)
    return named.collect(engine="streaming")


def score_table(verdicts: pl.DataFrame, *, shares: bool) -> pl.DataFrame:
    """One row for each candidate: of all judges and of each, over all statements and over each part of them."""
    rows = [row for scope, part in _scopes(verdicts) for row in _scores(scope, part, shares=shares)]
    return pl.DataFrame(rows, schema=SCORES, orient="row")


SCORES: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "scope": pl.String,
    "model": pl.String,
    "judge": pl.String,
    # `missing`: the judge has not answered.
    **dict.fromkeys(("n", "unparsed", "missing"), pl.Int64),
    **dict.fromkeys(("score", "se", "score_lwr", "score_upr"), pl.Float64),
    "n_clusters": pl.Int64,
    "length_correlation": pl.Float64,
    "note": pl.String,
}


def _scopes(verdicts: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    yield EVERYTHING, verdicts
    for word, column in PARTS.items():
        values = verdicts[column].drop_nulls().unique().sort()
        for value in values if len(values) > 1 else ():
            yield f"{word}={value}", verdicts.filter(pl.col(column) == value)


def _scores(scope: str, part: pl.DataFrame, *, shares: bool) -> Iterator[dict[str, Any]]:
    # One statement is one cluster: inside it, its inputs are what may differ.
    part = part.with_columns(cluster=pl.col("input" if scope.startswith("statement=") else "statement_id"))
    for (model,), of_model in part.group_by("model", maintain_order=True):
        several = of_model["judge"].n_unique() > 1
        yield _score(scope, str(model), EVERYBODY, of_model, shares=shares)
        if several and not scope.startswith("statement="):
            for (judge,), said in of_model.group_by("judge", maintain_order=True):
                yield _score(scope, str(model), str(judge), said, shares=shares)


def _score(scope: str, model: str, judge: str, said: pl.DataFrame, *, shares: bool) -> dict[str, Any]:
    read = said.filter(pl.col("score").is_not_null())
    facts = _rate(read) if shares else _mean(read)
    return {
        "stage": said["stage"][0],
        "scope": scope,
        "model": model,
        "judge": judge,
        "n": read.height,
        "unparsed": said.filter(pl.col("label") == UNPARSED).height,
        "missing": said.filter(pl.col("label") == NONE).height,
        "length_correlation": _correlation(read["score"], read["length"]),
        **facts,
    }


def _rate(read: pl.DataFrame) -> dict[str, Any]:
    found = asdict(rate(read["score"], read["cluster"], _LEVEL))
    return {
        "score": _known(found["rate"]),
        "se": _known(found["se"]),
        "score_lwr": found["rate_lwr"] if read.height else None,
        "score_upr": found["rate_upr"] if read.height else None,
        "n_clusters": found["n_clusters"],
        "note": found["problem"],
    }


def _mean(read: pl.DataFrame) -> dict[str, Any]:
    if read.is_empty():
        return {}
    values = read["score"].to_numpy().astype(np.float64)
    codes = cluster_codes(read["cluster"], read.height)
    clusters = int(codes.max()) + 1
    mean, error = float(values.mean()), mean_error(values, codes)
    reach = quantile(_LEVEL, clusters) * error if clusters > 1 and error > 0 else None
    alike = "All grades are the same: how far another would differ cannot be known."
    alone = "All rows are of one cluster: how far another would differ cannot be known."
    return {
        "score": mean,
        "se": _known(error) if clusters > 1 else None,
        "score_lwr": None if reach is None else max(_LOWEST, mean - reach),
        "score_upr": None if reach is None else min(_HIGHEST, mean + reach),
        "n_clusters": clusters,
        "note": None if reach is not None else alike if clusters > 1 else alone,
    }


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _correlation(one: pl.Series, other: pl.Series) -> float | None:
    """Pearson's; nothing where either is always the same."""
    both = pl.DataFrame({"a": one.cast(pl.Float64), "b": other.cast(pl.Float64)}).drop_nulls()
    if both.height < 3 or both["a"].n_unique() < 2 or both["b"].n_unique() < 2:
        return None
    return float(np.corrcoef(both["a"].to_numpy(), both["b"].to_numpy())[0, 1])


AGREEMENT: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "judge_a": pl.String,
    "judge_b": pl.String,
    **dict.fromkeys(("n_items", "n_left_out"), pl.Int64),
    **dict.fromkeys(("match", "kappa", "kappa_se", "kappa_lwr", "kappa_upr"), pl.Float64),
    **dict.fromkeys(("alpha", "alpha_lwr", "alpha_upr", "correlation"), pl.Float64),
    "note": pl.String,
}


def agreement_table(verdicts: pl.DataFrame, *, ordered: bool) -> pl.DataFrame | None:
    """Of all judges together and of each two, on the answers that both have judged; None where there is one judge.

    Arms of one judge (templates, thinking) count as judges of their own.
    """
    read = verdicts.filter(pl.col("score").is_not_null())
    wide = read.pivot(on="arm", index="item_id", values="score", aggregate_function="mean", sort_columns=True)
    wide = wide.sort("item_id").drop("item_id")
    if wide.width < 2:
        return None
    rows = [_agreed(wide, EVERYBODY, None, ordered=ordered)]
    rows += [
        _agreed(wide.select(one, other), one, other, ordered=ordered) for one, other in combinations(wide.columns, 2)
    ]
    stage = verdicts["stage"][0]
    return pl.DataFrame([{"stage": stage, **row} for row in rows], schema=AGREEMENT, orient="row")


def _agreed(wide: pl.DataFrame, one: str, other: str | None, *, ordered: bool) -> dict[str, Any]:
    met = wide.filter(pl.sum_horizontal(pl.all().is_not_null()) >= 2)
    drawn = _DRAWS if met.height <= _MOST_DRAWN else 0
    alpha = krippendorff_alpha(met, scale="ordinal" if ordered else "nominal", n_boot=drawn, level=_LEVEL)
    facts: dict[str, Any] = {
        "judge_a": one,
        "judge_b": other,
        "n_items": met.height,
        "n_left_out": wide.height - met.height,
        "match": None,
        "alpha": _known(alpha.value),
        "alpha_lwr": _known(alpha.lwr),
        "alpha_upr": _known(alpha.upr),
        "note": " ".join(alpha.problems) or None,
    }
    if other is None:
        return facts
    a, b = met[one], met[other]
    kappa = cohen_kappa(a, b, weights="quadratic" if ordered else "none", level=_LEVEL)
    return facts | {
        "match": None if met.is_empty() else float((a == b).sum()) / met.height,
        "kappa": _known(kappa.value),
        "kappa_se": _known(kappa.se),
        "kappa_lwr": _known(kappa.lwr),
        "kappa_upr": _known(kappa.upr),
        "correlation": _correlation(a, b),
    }


def bias_table(scored: pl.DataFrame, stage: str) -> pl.DataFrame | None:
    """Does a judge favour a candidate, its own family's above all? None where no answer has two judges.

    `scored` has `judge, model, item_id` and a `score`.
    """
    names = {name for column in ("judge", "model") for name in scored[column].unique().drop_nulls()}
    own = {name: maker_of(name) for name in names}
    try:
        found = judge_bias(scored.drop_nulls("score"), own=own)
    except OvernightError:
        return None
    return found.table.select(
        pl.lit(stage).alias("stage"), pl.all(), pl.lit(found.n_left_out, pl.Int64).alias("n_left_out")
    )
