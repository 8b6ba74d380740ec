"""`rankings.parquet`: the order that verdicts come to, of all judges together and by template, model and thinking."""

from collections.abc import Iterator
from math import isfinite, isnan
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from overnight.rank import BradleyTerryFit

EVERYTHING = "all"
# Tables are made at the end of every pass: a fit that takes minutes is left to `rank-pairs`.
MOST_RANKED = 3_000
READABLE = ("first", "second", "tie")
# What a ranking may be of, where there are several: the word in `scope`, and the column of the verdicts.
_PARTS = {"template": "template", "model": "judge", "thinking": "thinking"}
# As small as no error of verdicts is; what is left where they cancel out is of the fit itself.
_NOTHING = 1e-6
# How a fit says that the order of pairs does not tell what being shown first does.
_IN_FIXED_ORDER = "no pair was shown in both orders"
COLUMNS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "scope": pl.String,
    "ID": pl.String,
    "theta": pl.Float64,
    "se": pl.Float64,
    "theta_lwr": pl.Float64,
    "theta_upr": pl.Float64,
    "rank": pl.Int64,
    "rank_lwr": pl.Int64,
    "rank_upr": pl.Int64,
    "engine": pl.String,
    "reliability": pl.Float64,
    "comparisons": pl.Int64,
    "pairs": pl.Int64,
    "position": pl.Float64,
    "position_se": pl.Float64,
    "note": pl.String,
}


def rankings(verdicts: pl.DataFrame, *, adaptive: bool) -> Iterator[pl.DataFrame]:
    """Of one stage's verdicts: over all of them, and for each part; none where nothing can be ranked.

    `adaptive` says that its pairs were chosen by earlier verdicts.
    """
    rows = verdicts.filter(pl.col("verdict").is_in(READABLE))
    if rows.is_empty() or pl.concat([rows["first_id"], rows["second_id"]]).n_unique() > MOST_RANKED:
        return
    yield ranking_of(rows, EVERYTHING, adaptive=adaptive)
    for word, column in _PARTS.items():
        values = rows[column].unique().sort()
        for value in values if len(values) > 1 else ():
            yield ranking_of(rows.filter(pl.col(column) == value), f"{word}={value}", adaptive=adaptive)


def ranking_of(rows: pl.DataFrame, scope: str, *, adaptive: bool, fit: "BradleyTerryFit | None" = None) -> pl.DataFrame:
    """Votes on one pair count as dependent, and being shown first is allowed for wherever the order can tell it.

    Where pairs were chosen by earlier verdicts, and where somebody won or lost everything, a prior is learnt from the
    verdicts: likelihood alone would take the luck of the first rounds for ability, or end in infinity. `fit`: theirs,
    where it is there already.
    """
    # numpy and scipy take half a second, which a run without pairs need not wait.
    from overnight.rank import ability_intervals, summarize_bt_fit  # noqa: PLC0415

    fit = fitted(rows, adaptive=adaptive) if fit is None else fit
    low, high = ability_intervals(fit)
    bounds = pl.DataFrame({"ID": fit.items, "theta_lwr": low, "theta_upr": high})
    table = (
        summarize_bt_fit(fit)
        .join(bounds, on="ID", how="left", maintain_order="left")
        .with_columns(
            stage=pl.lit(rows["stage"][0], pl.String),
            scope=pl.lit(scope),
            comparisons=pl.lit(rows.height),
            pairs=pl.lit(_pair_count(rows)),
            position=pl.lit(fit.position, pl.Float64),
            position_se=pl.lit(fit.position_se, pl.Float64),
        )
    )
    notes = [*fit.problems, *fit.coin_problems]
    if table.filter(_cancelled("se") | _cancelled("position_se")).height:
        notes.append("Where verdicts cancel out to the last one, there is no error to be told.")
    table = table.with_columns(
        *(pl.when(~_cancelled("se")).then(name).alias(name) for name in ("se", "theta_lwr", "theta_upr")),
        pl.when(~_cancelled("position_se")).then("position_se").alias("position_se"),
        note=pl.lit(" ".join(notes) or None, pl.String),
    )
    return table.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def _cancelled(error: str) -> pl.Expr:
    """Whether an error comes out as nothing: few clusters in balance, and not what is known exactly."""
    return pl.col(error).fill_null(1.0) < _NOTHING


def fitted(rows: pl.DataFrame, *, adaptive: bool) -> "BradleyTerryFit":
    """The model that a ranking is made of."""
    from overnight.rank import build_bt_data, fit_bt_model  # noqa: PLC0415 - as above
    from overnight.rank.labels import how_often, pair_codes  # noqa: PLC0415

    verdicts = build_bt_data(rows)
    on_subjects = bool(rows["subject"].count())
    if on_subjects:
        # The same two on several subjects: verdicts depend on each other where the subject is the same. Votes on one
        # pair there count as one: neither a prior nor the reliability may learn from the same evidence again.
        pair = pair_codes(verdicts["object1"], verdicts["object2"], rows["subject"])
        verdicts = verdicts.with_columns(rows["subject"], weight=1 / how_often(pair))

    def with_prior(*, learn: bool, position: bool) -> "BradleyTerryFit":
        if learn:
            return fit_bt_model(verdicts, position=position, by_pair=not on_subjects, penalty="eb")
        if on_subjects:
            return fit_bt_model(verdicts, position=position, cluster="subject", small_sample=True)
        return fit_bt_model(verdicts, position=position, by_pair=True)

    learn = adaptive
    fit = with_prior(learn=learn, position=True)
    if not learn and not all(isfinite(ability) for ability in fit.theta):
        learn = True
        fit = with_prior(learn=learn, position=True)
    if fit.position is None or isnan(fit.position) or any(_IN_FIXED_ORDER in one for one in fit.problems):
        # Pairs in a fixed order: what being shown first does cannot be told from ability, and stays out.
        fit = with_prior(learn=learn, position=False)
    return fit


def _pair_count(rows: pl.DataFrame) -> int:
    from overnight.rank.labels import pair_codes  # noqa: PLC0415 - as above

    return pair_codes(rows["first_id"], rows["second_id"]).n_unique()
