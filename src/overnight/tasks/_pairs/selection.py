"""Pairs that were chosen in rounds: why each was (`selection.parquet`), and how sure the order was after each round.

Both are made from the rows of the results, each of which names its round. What a verdict was worth is computed again,
from the verdicts on record of the rounds before.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from overnight.tasks._pairs.adapting import Places, Tally, believed, worth_of
from overnight.tasks._pairs.certainty import known_by
from overnight.tasks._pairs.pairing import PairPlan, pair_count, pair_of
from overnight.tasks._pairs.rankings import EVERYTHING, READABLE, fitted, ranking_of
from overnight.tasks._pairs.stopping import Known, Until, why_enough

# A fit for each round takes its time: with more items than these, the last one is all there is.
MOST_FOLLOWED = 1_000
NET = "drawn by lot, samples taken evenly"
TELLING = "its verdict is open, and its samples are in a crowd or little known"
SELECTION: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "round": pl.Int64,
    "item_id": pl.String,
    "first_id": pl.String,
    "second_id": pl.String,
    "why": pl.String,
    # By the verdicts of the rounds before: how probable it was that the first wins, and how open that is (0 to 1).
    "chance": pl.Float64,
    "worth": pl.Float64,
}
PRECISION: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    **dict.fromkeys(("round", "pairs", "verdicts", "items"), pl.Int64),
    # Of all answers so far, in US dollars; nothing where one of them has no price.
    "cost": pl.Float64,
    # Of the abilities: mean error, share of the spread that is real, mean width of the 95% intervals, in log-odds.
    **dict.fromkeys(("mean_se", "reliability", "width"), pl.Float64),
    # That the first `until.top` are the best so many; and how well two halves of the verdicts agree (last round).
    **dict.fromkeys(("top_certainty", "split_half"), pl.Float64),
    # How many items may be the best, and the share of all pairs of items whose order is known; 95% for all at once.
    "could_be_best": pl.Int64,
    "told_apart": pl.Float64,
    # Why no further round was asked: of the last round, once that is known.
    "stopped": pl.String,
}


def selection_tables(results: Path, stage: str, plan: PairPlan | None = None) -> Iterator[tuple[str, pl.DataFrame]]:
    """Of a stage that asks in rounds; none while nothing was asked, and of rows that do not name their rounds."""
    rows = pl.scan_parquet(results, glob=False).filter(pl.col("stage") == stage)
    if "round" not in rows.collect_schema():
        return
    columns = ("stage", "round", "item_id", "first_id", "second_id", "verdict", "status", "cost")
    asked = rows.select(*columns).sort("round", "item_id", maintain_order=True).collect()
    if asked.is_empty():
        return
    yield "selection", _selection(asked)
    judged = rows.with_columns(subject=pl.lit(None, pl.String)).collect()
    found = list(_after_each_round(judged, asked, None if plan is None else plan.until))
    if found:
        if plan is not None:
            found[-1]["stopped"] = _why_stopped(found[-1], asked, plan)
        yield "precision", pl.DataFrame(found, schema=PRECISION, orient="row")


def _selection(asked: pl.DataFrame) -> pl.DataFrame:
    found: list[dict[str, Any]] = []
    known: dict[tuple[str, str], Tally] = {}
    for (number,), part in asked.group_by("round", maintain_order=True):
        pairs = {name: pair_of(name) for name in part["item_id"].unique(maintain_order=True)}
        names = sorted({sample for both in (*known, *_both(pairs.values())) for sample in both})
        places = {name: place for place, name in enumerate(names)}
        tallies: dict[Places, Tally] = {(places[one], places[other]): tally for (one, other), tally in known.items()}
        beliefs = believed(len(names), tallies)
        for name, pair in pairs.items():
            row = {"stage": asked["stage"][0], "round": number, "item_id": name}
            row |= {"first_id": pair.first, "second_id": pair.second, "why": NET}
            if known:
                chance, worth = worth_of(beliefs[places[pair.first]], beliefs[places[pair.second]])
                row |= {"why": TELLING, "chance": chance, "worth": worth}
            found.append(row)
        _add(known, part)
    return pl.DataFrame(found, schema=SELECTION, orient="row")


def _both(pairs: Any) -> Iterator[tuple[str, str]]:
    return ((pair.first, pair.second) for pair in pairs)


def _add(known: dict[tuple[str, str], Tally], rows: pl.DataFrame) -> None:
    """All judges' verdicts on each pair that was asked; those that gave none count for nothing."""
    for name, first, verdict in rows.select("item_id", "first_id", "verdict").iter_rows():
        pair = pair_of(name)
        low, high = sorted((pair.first, pair.second))
        wins, verdicts = known.get((low, high), Tally(0.0, 0))
        share = {"first": 1.0, "second": 0.0, "tie": 0.5}.get(verdict)
        if share is not None:
            wins, verdicts = wins + (share if first == low else 1 - share), verdicts + 1
        known[low, high] = Tally(wins, verdicts)


def _after_each_round(judged: pl.DataFrame, asked: pl.DataFrame, until: Until | None) -> Iterator[dict[str, Any]]:
    last = asked.filter(pl.col("status") != "pending")["round"].max()
    for number in asked["round"].unique().sort():
        read = judged.filter((pl.col("round") <= number) & pl.col("verdict").is_in(READABLE))
        items = pl.concat([read["first_id"], read["second_id"]]).n_unique()
        if read.is_empty() or items > MOST_FOLLOWED:
            continue
        so_far = asked.filter((pl.col("round") <= number) & (pl.col("status") != "pending"))
        costs = so_far.filter((pl.col("status") != "failed") | pl.col("cost").is_not_null())["cost"]
        fit = fitted(read, adaptive=True)
        ranking = ranking_of(read, EVERYTHING, adaptive=True, fit=fit)
        yield {
            "stage": asked["stage"][0],
            "round": number,
            "pairs": so_far["item_id"].n_unique(),
            "verdicts": read.height,
            "items": items,
            "cost": None if costs.null_count() or costs.is_empty() else sum(sorted(costs.to_list())),
            **known_by(read, until, fit, halves=number == last)._asdict(),
            **_order(ranking),
        }


def _why_stopped(last: dict[str, Any], asked: pl.DataFrame, plan: PairPlan) -> str | None:
    """None while rows are open, and where a run was left before its last round."""
    if (asked["status"] == "pending").any():
        return None
    if plan.until is not None:
        enough = why_enough(Known(*(last[name] for name in Known._fields)), plan.until)
        if enough is not None:
            return enough
    wanted = plan.count(pair_count(last["items"]))
    return f"all {wanted:,} pairs were asked" if last["pairs"] >= wanted else None


def _order(ranking: pl.DataFrame) -> dict[str, Any]:
    """From the intervals of all ranks at once."""
    known = ranking.drop_nulls(["rank_lwr", "rank_upr"])
    if known.height < ranking.height or known.height < 2:
        return {}
    low, high = (known[name].to_numpy() for name in ("rank_lwr", "rank_upr"))
    behind = len(low) - np.searchsorted(np.sort(low), high, side="right")
    pairs = len(low) * (len(low) - 1) / 2
    return {"could_be_best": int((low == 1).sum()), "told_apart": float(behind.sum() / pairs)}
