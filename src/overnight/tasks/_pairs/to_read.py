"""The pairs that judges disagree on most, with both texts: what a reader looks at first."""

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from overnight.core.names import short_names
from overnight.core.stage import Stage
from overnight.core.wording import number_of
from overnight.reporting import Part, Reading, Section, Sentence

MOST = 12
_LONGEST_REASON = 300
_PAIR = ("low", "high", "subject")
# What two were compared on, where that is more than one thing, and the two: the texts to read, each under its label.
TextsOf = Callable[[Stage, str | None, Sequence[str]], Sequence[tuple[str, str]]]


def pairs_to_read(verdicts: pl.DataFrame, stage: Stage, texts_of: TextsOf, named: str) -> Iterator[Section]:
    split = split_pairs(verdicts)
    judged = verdicts.filter(pl.col("winner_id").is_not_null() | (pl.col("verdict") == "tie"))
    voted = _with_pair(judged).group_by(*_PAIR).len().filter(pl.col("len") > 1).height
    if not voted:
        return
    if split.is_empty():
        told = f"There are several verdicts on {number_of(voted, 'pair')}; nowhere do they name different winners."
        yield Section(title=f"Pairs to read{named}", parts=[Sentence(told)])
        return
    shown = split.head(MOST)
    told = f"Verdicts differ on {split.height:,} of {number_of(voted, 'pair')} with several; "
    told += (
        "all of them follow." if split.height <= MOST else f"the {MOST} on which they are divided most evenly follow."
    )
    parts: list[Part] = [Sentence(told)]
    labels = short_names(sorted(judged["arm"].unique().to_list()))
    said = _with_pair(judged)
    for row in shown.iter_rows(named=True):
        low, high, subject = (row[name] for name in _PAIR)
        same = [pl.col(name).eq_missing(pl.lit(row[name], pl.String)) for name in _PAIR]
        own = said.filter(*same).sort("arm", "replicate", "item_id")
        notes = [_note(one, labels) for one in own.iter_rows(named=True)]
        texts = texts_of(stage, subject, (low, high))
        ties = f", {number_of(row['ties'], 'tie')}" if row["ties"] else ""
        about = "" if subject is None else f"{subject}: "
        title = f"{about}{low} ({row['low_wins']:,}) against {high} ({row['high_wins']:,}){ties}"
        parts.append(Reading(title=title, texts=texts, notes=notes))
    yield Section(title=f"Pairs to read{named}", parts=parts)


def split_pairs(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Pairs with winners on both sides, the most evenly divided first, then those with most verdicts."""
    won = _with_pair(verdicts.filter(pl.col("winner_id").is_not_null() | (pl.col("verdict") == "tie")))
    counted = won.group_by(*_PAIR).agg(
        low_wins=(pl.col("winner_id") == pl.col("low")).sum().cast(pl.Int64),
        high_wins=(pl.col("winner_id") == pl.col("high")).sum().cast(pl.Int64),
        ties=(pl.col("verdict") == "tie").sum().cast(pl.Int64),
    )
    divided = counted.filter((pl.col("low_wins") > 0) & (pl.col("high_wins") > 0))
    lead = (pl.col("low_wins") - pl.col("high_wins")).abs() / (pl.col("low_wins") + pl.col("high_wins"))
    return divided.sort(lead, -(pl.col("low_wins") + pl.col("high_wins")), *_PAIR)


def _with_pair(verdicts: pl.DataFrame) -> pl.DataFrame:
    subject = pl.col("subject") if "subject" in verdicts.columns else pl.lit(None, pl.String)
    return verdicts.with_columns(
        low=pl.min_horizontal("first_id", "second_id"),
        high=pl.max_horizontal("first_id", "second_id"),
        subject=subject,
    )


def _note(row: dict[str, object], labels: dict[str, str]) -> str:
    winner = "a tie" if row["verdict"] == "tie" else str(row["winner_id"])
    reason = str(row["explanation"] or "")[:_LONGEST_REASON]
    return f"{labels[str(row['arm'])]}, {row['first_id']} shown first: {winner}" + (f". {reason}" if reason else "")
