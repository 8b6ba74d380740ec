"""The same pairs shown in both orders: does the judge hold to its choice, and if not, which position tempts it?

Columns and numbers are those of pairwiseLLM. Added is `p_inconsistent`, the exact sign test on the pairs where the
judge changed its mind: a consistent pair tells nothing about position, so the pooled test, which counts both of
its verdicts, is far too cautious, and the tests of one direction take quality for position when order follows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from overnight.core.errors import WrongArgument
from overnight.rank.arrays import check_draws, seeded
from overnight.rank.columns import readable
from overnight.rank.distributions import coin_test
from overnight.rank.labels import in_parts, named, names_of, pair_codes, places
from overnight.rank.shares import quantile
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
_LEVEL: Final = 0.95
_IDS: Final = ("ID1", "ID2", "better_id")
_SHOWN: Final = ("ID1", "ID2")
# The votes for the one that is shown first, and for the other.
_WON: Final = tuple(
    pl.when(pl.col("better_id") == pl.col(one)).then("votes").otherwise(0).alias(name)
    for name, one in (("A", "ID1"), ("B", "ID2"))
)
# What is counted of a pair that is decided in both orders.
_COUNTED: Final = ("is_consistent", "winner_pos_main", "winner_pos_rev", "is_pos1_bias", "is_pos2_bias")


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


@dataclass(frozen=True)
class OrderCounts:
    """Pairs that were asked in both orders, whatever was answered, and those of them with a majority in both.

    `decided` has few rows, with the `times` of each: consistent or not, and which position won in either order.
    """

    asked: int
    decided: pl.DataFrame

    @property
    def pairs(self) -> int:
        return int(self.decided["times"].sum())

    @property
    def consistent(self) -> int:
        return int(self.decided.filter("is_consistent")["times"].sum())


@readable
def compute_reverse_consistency(main_results: Any, reverse_results: Any = None) -> ReverseConsistency:
    """Compare verdicts `ID1, ID2, better_id` in one order with those in the other, pair by pair.

    A run, or its table of verdicts, holds both orders and is given alone: they are told apart by `direction`, and
    where all rows have the same, by which of two was shown first. Verdicts may be of several judges; to look at one,
    filter the table. Several verdicts on a pair in one direction are settled by majority; pairs without one (a draw,
    or no verdict) are left out.
    """
    orders, names = _orders(main_results, reverse_results)
    decided = _decided(*orders)
    ids = [name for name in decided.columns if name.startswith(_IDS)]
    shown = decided.with_columns(names.gather(decided[name]).alias(name) for name in ids)
    low, high = (one("ID1_main", "ID2_main") for one in (pl.min_horizontal, pl.max_horizontal))
    # By subject where the names are the same.
    details = (
        shown.with_columns(pl.concat_str(low, high, separator="||").alias("key"))
        .sort("key", "pair")
        .select("key", pl.exclude("key", "pair"))
    )
    n_pairs = details.height
    n_consistent = int(details.get_column("is_consistent").sum())
    share = n_consistent / n_pairs if n_pairs else None
    summary = pl.DataFrame(
        {"n_pairs": [n_pairs], "n_consistent": [n_consistent], "prop_consistent": [share]},
        schema={"n_pairs": pl.Int64, "n_consistent": pl.Int64, "prop_consistent": pl.Float64},
    )
    return ReverseConsistency(summary, details)


def count_orders(results: Any) -> OrderCounts:
    """What `compute_reverse_consistency` and `check_positional_bias` count, of verdicts in both orders.

    Pairs are settled some at a time, so that a million verdicts need little more memory than they take themselves.
    """
    (main, reverse), _ = _orders(results, None)
    asked, found = 0, []
    for mine in in_parts(main.height + reverse.height, "pair"):
        orders = main.filter(mine), reverse.filter(mine)
        shown = pl.concat([order.select("pair", turned=pl.col("ID1") > pl.col("ID2")) for order in orders]).unique()
        asked += shown.height - shown["pair"].n_unique()
        found.append(_tallied(_with_positions(_decided(*orders))))
    return OrderCounts(asked, pl.concat(found).group_by(_COUNTED).agg(pl.col("times").sum()))


def _orders(main_results: Any, reverse_results: Any) -> tuple[Sequence[pl.DataFrame], pl.Series]:
    """The verdicts in either order as numbers, and the names of which ids are the places."""
    results = (main_results,) if reverse_results is None else (main_results, reverse_results)
    given = [_as_shown(one) for one in results]
    ids = named(*(frame[name] for frame in given for name in _IDS))
    subjects = named(*(frame[_SUBJECT] for frame in given))
    coded = [_coded(frame, ids[3 * at : 3 * at + 3], subjects[at]) for at, frame in enumerate(given)]
    return _two_orders(coded[0]) if reverse_results is None else coded, names_of(ids[0])


def _decided(main_order: pl.DataFrame, reverse_order: pl.DataFrame) -> pl.DataFrame:
    """Pairs with a majority in both orders."""
    main, reverse = _majorities(main_order, "main"), _majorities(reverse_order, "rev")
    # By its two items: a text made of both could be that of two others.
    joined = main.join(reverse, on="pair", how="inner")
    decided = joined.filter(pl.col("better_id_main").is_not_null() & pl.col("better_id_rev").is_not_null())
    return decided.with_columns((pl.col("better_id_main") == pl.col("better_id_rev")).alias("is_consistent"))


def _coded(frame: pl.DataFrame, ids: Sequence[pl.Series], subject: pl.Series) -> pl.DataFrame:
    """`pair, ID1, ID2, better_id` as numbers, with the direction where there is one."""
    others = [frame[name] for name in ("direction",) if name in frame.columns]
    return pl.DataFrame([pair_codes(ids[0], ids[1], subject), *map(places, ids), *others])


@readable
def check_positional_bias(
    consistency: Any, n_boot: int = 1000, conf_level: float = _LEVEL, seed: int | None = None
) -> PositionalBias:
    """Test whether being shown first wins, from what `compute_reverse_consistency` found (or its details)."""
    source = consistency.details if isinstance(consistency, ReverseConsistency) else consistency
    check_draws("n_boot", n_boot)
    quantile(conf_level)
    details = as_frame(source)
    require_columns(details, _REQUIRED)
    if details.is_empty():
        raise WrongArgument("there is no pair with a verdict in both orders; nothing to check")
    details = _with_positions(details)
    held = pl.Series("is_consistent", details["is_consistent"].to_numpy().astype(bool))
    facts = _bias_facts(_tallied(details.with_columns(held)), n_boot, conf_level, seed)
    return PositionalBias(pl.DataFrame([facts]), details)


def positional_bias(decided: pl.DataFrame, n_boot: int, seed: int) -> dict[str, Any]:
    """The one row of `check_positional_bias`, of what `count_orders` found."""
    return _bias_facts(decided, n_boot, _LEVEL, seed)


def _as_shown(results: Any) -> pl.DataFrame:
    """`ID1, ID2, better_id` as text, with what else tells verdicts apart; of a run, of its verdicts, or as they are."""
    frame = as_frame(results.verdicts() if callable(getattr(results, "verdicts", None)) else results)
    if {"first_id", "second_id", "verdict"} <= set(frame.columns):
        first, second = named(frame["first_id"], frame["second_id"])
        frame = frame.with_columns(first.alias("ID1"), second.alias("ID2"))
        won = pl.when(pl.col("verdict") == "first").then("ID1").when(pl.col("verdict") == "second").then("ID2")
        frame = frame.with_columns(better_id=won)
    require_columns(frame, _IDS)
    others = [name for name in (_SUBJECT, "direction") if name in frame.columns]
    texts = [name for name in (*_IDS, *others) if not isinstance(frame.schema[name], pl.Enum)]
    shown = frame.select(*_IDS, *others).with_columns(pl.col(texts).cast(pl.String)).drop_nulls(["ID1", "ID2"])
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
    votes = frame.drop_nulls("better_id").group_by("pair", *_IDS).len("votes")
    # Nearly all pairs have the same vote only, or one: nothing is to be settled there.
    agreed = pl.col("pair").is_unique()
    alone = votes.filter(agreed).select("pair", "better_id", *_SHOWN, "votes", *_WON)
    tallied = pl.concat([alone, _settled(votes.filter(~agreed))])
    return tallied.select(
        "pair",
        pl.col("better_id").alias(f"better_id_{direction}"),
        pl.col("ID1").alias(f"ID1_{direction}"),
        pl.col("ID2").alias(f"ID2_{direction}"),
        pl.col("votes").cast(pl.Int64).alias(f"n_{direction}_votes"),
        pl.col("A").cast(pl.Int64).alias(f"n_{direction}_A"),
        pl.col("B").cast(pl.Int64).alias(f"n_{direction}_B"),
        pl.col("better_id").is_null().alias(f"is_{direction}_tie"),
    )


def _settled(votes: pl.DataFrame) -> pl.DataFrame:
    """Pairs that were shown or voted for in several ways."""
    shown = votes.group_by("pair", *_SHOWN).agg(pl.col("votes").sum().alias("times"))
    shown = shown.sort("pair", "times", "ID1", descending=[False, True, False])
    mostly = shown.unique("pair", keep="first", maintain_order=True).drop("times")
    tallied = (
        votes.select("pair", "better_id", "votes")
        .join(mostly, on="pair")
        .with_columns(_WON)
        .group_by("pair")
        .agg(pl.col(_SHOWN).first(), pl.col("votes", "A", "B").sum())
    )
    return tallied.join(_majority(votes), on="pair").select("pair", "better_id", *_SHOWN, "votes", "A", "B")


def _majority(votes: pl.DataFrame) -> pl.DataFrame:
    """By pair: the one id with the most votes, or null when several share the lead."""
    by_id = votes.group_by("pair", "better_id").agg(pl.col("votes").sum())
    leaders = by_id.filter(pl.col("votes") == pl.col("votes").max().over("pair"))
    alone = pl.when(pl.len() == 1).then(pl.col("better_id").first())
    return leaders.group_by("pair").agg(alone.alias("better_id"))


def _with_positions(details: pl.DataFrame) -> pl.DataFrame:
    for direction in ("main", "rev"):
        details = details.with_columns(_winner_position(direction).alias(f"winner_pos_{direction}"))
    changed = ~pl.col("is_consistent")
    for position in ("pos1", "pos2"):
        both = (pl.col("winner_pos_main") == position) & (pl.col("winner_pos_rev") == position)
        details = details.with_columns((changed & both).fill_null(value=False).alias(f"is_{position}_bias"))
    return details


def _winner_position(direction: str) -> pl.Expr:
    better = pl.col(f"better_id_{direction}")
    first, second = better == pl.col(f"ID1_{direction}"), better == pl.col(f"ID2_{direction}")
    return pl.when(first).then(pl.lit("pos1")).when(second).then(pl.lit("pos2"))


def _tallied(details: pl.DataFrame) -> pl.DataFrame:
    return details.group_by(_COUNTED).agg(pl.len().cast(pl.Int64).alias("times"))


def _bias_facts(counts: pl.DataFrame, n_boot: int, conf_level: float, seed: int | None) -> dict[str, Any]:
    def times(which: pl.Expr) -> int:
        return int(counts.filter(which)["times"].sum())

    n_pairs, consistent = int(counts["times"].sum()), times(pl.col("is_consistent"))
    rng = seeded(seed)
    again = rng.binomial(n_pairs, consistent / n_pairs, n_boot) / n_pairs
    low, high = np.quantile(again, [(1 - conf_level) / 2, (1 + conf_level) / 2])
    position = {direction: pl.col(f"winner_pos_{direction}") for direction in ("main", "rev")}
    wins = {direction: times(winner == "pos1") for direction, winner in position.items()}
    valid = {direction: times(winner.is_not_null()) for direction, winner in position.items()}
    first, second = (times(pl.col(f"is_{place}_bias")) for place in ("pos1", "pos2"))
    return {
        "n_pairs": n_pairs,
        "prop_consistent": consistent / n_pairs,
        "boot_mean": float(again.mean()),
        "boot_lwr": float(low),
        "boot_upr": float(high),
        "p_sample1_main": _against_half(wins["main"], valid["main"]),
        "p_sample1_rev": _against_half(wins["rev"], valid["rev"]),
        "p_sample1_overall": _against_half(sum(wins.values()), sum(valid.values())),
        "total_pos1_wins": sum(wins.values()),
        "total_comparisons": sum(valid.values()),
        "n_inconsistent": n_pairs - consistent,
        "n_inconsistent_pos1_bias": first,
        "n_inconsistent_pos2_bias": second,
        "p_inconsistent": _against_half(first, first + second),
    }


def _against_half(wins: int, n: int) -> float | None:
    return coin_test(wins, n) if n else None


__all__ = [
    "OrderCounts",
    "PositionalBias",
    "ReverseConsistency",
    "check_positional_bias",
    "compute_reverse_consistency",
    "count_orders",
    "positional_bias",
]
