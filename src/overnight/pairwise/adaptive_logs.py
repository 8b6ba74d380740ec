"""What an adaptive session did, step by step, round by round and sample by sample, from the tables of its run."""

import polars as pl

from overnight.core.errors import StudyError
from overnight.rank import ability_intervals, rank_probabilities
from overnight.tasks._pairs.rankings import READABLE, fitted

_STEPS = ("step_id", "round", "pair", "A_id", "B_id", "direction", "verdict", "winner_id", "why", "chance", "worth")


def step_log(selection: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    chosen = selection.select("item_id", "round", "why", "chance", "worth")
    asked = verdicts.select("item_id", "first_id", "second_id", "direction", "verdict", "winner_id")
    return (
        asked.join(chosen, on="item_id", how="inner")
        .sort("round", "item_id", "direction", maintain_order=True)
        .with_row_index("step_id", offset=1)
        .rename({"item_id": "pair", "first_id": "A_id", "second_id": "B_id"})
        .select(*_STEPS)
    )


def round_log(precision: pl.DataFrame) -> pl.DataFrame:
    return precision.drop("stage").sort("round")


def item_log(verdicts: pl.DataFrame, selection: pl.DataFrame, refit: int | None = None) -> pl.DataFrame:
    """After round `refit`: abilities and ranks by the fit that rounds are stopped by, with quantiles of both."""
    last = max(selection["round"].to_list())
    at = last if refit is None else refit
    if not 1 <= at <= last:
        raise StudyError(f"refit: wanted a round from 1 to {last}, found {refit}")
    until = selection.filter(pl.col("round") <= at)
    read = verdicts.filter(pl.col("verdict").is_in(READABLE)).join(until, on="item_id", how="semi")
    if read.is_empty():
        raise StudyError("there is no readable verdict yet")
    read = read.with_columns(subject=pl.lit(None, pl.String))
    fit = fitted(read, adaptive=True)
    low, high = ability_intervals(fit)
    shown = pl.concat([read.select(ID="first_id", first=pl.lit(1)), read.select(ID="second_id", first=pl.lit(0))])
    met = shown.group_by("ID").agg(deg=pl.len(), posA_prop=pl.col("first").mean())
    table = pl.DataFrame({"ID": fit.items, "theta_mean": fit.theta, "theta_sd": fit.se}).with_columns(
        pl.Series("theta_p2.5", low), pl.Series("theta_p97.5", high), refit_id=pl.lit(at)
    )
    ranks = rank_probabilities(fit)
    if ranks is not None:
        table = table.join(ranks.table.drop("theta"), on="ID", how="left")
    return (
        table.join(met, on="ID", how="left")
        .sort("theta_mean", "ID", descending=[True, False])
        .select("refit_id", "ID", "deg", "posA_prop", pl.exclude("refit_id", "ID", "deg", "posA_prop"))
    )
