"""What models answered, for a run's report: how often, how long, and whether arms differ on the same items."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from overnight.analysis import rate
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.reporting import Figure, Interval, Intervals, Part, Reading, Section, Sentence, Source, Table
from overnight.reporting.wording import percent_text, span_text
from overnight.tasks._differences import MOST_COMPARED, difference_figure, difference_text, differences

_ITEMS_TO_READ, _ARMS_TO_READ = 6, 6
# What of the rows is compared: its word in names and on axes, and in a title.
_COMPARED = {
    "answered": ("answered", "often they answer"),
    "refused": ("refused", "often they refuse"),
    "length": ("characters", "long their answers are"),
}


def answer_report(source: Source) -> Iterator[Section]:
    rows = pl.scan_parquet(source.tables / "results.parquet", glob=False)
    for stage in source.stages:
        own = rows.filter((pl.col("stage") == stage.name) & (pl.col("status") != "pending"))
        frame = _outcomes(own)
        if frame.is_empty():
            continue
        named = f": {stage.name}" if len(source.stages) > 1 else ""
        labels = short_names(sorted(frame["arm"].unique().to_list()))
        frame = frame.with_columns(arm=pl.col("arm").replace_strict(labels, return_dtype=pl.String))
        yield Section(title=f"Answers{named}", parts=list(_rates(frame, stage.name)))
        yield Section(title=f"How long the answers are{named}", parts=list(_lengths(frame, stage.name)))
        yield from _to_read(own, labels, named)


def _outcomes(rows: pl.LazyFrame) -> pl.DataFrame:
    """A row that counts as answered has an answer that its schema, if there is one, admits."""
    readable = pl.col("parsed").fill_null(value=True) if "parsed" in rows.collect_schema() else pl.lit(value=True)
    return rows.select(
        "arm",
        "item_id",
        answered=((pl.col("status") == "answered") & readable).cast(pl.Float64),
        refused=(pl.col("status") == "refused").cast(pl.Float64),
        length=pl.when(pl.col("status") == "answered").then(pl.col("answer").str.len_chars().cast(pl.Float64)),
    ).collect()


def _rates(frame: pl.DataFrame, stage: str) -> Iterator[Part]:
    arms = sorted(frame["arm"].unique().to_list())
    yield Sentence(answered_text(frame), "finding")
    for word, title in (
        ("answered", "How often does each arm answer?"),
        ("refused", "How often does each arm refuse?"),
    ):
        if word == "refused" and not frame["refused"].sum():
            continue
        found = [(arm, _rate(frame.filter(pl.col("arm") == arm), word)) for arm in arms]
        numbers = Table(
            columns={
                "arm": arms,
                "rows": [one.n for _, one in found],
                word: [one.rate for _, one in found],
                "lwr": [one.rate_lwr for _, one in found],
                "upr": [one.rate_upr for _, one in found],
            },
            forms=dict.fromkeys((word, "lwr", "upr"), "percent"),
        )
        drawn = [Interval(arm, one.rate, one.rate_lwr, one.rate_upr, f"{one.n:,} rows") for arm, one in found]
        yield Figure(
            name=f"{word}-{stage}",
            title=title,
            caption=f"Share of rows that were {word}, with its 95% interval; rows of one item count as dependent.",
            drawing=Intervals(rows=drawn, axis=f"rows {word}", percent=True),
            numbers=numbers,
        )
        if len(arms) > 1:
            yield from _differences(frame, word, arms, stage)


def answered_text(frame: pl.DataFrame) -> str:
    """How much came back, and whether arms differ in it."""
    whole = _rate(frame, "answered")
    share = f"{percent_text(whole.rate)} of {number_of(whole.n, 'row')} {'was' if whole.n == 1 else 'were'} answered"
    if whole.rate == whole.rate:
        share += f" (95% interval {span_text(whole.rate_lwr, whole.rate_upr, percent=True)})"
    arms = sorted(frame["arm"].unique().to_list())
    if whole.rate == 1:
        return f"All {number_of(whole.n, 'row')} were answered." if whole.n != 1 else "The only row was answered."
    if len(arms) < 2 or len(arms) > MOST_COMPARED:
        return f"{share}."
    return f"{share}. {difference_text(differences(frame, 'answered', arms), 'answers more often', percent=True)}"


def _rate(frame: pl.DataFrame, word: str) -> Any:
    several = frame["item_id"].n_unique() < frame.height
    return rate(frame[word], frame["item_id"] if several else None)


def _differences(frame: pl.DataFrame, word: str, arms: Sequence[str], stage: str) -> Iterator[Part]:
    if len(arms) > MOST_COMPARED:
        yield Sentence(f"{len(arms)} arms are too many to compare each two of them here.", "note")
        return
    found = differences(frame, word, arms)
    if any(one.differing for one in found):  # a picture of nothing but noughts tells nobody more than the sentence
        what, how = _COMPARED[word]
        name = f"{what}-differences-{stage}"
        title = f"Do arms differ in how {how}, on the same items?"
        yield difference_figure(found, name, title, f"difference in {what}", percent=word != "length")


def _lengths(frame: pl.DataFrame, stage: str) -> Iterator[Part]:
    known = frame.drop_nulls("length")
    if known.is_empty():
        yield Sentence("There is no answer whose length could be told.")
        return
    arms = sorted(known["arm"].unique().to_list())
    if 2 <= len(arms) <= MOST_COMPARED:
        yield Sentence(difference_text(differences(known, "length", arms), "writes longer answers", percent=False))
    spread = [(arm, *_spread(known.filter(pl.col("arm") == arm)["length"])) for arm in arms]
    heads = ("arm", "answers", "mean", "tenth", "median", "ninetieth")
    columns = dict(zip(heads, map(list, zip(*spread, strict=True)), strict=True))
    yield Figure(
        name=f"lengths-{stage}",
        title="How many characters does an answer have?",
        caption="The median of each arm, and from where to where the middle four fifths of its answers go.",
        drawing=Intervals(
            rows=[
                Interval(arm, middle, low, high, f"{count:,} answers") for arm, count, _, low, middle, high in spread
            ],
            axis="characters",
        ),
        numbers=Table(columns=columns, forms=dict.fromkeys(heads[2:], 0)),
    )
    if len(arms) > 1:
        yield from _differences(known, "length", arms, stage)


def _spread(lengths: pl.Series) -> tuple[int, float, float, float, float]:
    ordered = lengths.sort()
    low, middle, high = (float(ordered.quantile(share, "linear") or 0.0) for share in (0.1, 0.5, 0.9))
    return lengths.len(), sum(ordered.to_list()) / lengths.len(), low, middle, high


def _to_read(rows: pl.LazyFrame, labels: dict[str, str], named: str) -> Iterator[Section]:
    """Some items, evenly spread, with the answers of all arms beside each other."""
    first = rows.filter((pl.col("turn") == 0) & (pl.col("replicate") == 0)).select("item_id", "arm", "status", "answer")
    items = first.select("item_id").unique().sort("item_id").collect()["item_id"].to_list()
    picked = [items[at * len(items) // _ITEMS_TO_READ] for at in range(_ITEMS_TO_READ)] if items else []
    picked = list(dict.fromkeys(picked))
    shown = first.filter(pl.col("item_id").is_in(picked)).sort("item_id", "arm").collect()
    arms = sorted(labels)[:_ARMS_TO_READ]
    some = f"{len(picked):,} of {number_of(len(items), 'item')}, evenly spread, with all answers beside each other."
    parts: list[Part] = [Sentence(some if len(picked) < len(items) else "All items, with their answers.")]
    for item in picked:
        own = {row["arm"]: row for row in shown.filter(pl.col("item_id") == item).iter_rows(named=True)}
        texts = [(labels[arm], own[arm]["answer"] or f"({own[arm]['status']})") for arm in arms if arm in own]
        parts.append(Reading(title=item, texts=texts))
    yield Section(title=f"Answers to read{named}", parts=parts)
