"""`rankings.parquet`: the order that verdicts come to, for all judges of a stage together and for each of several."""

from collections.abc import Iterator
from importlib.util import find_spec
from math import isfinite
from pathlib import Path

import polars as pl

from overnight.tables.parquet import keep_parquet

EVERYONE = "all"
# Tables are made at the end of every pass: a fit that takes minutes is left to `rank-pairs`.
MOST_RANKED = 3_000
_READ = ("stage", "judge", "first_id", "second_id", "direction", "verdict")
COLUMNS: dict[str, type[pl.DataType]] = {
    "ID": pl.String,
    "theta": pl.Float64,
    "se": pl.Float64,
    "rank": pl.Int64,
    "rank_lwr": pl.Int64,
    "rank_upr": pl.Int64,
    "engine": pl.String,
    "reliability": pl.Float64,
    "stage": pl.String,
    "judge": pl.String,
    "comparisons": pl.Int64,
    "position": pl.Float64,
    "position_se": pl.Float64,
    "note": pl.String,
}


def write_rankings(verdicts: Path, path: Path) -> bool:
    """From the table of verdicts; False, and no file, where nothing can be ranked, or numpy and scipy are not there."""
    path.unlink(missing_ok=True)
    found = list(_rankings(pl.read_parquet(verdicts, columns=list(_READ))))
    if found:
        keep_parquet(pl.concat(found).lazy(), path)
    return bool(found)


def _rankings(verdicts: pl.DataFrame) -> Iterator[pl.DataFrame]:
    if not (find_spec("numpy") and find_spec("scipy")):  # they are an extra
        return
    readable = verdicts.filter(pl.col("verdict").is_in(["first", "second", "tie"]))
    for (stage,), rows in readable.group_by("stage", maintain_order=True):
        if pl.concat([rows["first_id"], rows["second_id"]]).n_unique() > MOST_RANKED:
            continue
        yield _ranking(rows, str(stage), EVERYONE)
        judges = rows["judge"].unique().sort()
        if len(judges) > 1:
            for judge in judges:
                yield _ranking(rows.filter(pl.col("judge") == judge), str(stage), judge)


def _ranking(rows: pl.DataFrame, stage: str, judge: str) -> pl.DataFrame:
    """The place of a sample in its prompt is allowed for where both orders were asked: else it cannot be told.

    Where somebody won or lost everything, no finite ability fits best: a penalty learned from the verdicts gives one.
    """
    from overnight.rank import build_bt_data, fit_bt_model, summarize_bt_fit  # noqa: PLC0415 - as above

    verdicts, both_orders = build_bt_data(rows), rows["direction"].n_unique() > 1
    fit = fit_bt_model(verdicts, position=both_orders)
    if not all(isfinite(ability) for ability in fit.theta):
        fit = fit_bt_model(verdicts, position=both_orders, penalty="eb")
    table = summarize_bt_fit(fit).with_columns(
        stage=pl.lit(stage),
        judge=pl.lit(judge),
        comparisons=pl.lit(rows.height),
        position=pl.lit(fit.position, pl.Float64),
        position_se=pl.lit(fit.position_se, pl.Float64),
        note=pl.lit(" ".join(fit.problems) or None, pl.String),
    )
    return table.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())
