"""Pairs: all that samples make, a part of them, and their orders."""

import random
import warnings
from math import floor
from typing import Any

import polars as pl

from overnight.core.arguments import checked
from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.core.result import Usage
from overnight.pairwise._frames import PAIR_COLUMNS, frame_of, pairs_of, require
from overnight.pairwise.templates import set_prompt_template
from overnight.prices import PriceBook, cost, dollars
from overnight.rank.columns import as_text
from overnight.tasks._pairs.pairing import pair_count

# From here on `make_pairs` says what it would take to ask them all.
MANY_PAIRS = 10_000

_BYTES_PER_TOKEN = 4
_GAUGE = Model(provider="openai", name="gpt-4.1-mini")


class ManyPairsWarning(UserWarning):
    """More pairs than most people mean to pay for."""


@checked
def make_pairs(samples: Any) -> pl.DataFrame:
    """Every pair of samples once, `ID1, text1, ID2, text2`, in the order of the table."""
    frame = frame_of(samples, "samples")
    require(frame, ("ID", "text"), "samples")
    frame = as_text(frame, ("ID", "text"), "samples")
    if frame.height < 2:
        raise StudyError(f"samples: {frame.height} of them make no pair")
    if pair_count(frame.height) >= MANY_PAIRS:
        warnings.warn(_what_they_take(frame), ManyPairsWarning, stacklevel=2)
    numbered = frame.select("ID", "text").with_row_index("place")
    first, second = (
        numbered.rename({"place": f"place{side}", "ID": f"ID{side}", "text": f"text{side}"}) for side in (1, 2)
    )
    return first.join_where(second, pl.col("place1") < pl.col("place2")).sort("place1", "place2").select(*PAIR_COLUMNS)


def _what_they_take(frame: pl.DataFrame) -> str:
    """The count, and what the input alone would cost one judge by batch."""
    pairs = pair_count(frame.height)
    texts = int(frame["text"].str.len_bytes().sum()) * (frame.height - 1)
    tokens = (texts + pairs * len(set_prompt_template())) // _BYTES_PER_TOKEN
    price = PriceBook().price(_GAUGE, "batch")
    spent = cost(price, Usage(input=tokens, output=0)) if price else None
    costs = "" if spent is None else f", about {dollars(spent)} at the batch price of {_GAUGE.name}"
    fewer = "sample_pairs(pairs, n_pairs=...) takes a part of them"
    return f"{frame.height:,} samples make {pairs:,} pairs: about {tokens:,} input tokens{costs}; {fewer}"


@checked
def sample_pairs(
    pairs: Any, pair_pct: float = 1.0, n_pairs: int | None = None, seed: int | None = None
) -> pl.DataFrame:
    """A part of the pairs, in their order: the share `pair_pct`, or `n_pairs` if that is less."""
    frame = frame_of(pairs, "pairs")
    _check_share(pair_pct, "pair_pct")
    if n_pairs is not None and n_pairs < 1:
        raise StudyError(f"n_pairs: {n_pairs} is less than 1")
    wanted = floor(pair_pct * frame.height)
    wanted = wanted if n_pairs is None else min(wanted, n_pairs)
    return frame[sorted(random.Random(seed).sample(range(frame.height), wanted))]


@checked
def randomize_pair_order(pairs: Any, seed: int | None = None) -> pl.DataFrame:
    """Each pair turned round or not, by the toss of a coin."""
    frame = pairs_of(pairs)
    coin = random.Random(seed)
    return _turned(frame, [coin.random() < 0.5 for _ in range(frame.height)])


@checked
def alternate_pair_order(pairs: Any) -> pl.DataFrame:
    """The second pair turned round, the fourth, and so on."""
    frame = pairs_of(pairs)
    return _turned(frame, [number % 2 == 1 for number in range(frame.height)])


@checked
def sample_reverse_pairs(
    pairs: Any, reverse_pct: float | None = None, n_reverse: int | None = None, seed: int | None = None
) -> pl.DataFrame:
    """A part of the pairs, turned round, and nothing else: `n_reverse` of them, or the share `reverse_pct`."""
    frame = pairs_of(pairs)
    if n_reverse is None and reverse_pct is None:
        raise StudyError("sample_reverse_pairs: wanted reverse_pct or n_reverse")
    if n_reverse is None:
        _check_share(reverse_pct or 0.0, "reverse_pct")
        wanted = floor(frame.height * (reverse_pct or 0.0) + 0.5)
    elif n_reverse < 1:
        raise StudyError(f"n_reverse: {n_reverse} is less than 1")
    else:
        wanted = min(n_reverse, frame.height)
    chosen = frame[sorted(random.Random(seed).sample(range(frame.height), wanted))]
    return _turned(chosen, [True] * chosen.height)


def _check_share(share: float, name: str) -> None:
    if not 0 < share <= 1:
        raise StudyError(f"{name}: {share:g} is not more than 0 and at most 1; a number of pairs has its own argument")


def _turned(pairs: pl.DataFrame, flags: list[bool]) -> pl.DataFrame:
    """Both sides exchanged where the flag is up; other columns belong to the pair and stay."""
    flag = pl.Series("turn", flags, dtype=pl.Boolean)
    sides = (("ID1", "ID2"), ("text1", "text2"))
    exchanged = [
        pl.when(flag).then(pl.col(there)).otherwise(pl.col(here)).alias(here)
        for one, other in sides
        for here, there in ((one, other), (other, one))
    ]
    return pairs.with_columns(exchanged)
