"""Tables of compared answers: who won against whom, rankings of each part of a specification, and what length does."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from overnight.analysis import rate
from overnight.tasks._pairs.rankings import rankings

# Parts of a specification that candidates are ranked on: the word in `scope`, and the column of the results.
_PARTS = {"section": "section", "type": "statement_type", "authority": "authority_level"}
EVERYBODY = "all"
_COUNTED = ("wins", "losses", "ties", "none", "unparsed", "missing")
MATCHES: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "judge": pl.String,
    "model": pl.String,
    "opponent": pl.String,
    # `none`: the judge cannot tell. `missing`: it has not answered.
    **dict.fromkeys(_COUNTED, pl.Int64),
    # Over inputs that were judged in both orders: won in both, lost in both, or neither.
    **dict.fromkeys(("both_orders", "won_both", "lost_both", "split"), pl.Int64),
}
LENGTH: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "judge": pl.String,
    "n": pl.Int64,
    "n_left_out": pl.Int64,
    **dict.fromkeys(("longer_wins", "se", "longer_wins_lwr", "longer_wins_upr"), pl.Float64),
}


def answer_pairs(results: pl.LazyFrame, stage: str) -> pl.DataFrame:
    """One stage's verdicts, with what they were about."""
    rows = results.filter((pl.col("stage") == stage) & pl.col("verdict").is_not_null())
    return rows.select(
        *("stage", "arm", "template", "thinking", "replicate", "subject", "first_id", "second_id", "direction"),
        *("verdict", "parsed", "winner_id", "statement_id", *_PARTS.values(), "first_length", "second_length"),
        pl.concat_str("provider", "model", separator="/").alias("judge"),
    ).collect()


def part_rankings(said: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The order on each part of the specification, where there are several."""
    for word, column in _PARTS.items():
        values = said[column].drop_nulls().unique().sort()
        for value in values if len(values) > 1 else ():
            ranking = next(rankings(said.filter(pl.col(column) == value), adaptive=False), None)
            if ranking is not None:
                yield ranking.with_columns(scope=pl.lit(f"{word}={value}"))


def match_table(said: pl.DataFrame) -> pl.DataFrame:
    """Each candidate against each other one, of all judges and of each. Every verdict is in two rows, one for each."""
    parts = [(EVERYBODY, said)]
    if said["judge"].n_unique() > 1:
        parts += [(str(judge), part) for (judge,), part in said.group_by("judge", maintain_order=True)]
    tables = [_matches(judge, part) for judge, part in parts]
    whole = pl.concat(tables).with_columns(stage=pl.lit(said["stage"][0] if said.height else None, pl.String))
    return whole.select(pl.col(name).cast(kind) for name, kind in MATCHES.items())


def _matches(judge: str, said: pl.DataFrame) -> pl.DataFrame:
    sides = [
        said.select(
            pl.col(one).alias("model"),
            pl.col(other).alias("opponent"),
            *("arm", "subject", "replicate", "verdict"),
            # The two directions of one judge are arms of their own.
            asked=pl.concat_str("judge", "template", "thinking", separator="|"),
            word=pl.when(pl.col("verdict") == won)
            .then(pl.lit("wins"))
            .when(pl.col("verdict") == lost)
            .then(pl.lit("losses"))
            .when(pl.col("verdict") == "tie")
            .then(pl.lit("ties"))
            .when((pl.col("verdict") == "none") & pl.col("parsed").is_null())
            .then(pl.lit("missing"))
            .otherwise("verdict"),
        )
        for one, other, won, lost in (
            ("first_id", "second_id", "first", "second"),
            ("second_id", "first_id", "second", "first"),
        )
    ]
    votes = pl.concat(sides)
    counts = votes.group_by("model", "opponent").agg(*((pl.col("word") == word).sum().alias(word) for word in _COUNTED))
    read = votes.filter(pl.col("word").is_in(["wins", "losses", "ties"]))
    orders = read.group_by("model", "opponent", "subject", "asked", "replicate").agg(
        seen=pl.len(), won=(pl.col("word") == "wins").sum(), lost=(pl.col("word") == "losses").sum()
    )
    both = (
        orders.filter(pl.col("seen") > 1)
        .group_by("model", "opponent")
        .agg(
            both_orders=pl.len(),
            won_both=(pl.col("won") == pl.col("seen")).sum(),
            lost_both=(pl.col("lost") == pl.col("seen")).sum(),
        )
    )
    joined = counts.join(both, on=["model", "opponent"], how="left").with_columns(
        pl.col("both_orders", "won_both", "lost_both").fill_null(0)
    )
    return joined.with_columns(
        judge=pl.lit(judge),
        split=pl.col("both_orders").cast(pl.Int64)
        - pl.col("won_both").cast(pl.Int64)
        - pl.col("lost_both").cast(pl.Int64),
    ).sort("model", "opponent")


def length_table(said: pl.DataFrame) -> pl.DataFrame:
    """How often the longer of two answers wins: half of the time where it does not count; clustered by statement."""
    longer = pl.when(pl.col("first_length") > pl.col("second_length")).then(pl.lit("first"))
    decided = said.with_columns(
        longer=longer.when(pl.col("first_length") < pl.col("second_length")).then(pl.lit("second"))
    ).filter(pl.col("longer").is_not_null() & pl.col("verdict").is_in(["first", "second"]))
    parts = [(EVERYBODY, said, decided)]
    if said["judge"].n_unique() > 1:
        for judge in said["judge"].unique().sort():
            mine = pl.col("judge") == judge
            parts.append((judge, said.filter(mine), decided.filter(mine)))
    rows = [_length(said["stage"][0], *part) for part in parts if part[2].height]
    return pl.DataFrame(rows, schema=LENGTH, orient="row")


def _length(stage: str, judge: str, said: pl.DataFrame, decided: pl.DataFrame) -> dict[str, Any]:
    found = rate(decided["longer"] == decided["verdict"], decided["statement_id"])
    return {
        "stage": stage,
        "judge": judge,
        "n": found.n,
        "n_left_out": said.height - decided.height,
        "longer_wins": found.rate,
        "se": found.se,
        "longer_wins_lwr": found.rate_lwr,
        "longer_wins_upr": found.rate_upr,
    }


def pair_questions(said: pl.DataFrame, judges: Mapping[str, str]) -> pl.DataFrame:
    """Each judge's verdict on each question, as a score of one of the two candidates: the same one for all judges.

    `judges`: the arms' names without their direction.
    """
    points = {"first": 1.0, "second": 0.0, "tie": 0.5}
    first = pl.col("first_id") < pl.col("second_id")
    score = pl.col("verdict").replace_strict(points, default=None, return_dtype=pl.Float64)
    return said.select(
        "stage",
        pl.col("arm").replace(judges),
        pl.concat_str("subject", "first_id", "second_id", "replicate", separator="\0").alias("item_id"),
        pl.when(first).then(score).otherwise(1 - score).alias("score"),
    )


def pair_scores(said: pl.DataFrame) -> pl.DataFrame:
    """Wins as scores: by judge, candidate and input, the share of its comparisons that the judge let it win."""
    points = {"first": (1.0, 0.0), "second": (0.0, 1.0), "tie": (0.5, 0.5)}
    read = said.filter(pl.col("verdict").is_in(list(points)))
    sides = [
        read.select(
            "judge",
            pl.col(side).alias("model"),
            pl.col("subject").alias("item_id"),
            pl.col("verdict")
            .replace_strict({word: both[at] for word, both in points.items()}, return_dtype=pl.Float64)
            .alias("score"),
        )
        for at, side in enumerate(("first_id", "second_id"))
    ]
    return pl.concat(sides).group_by("judge", "model", "item_id").agg(pl.col("score").mean()).sort(pl.all())
