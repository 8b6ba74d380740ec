"""The pairs that judges disagree on most, with both texts: what a reader looks at first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from overnight.core.names import short_names
from overnight.core.stage import Stage
from overnight.core.wording import number_of
from overnight.rank.labels import in_parts
from overnight.reporting import Part, Reading, Section, Sentence
from overnight.tables.parquet import in_portions
from overnight.tasks._pairs.rankings import READABLE

MOST = 12
_LONGEST_REASON = 300
_PAIR = ("low", "high", "subject")
# What two were compared on, where that is more than one thing, and the two: the texts to read, each under its label.
TextsOf = Callable[[Stage, str | None, Sequence[str]], Sequence[tuple[str, str]]]


def pairs_to_read(
    verdicts: pl.DataFrame, table: Path, stage: Stage, texts_of: TextsOf, named: str
) -> Iterator[Section]:
    """`verdicts` are those that statistics need; what judges said besides is looked up in the table."""
    counted = _counted(verdicts)
    voted = counted.filter(pl.col("len") > 1).height
    if not voted:
        return
    split = _divided(counted)
    if split.is_empty():
        told = f"There are several verdicts on {number_of(voted, 'pair')}; nowhere do they name different winners."
        yield Section(title=f"Pairs to read{named}", parts=[Sentence(told)])
        return
    shown = split.head(MOST).to_dicts()
    told = f"Verdicts differ on {split.height:,} of {number_of(voted, 'pair')} with several; "
    told += (
        "all of them follow." if split.height <= MOST else f"the {MOST} on which they are divided most evenly follow."
    )
    parts: list[Part] = [Sentence(told)]
    judged = verdicts.filter(pl.col("verdict").is_in(READABLE))
    labels = short_names(sorted(judged["arm"].unique().to_list()))
    said = _said_of(table, stage.name, shown)
    for row in shown:
        low, high, subject = (row[name] for name in _PAIR)
        own = said.filter(_is(row)).sort("arm", "replicate", "item_id")
        notes = [_note(one, labels) for one in own.iter_rows(named=True)]
        texts = texts_of(stage, subject, (low, high))
        ties = f", {number_of(row['ties'], 'tie')}" if row["ties"] else ""
        about = "" if subject is None else f"{subject}: "
        title = f"{about}{low} ({row['low_wins']:,}) against {high} ({row['high_wins']:,}){ties}"
        parts.append(Reading(title=title, texts=texts, notes=notes))
    yield Section(title=f"Pairs to read{named}", parts=parts)


def split_pairs(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Pairs with winners on both sides, the most evenly divided first, then those with most verdicts."""
    return _divided(_counted(verdicts))


def _counted(verdicts: pl.DataFrame) -> pl.DataFrame:
    """What was said of each pair, by its two names in their order."""
    turned = pl.col("first_id").to_physical() > pl.col("second_id").to_physical()
    decided = pl.col("verdict") != "tie"
    low_wins = decided & ((pl.col("verdict") == "first") != turned)
    rows = verdicts.filter(pl.col("verdict").is_in(READABLE)).select(
        low=pl.when(turned).then("second_id").otherwise("first_id"),
        high=pl.when(turned).then("first_id").otherwise("second_id"),
        subject="subject",
        low_wins=low_wins,
        high_wins=decided & ~low_wins,
    )
    found = [
        rows.filter(mine).group_by(*_PAIR).agg(pl.col("low_wins", "high_wins").sum().cast(pl.Int64), pl.len())
        for mine in in_parts(rows.height, "low" if rows["subject"].null_count() else "subject")
    ]
    return pl.concat(found).with_columns(ties=pl.col("len").cast(pl.Int64) - pl.col("low_wins") - pl.col("high_wins"))


def _divided(counted: pl.DataFrame) -> pl.DataFrame:
    divided = counted.filter((pl.col("low_wins") > 0) & (pl.col("high_wins") > 0))
    lead = (pl.col("low_wins") - pl.col("high_wins")).abs() / (pl.col("low_wins") + pl.col("high_wins"))
    return divided.sort(lead, -(pl.col("low_wins") + pl.col("high_wins")), *_PAIR)


def _said_of(table: Path, stage: str, shown: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """All that was said of these pairs."""
    mine = pl.any_horizontal(_is(row) for row in shown)

    def choose(rows: pl.LazyFrame) -> pl.LazyFrame:
        judged = rows.filter((pl.col("stage") == stage) & pl.col("verdict").is_in(READABLE))
        subject = pl.col("subject") if "subject" in rows.collect_schema() else pl.lit(None, pl.String)
        low, high = (one("first_id", "second_id") for one in (pl.min_horizontal, pl.max_horizontal))
        return judged.with_columns(low=low, high=high, subject=subject).filter(mine)

    return in_portions(table, choose).collect()


def _is(row: Mapping[str, Any]) -> pl.Expr:
    return pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name], pl.String)) for name in _PAIR)


def _note(row: dict[str, object], labels: dict[str, str]) -> str:
    winner = "a tie" if row["verdict"] == "tie" else str(row["winner_id"])
    reason = str(row["explanation"] or "")[:_LONGEST_REASON]
    return f"{labels[str(row['arm'])]}, {row['first_id']} shown first: {winner}" + (f". {reason}" if reason else "")
