"""Every row of a run, packed into its page; of a very large run the sums by item, and a sample."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from random import Random

import polars as pl

from overnight.core.wording import number_of
from overnight.reporting.page.html import Rows
from overnight.reporting.page.packed import packed
from overnight.reporting.parts import Reading, Table
from overnight.reporting.run_sections import labels_of

# More would make the page larger than three megabytes.
MOST_ROWS = 250_000
SAMPLE = 50_000
# Rows that are looked at together for those of a sample.
_STRETCH = 25_000
_FIRST = 15
_LONGEST = 64
# The columns of every task; all others are its own.
_COMMON = ("stage", "arm", "item_id", "replicate", "turn", "status", "cause")
# What it took comes last: a reader looks for what was said.
_TAKEN = ("input_tokens", "output_tokens", "cost")
_HIDDEN = ("provider", "model", "answer", "thoughts", "cached_tokens", "reasoning_tokens", "request_key", "parsed")
_DECIMALS = {"cost": 6, "confidence": 2, "score": 2}
_EXAMPLES = 6
_NOT_READ = ("unparsed", "refused", "truncated", "failed")


def row_browsers(results: pl.LazyFrame, *, most: int = MOST_ROWS, sample: int = SAMPLE) -> Iterator[Rows]:
    count = int(results.select(pl.len()).collect().item())
    columns = _columns(results)
    where = "Their texts are in tables/results.parquet."
    if count <= most:
        about = f"All {number_of(count, 'row')}, to search and sort. {where}"
        yield _rows("Every row", about, _shown(results.select(columns)))
        return
    if _has_few_items(results, most):
        about = f"There are {number_of(count, 'row')}, too many for a page: these are their sums by item."
        yield _rows("Rows by item", about, _by_item(results))
    chosen = sorted(Random(0).sample(range(count), sample))
    picked = _rows_at(results.select(columns), chosen, count)
    about = f"A sample of {sample:,} of the {number_of(count, 'row')}, drawn with a fixed seed. {where}"
    yield _rows("A sample of the rows", about, _shown(picked.lazy()))


def _rows_at(rows: pl.LazyFrame, places: Sequence[int], count: int) -> pl.DataFrame:
    """Some of very many rows, in order: a stretch of them after another, of which only these stay in memory."""
    found = []
    for begin in range(0, count, _STRETCH):
        first, last = (bisect_left(places, end) for end in (begin, begin + _STRETCH))
        stretch = rows.slice(begin, _STRETCH).collect()
        found.append(stretch[[place - begin for place in places[first:last]]])
    return pl.concat(found)


def _has_few_items(results: pl.LazyFrame, most: int) -> bool:
    """Whether there are no more items than these. An arm has each of its items once among the first questions."""
    first = results.filter((pl.col("replicate") == 0) & (pl.col("turn") == 0)).group_by("stage", "arm").len()
    least = first.select(pl.col("len").max()).collect().item() or 0
    # A million names in memory to count them are worth it only where the answer is open.
    return least <= most and int(results.select("item_id").unique().select(pl.len()).collect().item()) <= most


def _rows(title: str, about: str, frame: pl.DataFrame) -> Rows:
    forms = {name: places for name, places in _DECIMALS.items() if name in frame.columns}
    return Rows(title=title, about=about, data=packed(frame, forms), first=Table.of(frame.head(_FIRST), forms))


def _columns(results: pl.LazyFrame) -> list[str]:
    """The common ones, and the task's own that are short and not the same throughout an arm."""
    schema = results.collect_schema()
    own = [name for name in schema if name not in (*_COMMON, *_TAKEN, *_HIDDEN)]
    texts = [name for name in own if schema[name] == pl.String]
    if not own:
        return [*_COMMON, *_TAKEN]
    longest = (
        results.select(pl.col(name).str.len_chars().max() for name in texts).collect().to_dicts()[0] if texts else {}
    )
    short = [name for name in own if name not in texts or (longest[name] or 0) <= _LONGEST]
    by_arm = (
        results.group_by("stage", "arm").agg(pl.col(name).n_unique() for name in short).collect() if short else None
    )
    telling = [name for name in short if by_arm is not None and (by_arm[name].max() or 0) > 1]  # type: ignore[operator]
    return [*_COMMON, *telling, *_TAKEN]


def _shown(rows: pl.LazyFrame) -> pl.DataFrame:
    """Arms by what tells them apart; columns that say the same of every row stay out, and are never in memory."""
    places = rows.select("stage", "arm").unique(maintain_order=True).collect().rows()
    labels = labels_of(places)
    plain = ("replicate", "turn", "cause", "cost", "input_tokens", "output_tokens")
    differing = rows.select(pl.col(name).n_unique() for name in plain).collect().row(0, named=True)
    left_out = ["stage", *(name for name, count in differing.items() if count <= 1)]
    if len(set(labels.values())) <= 1:
        left_out.append("arm")
    else:
        named = pl.LazyFrame(
            [(stage, arm, labels[stage, arm]) for stage, arm in places], schema=["stage", "arm", "label"], orient="row"
        )
        joined = rows.join(named, on=["stage", "arm"], how="left", maintain_order="left")
        rows = joined.with_columns(arm=pl.col("label")).drop("label")
    return rows.drop(left_out).rename({"item_id": "item"}).collect()


def _by_item(results: pl.LazyFrame) -> pl.DataFrame:
    words = ("answered", "refused", "truncated", "failed", "pending")
    counts = [(pl.col("status") == word).sum().cast(pl.Int64).alias(word) for word in words]
    sums = results.group_by("item_id").agg(pl.len().cast(pl.Int64).alias("rows"), *counts)
    return sums.sort("item_id").rename({"item_id": "item"}).collect()


def not_read(results: pl.LazyFrame) -> Iterator[Reading]:
    """Some of the rows that count for nobody, as they came: evenly spread over all of their kind."""
    schema = results.collect_schema()
    kinds = {word: pl.col("status") == word for word in _NOT_READ[1:]}
    if "parsed" in schema:
        kinds = {"unparsed": (pl.col("status") == "answered") & (pl.col("parsed") == False), **kinds}  # noqa: E712
    wanted = results.select(
        "stage", "arm", "item_id", "status", "cause", "answer", *(["parsed"] if "parsed" in schema else [])
    )
    for word, test in kinds.items():
        count = int(wanted.filter(test).select(pl.len()).collect().item())
        shown = min(count, _EXAMPLES)
        places = [number * count // shown for number in range(shown)]
        if not places:
            continue
        found = wanted.filter(test).with_row_index("row").filter(pl.col("row").is_in(places)).collect()
        texts = [
            (
                f"{row['item_id']}, {row['arm']}{', ' + row['cause'] if row['cause'] else ''}",
                row["answer"] or "(no text)",
            )
            for row in found.iter_rows(named=True)
        ]
        yield Reading(title=f"{word}: {len(texts)} of {number_of(count, 'row')}, as they came", texts=texts)
