"""Tables of compared answers: who won against whom, rankings of each part of a specification, and what length does."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from overnight.analysis import rate
from overnight.rank.labels import in_parts, named, renamed
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


# What tables of compared answers need beside what all tables of verdicts do.
NAMES = ("statement_id", *_PARTS.values())
NUMBERS = ("parsed", "first_length", "second_length")


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
    counted, both = _counted(said), _in_both_orders(said)
    parts = [(EVERYBODY, counted, both)]
    judges = said["judge"].unique(maintain_order=True).to_list()
    if len(judges) > 1:
        mine = ((judge, pl.col("judge") == judge) for judge in judges)
        parts += [(judge, counted.filter(own), both.filter(own)) for judge, own in mine]
    tables = [_matches(*part) for part in parts]
    whole = pl.concat(tables).with_columns(stage=pl.lit(said["stage"][0] if said.height else None, pl.String))
    return whole.select(pl.col(name).cast(kind) for name, kind in MATCHES.items())


def _counted(said: pl.DataFrame) -> pl.DataFrame:
    """How often each judge said each word of two candidates in one order: few rows, however many verdicts there are."""
    unanswered = (pl.col("verdict") == "none") & pl.col("parsed").is_null()
    word = pl.when(unanswered).then(pl.lit("missing")).otherwise(pl.col("verdict").cast(pl.String))
    said_of = said.lazy().group_by("judge", "first_id", "second_id", "verdict", unanswered=unanswered)
    cells = said_of.agg(pl.len().cast(pl.Int64).alias("times"), parsed=pl.col("parsed").first())
    return cells.collect(engine="streaming").select("judge", "first_id", "second_id", "times", word=word)


def _in_both_orders(said: pl.DataFrame) -> pl.DataFrame:
    """By judge and two candidates, `one` before `other`: inputs judged in both orders, won in both, lost in both."""
    turned = pl.col("first_id").to_physical() > pl.col("second_id").to_physical()
    decided = pl.col("verdict").is_in(["first", "second"])
    read = said.filter(decided | (pl.col("verdict") == "tie")).select(
        # The two directions of one judge are arms of their own.
        *("judge", "template", "thinking", "subject", "replicate"),
        one=pl.when(turned).then("second_id").otherwise("first_id"),
        other=pl.when(turned).then("first_id").otherwise("second_id"),
        won=decided & ((pl.col("verdict") == "first") != turned),
        lost=decided & ((pl.col("verdict") == "first") == turned),
    )
    asked = ("judge", "template", "thinking", "subject", "replicate", "one", "other")
    found = []
    for mine in in_parts(read.height, "subject"):
        orders = read.filter(mine).group_by(asked).agg(pl.col("won", "lost").sum(), seen=pl.len())
        found.append(
            orders.filter(pl.col("seen") > 1)
            .group_by("judge", "one", "other")
            .agg(
                both_orders=pl.len().cast(pl.Int64),
                won_both=(pl.col("won") == pl.col("seen")).sum().cast(pl.Int64),
                lost_both=(pl.col("lost") == pl.col("seen")).sum().cast(pl.Int64),
            )
        )
    return pl.concat(found).group_by("judge", "one", "other").agg(pl.all().sum())


def _matches(judge: str, counted: pl.DataFrame, both: pl.DataFrame) -> pl.DataFrame:
    """Both sides of each: what one has won the other has lost."""
    sides = [
        counted.select("times", model=one, opponent=other, word=pl.col("word").replace({won: "wins", lost: "losses"}))
        for one, other, won, lost in (
            ("first_id", "second_id", "first", "second"),
            ("second_id", "first_id", "second", "first"),
        )
    ]
    votes = pl.concat(sides).with_columns(word=pl.col("word").replace("tie", "ties"))
    counts = votes.group_by("model", "opponent").agg(
        pl.col("times").filter(pl.col("word") == word).sum().alias(word) for word in _COUNTED
    )
    orders = [
        both.select("both_orders", model=one, opponent=other, won_both=won, lost_both=lost)
        for one, other, won, lost in (
            ("one", "other", "won_both", "lost_both"),
            ("other", "one", "lost_both", "won_both"),
        )
    ]
    summed = pl.concat(orders).group_by("model", "opponent").agg(pl.col("both_orders", "won_both", "lost_both").sum())
    joined = counts.join(summed, on=["model", "opponent"], how="left").with_columns(
        pl.col("both_orders", "won_both", "lost_both").fill_null(0)
    )
    return joined.with_columns(
        judge=pl.lit(judge), split=pl.col("both_orders") - pl.col("won_both") - pl.col("lost_both")
    ).sort("model", "opponent")


def length_table(said: pl.DataFrame) -> pl.DataFrame:
    """How often the longer of two answers wins: half of the time where it does not count; clustered by statement."""
    longer = pl.col("first_length") > pl.col("second_length")
    differ = pl.col("first_length") != pl.col("second_length")
    decided = said.filter(differ & pl.col("verdict").is_in(["first", "second"])).select(
        "judge", "statement_id", won=(pl.col("verdict") == "first") == longer
    )
    parts = [(EVERYBODY, said, decided)]
    if said["judge"].n_unique() > 1:
        for judge in said["judge"].unique().sort():
            mine = pl.col("judge") == judge
            parts.append((judge, said.filter(mine), decided.filter(mine)))
    rows = [_length(said["stage"][0], *part) for part in parts if part[2].height]
    return pl.DataFrame(rows, schema=LENGTH, orient="row")


def _length(stage: str, judge: str, said: pl.DataFrame, decided: pl.DataFrame) -> dict[str, Any]:
    found = rate(decided["won"], decided["statement_id"])
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
    first = pl.col("first_id").to_physical() < pl.col("second_id").to_physical()
    score = _score({"first": 1.0, "second": 0.0, "tie": 0.5})
    # In the order of their names, as everywhere: those of replicates are numbers, and "10" comes before "2".
    question = pl.struct(*(pl.col(name).to_physical() for name in ("subject", "first_id", "second_id")), "again")
    again = named(said["replicate"])[0].to_physical().alias("again")
    return said.with_columns(again).select(
        "stage",
        renamed(said["arm"], judges),
        question.rank("dense").alias("item_id"),
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
            _score({word: both[at] for word, both in points.items()}).alias("score"),
        )
        for at, side in enumerate(("first_id", "second_id"))
    ]
    return pl.concat(sides).group_by("judge", "model", "item_id").agg(pl.col("score").mean()).sort(pl.all())


def _score(points: Mapping[str, float]) -> pl.Expr:
    return pl.col("verdict").replace_strict(points, default=None, return_dtype=pl.Float64)
