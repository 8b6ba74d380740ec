"""`rankings.parquet`: the order that verdicts come to, of all judges together and by template, model and thinking."""

from collections.abc import Collection, Iterator
from math import isfinite, isnan
from pathlib import Path

import polars as pl

from overnight.tables.parquet import keep_parquet

EVERYTHING = "all"
# Tables are made at the end of every pass: a fit that takes minutes is left to `rank-pairs`.
MOST_RANKED = 3_000
# What a ranking may be of, where there are several: the word in `scope`, and the column of the verdicts.
_PARTS = {"template": "template", "model": "judge", "thinking": "thinking"}
# How a fit says that the order of pairs does not tell what being shown first does.
_IN_FIXED_ORDER = "no pair was shown in both orders"
_READ = ("stage", "first_id", "second_id", "verdict", *_PARTS.values())
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


def write_rankings(verdicts: Path, path: Path, adaptive: Collection[str] = ()) -> bool:
    """From the table of verdicts; False, and no file, where nothing can be ranked.

    `adaptive` are the stages whose pairs were chosen by earlier verdicts.
    """
    path.unlink(missing_ok=True)
    found = list(_rankings(pl.read_parquet(verdicts, glob=False, columns=list(_READ)), adaptive))
    if found:
        keep_parquet(pl.concat(found).lazy(), path)
    return bool(found)


def _rankings(verdicts: pl.DataFrame, adaptive: Collection[str]) -> Iterator[pl.DataFrame]:
    readable = verdicts.filter(pl.col("verdict").is_in(["first", "second", "tie"]))
    for (stage,), rows in readable.group_by("stage", maintain_order=True):
        if pl.concat([rows["first_id"], rows["second_id"]]).n_unique() > MOST_RANKED:
            continue
        chosen = str(stage) in adaptive
        yield _ranking(rows, str(stage), EVERYTHING, adaptive=chosen)
        for word, column in _PARTS.items():
            values = rows[column].unique().sort()
            for value in values if len(values) > 1 else ():
                yield _ranking(rows.filter(pl.col(column) == value), str(stage), f"{word}={value}", adaptive=chosen)


def _ranking(rows: pl.DataFrame, stage: str, scope: str, *, adaptive: bool) -> pl.DataFrame:
    """Votes on one pair count as dependent, and being shown first is allowed for wherever the order can tell it.

    Where pairs were chosen by earlier verdicts, and where somebody won or lost everything, a prior is learnt from the
    verdicts: likelihood alone would take the luck of the first rounds for ability, or end in infinity.
    """
    # numpy and scipy take half a second, which a run without pairs need not wait.
    from overnight.rank import ability_intervals, build_bt_data, fit_bt_model, summarize_bt_fit  # noqa: PLC0415

    verdicts = build_bt_data(rows)
    fit = fit_bt_model(verdicts, position=True, by_pair=True, penalty="eb" if adaptive else 0.0)
    if not adaptive and not all(isfinite(ability) for ability in fit.theta):
        fit = fit_bt_model(verdicts, position=True, by_pair=True, penalty="eb")
    if fit.position is None or isnan(fit.position) or any(_IN_FIXED_ORDER in one for one in fit.problems):
        # Pairs in a fixed order: what being shown first does cannot be told from ability, and stays out.
        fit = fit_bt_model(verdicts, by_pair=True, penalty=0.0 if fit.penalty == 0.0 else "eb")
    low, high = ability_intervals(fit)
    bounds = pl.DataFrame({"ID": fit.items, "theta_lwr": low, "theta_upr": high})
    table = (
        summarize_bt_fit(fit)
        .join(bounds, on="ID", how="left", maintain_order="left")
        .with_columns(
            stage=pl.lit(stage),
            scope=pl.lit(scope),
            comparisons=pl.lit(rows.height),
            pairs=pl.lit(_pair_count(rows)),
            position=pl.lit(fit.position, pl.Float64),
            position_se=pl.lit(fit.position_se, pl.Float64),
            note=pl.lit(" ".join(fit.problems) or None, pl.String),
        )
    )
    return table.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def _pair_count(rows: pl.DataFrame) -> int:
    return rows.select(
        pl.min_horizontal("first_id", "second_id"), high=pl.max_horizontal("first_id", "second_id")
    ).n_unique()
