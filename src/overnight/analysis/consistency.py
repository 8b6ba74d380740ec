"""The same pairs shown in both orders: does the judge hold to its choice, and if not, which position tempts it?

Columns and numbers are those of pairwiseLLM. Added is `p_inconsistent`, the exact sign test on the pairs where the
judge changed its mind: a consistent pair tells nothing about position, so the pooled test, which counts both of
its verdicts, is far too cautious, and the tests of one direction take quality for position when order follows it.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from overnight.analysis.samples import quantile
from overnight.analysis.tails import coin_tail
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import check_draws, seeded
from overnight.rank.columns import readable
from overnight.rank.verdicts import BadVerdicts, as_frame, require_columns

_REQUIRED: Final = (
    "key",
    "ID1_main",
    "ID2_main",
    "better_id_main",
    "ID1_rev",
    "ID2_rev",
    "better_id_rev",
    "is_consistent",
)
# What two items were compared on, where that is more than one thing: verdicts on different ones are no two orders.
_SUBJECT: Final = "subject"
_PAIR: Final = (_SUBJECT, "low", "high")


@dataclass(frozen=True)
class ReverseConsistency:
    """`summary` has `n_pairs, n_consistent, prop_consistent`; `details` one row per pair with a majority in both."""

    summary: pl.DataFrame
    details: pl.DataFrame


@dataclass(frozen=True)
class PositionalBias:
    """`summary` in one row; `details` with `winner_pos_main, winner_pos_rev, is_pos1_bias, is_pos2_bias` added."""

    summary: pl.DataFrame
    details: pl.DataFrame


@readable
def compute_reverse_consistency(main_results: Any, reverse_results: Any = None) -> ReverseConsistency:
    """Compare verdicts `ID1, ID2, better_id` in one order with those in the other, pair by pair.

    A run, or its table of verdicts, holds both orders and is given alone: they are told apart by `direction`, and
    where all rows have the same, by which of two was shown first. Verdicts may be of several judges; to look at one,
    filter the table. Several verdicts on a pair in one direction are settled by majority; pairs without one (a draw,
    or no verdict) are left out.
    """
    whole = _as_shown(main_results)
    orders = _two_orders(whole) if reverse_results is None else (whole, _as_shown(reverse_results))
    main, reverse = (_majorities(frame, name) for frame, name in zip(orders, ("main", "rev"), strict=True))
    # By its two items: a text made of both could be that of two others.
    joined = main.join(reverse, on=_PAIR, how="inner", nulls_equal=True)
    decided = joined.filter(pl.col("better_id_main").is_not_null() & pl.col("better_id_rev").is_not_null())
    details = (
        decided.with_columns((pl.col("better_id_main") == pl.col("better_id_rev")).alias("is_consistent"))
        .with_columns(pl.concat_str("low", "high", separator="||").alias("key"))
        .sort("key", *_PAIR)
        .select("key", pl.exclude("key", *_PAIR))
    )
    n_pairs = details.height
    n_consistent = int(details.get_column("is_consistent").sum())
    share = n_consistent / n_pairs if n_pairs else None
    summary = pl.DataFrame(
        {"n_pairs": [n_pairs], "n_consistent": [n_consistent], "prop_consistent": [share]},
        schema={"n_pairs": pl.Int64, "n_consistent": pl.Int64, "prop_consistent": pl.Float64},
    )
    return ReverseConsistency(summary, details)


@readable
def check_positional_bias(
    consistency: Any, n_boot: int = 1000, conf_level: float = 0.95, seed: int | None = None
) -> PositionalBias:
    """Test whether being shown first wins, from what `compute_reverse_consistency` found (or its details)."""
    source = consistency.details if isinstance(consistency, ReverseConsistency) else consistency
    check_draws("n_boot", n_boot)
    quantile(conf_level)
    details = as_frame(source)
    require_columns(details, _REQUIRED)
    if details.is_empty():
        raise WrongArgument("there is no pair with a verdict in both orders; nothing to check")
    for direction in ("main", "rev"):
        details = details.with_columns(_winner_position(direction).alias(f"winner_pos_{direction}"))
    changed = ~pl.col("is_consistent")
    for position in ("pos1", "pos2"):
        both = (pl.col("winner_pos_main") == position) & (pl.col("winner_pos_rev") == position)
        details = details.with_columns((changed & both).fill_null(value=False).alias(f"is_{position}_bias"))
    return PositionalBias(_bias_summary(details, n_boot, conf_level, seed), details)


def _as_shown(results: Any) -> pl.DataFrame:
    """`ID1, ID2, better_id` as text, with what else tells verdicts apart; of a run, of its verdicts, or as they are."""
    frame = as_frame(results.verdicts() if callable(getattr(results, "verdicts", None)) else results)
    if {"first_id", "second_id", "verdict"} <= set(frame.columns):
        won = pl.when(pl.col("verdict") == "first").then("first_id").when(pl.col("verdict") == "second")
        frame = frame.with_columns(better_id=won.then("second_id")).rename({"first_id": "ID1", "second_id": "ID2"})
    require_columns(frame, ["ID1", "ID2", "better_id"])
    others = [name for name in (_SUBJECT, "direction") if name in frame.columns]
    shown = frame.select(pl.col("ID1", "ID2", "better_id", *others).cast(pl.String)).drop_nulls(["ID1", "ID2"])
    return shown if _SUBJECT in others else shown.with_columns(pl.lit(None, pl.String).alias(_SUBJECT))


def _two_orders(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    first = pl.col("ID1") < pl.col("ID2")
    if "direction" in frame.columns and frame["direction"].n_unique() > 1:
        known = frame["direction"].unique().sort().to_list()
        if known != ["forward", "reverse"]:
            raise BadVerdicts(f"direction must be forward or reverse; found {', '.join(map(str, known))[:60]}")
        first = pl.col("direction") == "forward"
    return frame.filter(first), frame.filter(~first)


def _majorities(frame: pl.DataFrame, direction: str) -> pl.DataFrame:
    """One row per pair: its majority winner, how it was mostly shown, and the votes."""
    first, second = pl.col("ID1"), pl.col("ID2")
    votes = frame.drop_nulls("better_id").with_columns(
        low=pl.min_horizontal(first, second), high=pl.max_horizontal(first, second)
    )
    shown = votes.group_by(*_PAIR, "ID1", "ID2").len("times")
    shown = shown.sort(*_PAIR, "times", "ID1", descending=[*([False] * len(_PAIR)), True, False])
    orders = shown.group_by(*_PAIR, maintain_order=True).first().drop("times")
    tallied = (
        votes.join(orders, on=_PAIR, suffix="_shown", nulls_equal=True)
        .group_by(*_PAIR)
        .agg(
            _majority().alias("better_id"),
            pl.col("ID1_shown").first().alias("ID1"),
            pl.col("ID2_shown").first().alias("ID2"),
            pl.len().cast(pl.Int64).alias("votes"),
            (pl.col("better_id") == pl.col("ID1_shown")).sum().cast(pl.Int64).alias("A"),
            (pl.col("better_id") == pl.col("ID2_shown")).sum().cast(pl.Int64).alias("B"),
        )
    )
    return tallied.select(
        *_PAIR,
        pl.col("better_id").alias(f"better_id_{direction}"),
        pl.col("ID1").alias(f"ID1_{direction}"),
        pl.col("ID2").alias(f"ID2_{direction}"),
        pl.col("votes").alias(f"n_{direction}_votes"),
        pl.col("A").alias(f"n_{direction}_A"),
        pl.col("B").alias(f"n_{direction}_B"),
        pl.col("better_id").is_null().alias(f"is_{direction}_tie"),
    )


def _majority() -> pl.Expr:
    """The one id with the most votes, or null when several share the lead."""
    leaders = pl.col("better_id").mode()
    return pl.when(leaders.len() == 1).then(leaders.first()).otherwise(None)


def _winner_position(direction: str) -> pl.Expr:
    better = pl.col(f"better_id_{direction}")
    first, second = better == pl.col(f"ID1_{direction}"), better == pl.col(f"ID2_{direction}")
    return pl.when(first).then(pl.lit("pos1")).when(second).then(pl.lit("pos2"))


def _bias_summary(details: pl.DataFrame, n_boot: int, conf_level: float, seed: int | None) -> pl.DataFrame:
    consistent = details.get_column("is_consistent").to_numpy().astype(bool)
    n_pairs = len(consistent)
    rng = seeded(seed)
    again = rng.binomial(n_pairs, consistent.mean(), n_boot) / n_pairs
    low, high = np.quantile(again, [(1 - conf_level) / 2, (1 + conf_level) / 2])
    wins, valid = {}, {}
    for direction in ("main", "rev"):
        position = details.get_column(f"winner_pos_{direction}")
        wins[direction], valid[direction] = int((position == "pos1").sum()), int(position.is_not_null().sum())
    first, second = (int(details.get_column(f"is_{position}_bias").sum()) for position in ("pos1", "pos2"))
    facts: dict[str, float | int | None] = {
        "n_pairs": n_pairs,
        "prop_consistent": float(consistent.mean()),
        "boot_mean": float(again.mean()),
        "boot_lwr": float(low),
        "boot_upr": float(high),
        "p_sample1_main": _against_half(wins["main"], valid["main"]),
        "p_sample1_rev": _against_half(wins["rev"], valid["rev"]),
        "p_sample1_overall": _against_half(sum(wins.values()), sum(valid.values())),
        "total_pos1_wins": sum(wins.values()),
        "total_comparisons": sum(valid.values()),
        "n_inconsistent": int((~consistent).sum()),
        "n_inconsistent_pos1_bias": first,
        "n_inconsistent_pos2_bias": second,
        "p_inconsistent": _against_half(first, first + second),
    }
    return pl.DataFrame([facts])


def _against_half(wins: int, n: int) -> float | None:
    return coin_tail(wins, n) if n else None


__all__ = ["PositionalBias", "ReverseConsistency", "check_positional_bias", "compute_reverse_consistency"]
