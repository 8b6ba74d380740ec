"""What models answered, for a run's report: how often, how long, and whether arms differ on the same items."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from overnight.analysis import mcnemar, paired_difference, rate
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.reporting import Figure, Interval, Intervals, Part, Reading, Section, Sentence, Source, Table
from overnight.reporting.wording import listed, number_text, percent_text, span_text

# With more arms there would be too many pairs of them for anybody to read.
MOST_COMPARED = 8
_CHANCE = 0.05
_ITEMS_TO_READ, _ARMS_TO_READ = 6, 6


class Difference(NamedTuple):
    """One arm less another on the same items; the interval holds for all such differences of the stage at once."""

    one: str
    other: str
    items: int
    value: float
    low: float
    high: float

    @property
    def told(self) -> bool:
        """Whether it is a difference at all: its interval is on one side of nought."""
        return self.low > 0 or self.high < 0


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
        yield from _differences(frame, "answered", arms, stage)


def answered_text(frame: pl.DataFrame) -> str:
    """How much came back, and whether arms differ in it."""
    whole = _rate(frame, "answered")
    share = f"{percent_text(whole.rate)} of {number_of(whole.n, 'row')} were answered"
    if whole.rate == whole.rate:
        share += f" (95% interval {span_text(whole.rate_lwr, whole.rate_upr, percent=True)})"
    arms = sorted(frame["arm"].unique().to_list())
    if len(arms) < 2 or len(arms) > MOST_COMPARED:
        return f"{share}."
    return f"{share}. {difference_text(differences(frame, 'answered', arms), 'answers more often', percent=True)}"


def _rate(frame: pl.DataFrame, word: str) -> Any:
    several = frame["item_id"].n_unique() < frame.height
    return rate(frame[word], frame["item_id"] if several and frame["item_id"].n_unique() > 1 else None)


def differences(frame: pl.DataFrame, word: str, arms: Sequence[str]) -> list[Difference]:
    """Every two arms on the items that both have. Bonferroni's intervals: all of them hold together."""
    pairs = list(combinations(arms, 2))
    level = 1 - _CHANCE / len(pairs)
    means = (
        frame.group_by("item_id", "arm")
        .agg(pl.col(word).mean(), pl.col(word).count().alias("n"))
        .sort("item_id", "arm")
    )
    once = means["n"].max() == 1
    wide = means.pivot(on="arm", index="item_id", values=word)
    found = []
    for one, other in pairs:
        both = wide.select(a=pl.col(one), b=pl.col(other)).drop_nulls()
        if both.height < 2:
            continue
        if once and set(both["a"]) | set(both["b"]) <= {0.0, 1.0}:
            told = mcnemar(both["a"], both["b"], level)
            found.append(Difference(one, other, both.height, told.difference, told.difference_lwr, told.difference_upr))
        else:
            apart = paired_difference(both["a"], both["b"], level=level)
            ends = (apart.difference_lwr, apart.difference_upr)
            found.append(Difference(one, other, both.height, apart.difference, *ends))
    return found


def difference_text(found: Sequence[Difference], does: str, *, percent: bool, decimals: int = 0) -> str:
    """Which arms differ, by the interval of the difference; the honest words where none does."""
    if not found:
        return "Arms cannot be compared: no two of them have items in common."
    told = sorted((one for one in found if one.told), key=lambda one: (-abs(one.value), one.one, one.other))
    together = "" if len(found) == 1 else f", intervals that hold for all {len(found)} differences at once"
    if not told:
        if len(found) == 1:
            span = _span(found[0], percent=percent, decimals=decimals)
            return f"No difference between {found[0].one} and {found[0].other} can be told ({span})."
        return f"No difference between any two arms can be told (95% confidence{together})."
    words = []
    for one in told:
        ahead, behind = (one.one, one.other) if one.value > 0 else (one.other, one.one)
        words.append(f"{ahead} {does} than {behind} ({_span(one, percent=percent, decimals=decimals)})")
    return f"{listed(words, 3)} (95% confidence{together})."


def _span(one: Difference, *, percent: bool, decimals: int) -> str:
    """The difference as it is more than nought, with its interval."""
    sign = 1 if one.value >= 0 else -1
    low, high = sorted((sign * one.low, sign * one.high))
    if percent:
        return f"by {number_text(100 * sign * one.value, 1)} points, {span_text(100 * low, 100 * high, decimals=1)}"
    return f"by {number_text(sign * one.value, decimals)}, {span_text(low, high, decimals=decimals)}"


def _differences(frame: pl.DataFrame, word: str, arms: Sequence[str], stage: str) -> Iterator[Part]:
    if len(arms) > MOST_COMPARED:
        yield Sentence(f"{len(arms)} arms are too many to compare each two of them here.", "note")
        return
    found = differences(frame, word, arms)
    if not found:
        return
    percent = word == "answered"
    what = "answered" if percent else "characters"
    drawn = [
        Interval(f"{one.one} \u2212 {one.other}", one.value, one.low, one.high, f"{one.items:,} items") for one in found
    ]
    columns: dict[str, Sequence[Any]] = {
        "arm": [one.one for one in found],
        "less": [one.other for one in found],
        "items": [one.items for one in found],
        "difference": [one.value for one in found],
        "lwr": [one.low for one in found],
        "upr": [one.high for one in found],
    }
    yield Figure(
        name=f"{what}-differences-{stage}",
        title="Do arms differ on the same items?",
        caption="One arm less another, on the items that both have; intervals hold for all of these differences "
        "at once (95%). Where one crosses nought, no difference can be told.",
        drawing=Intervals(rows=drawn, axis=f"difference in {what}" + (" (share)" if percent else ""), reference=0.0),
        numbers=Table(columns=columns),
    )


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
    low, middle, high = (float(ordered.quantile(share) or 0.0) for share in (0.1, 0.5, 0.9))
    return lengths.len(), sum(ordered.to_list()) / lengths.len(), low, middle, high


def _to_read(rows: pl.LazyFrame, labels: dict[str, str], named: str) -> Iterator[Section]:
    """Some items, evenly spread, with the answers of all arms beside each other."""
    first = rows.filter((pl.col("turn") == 0) & (pl.col("replicate") == 0)).select("item_id", "arm", "status", "answer")
    items = first.select("item_id").unique().sort("item_id").collect()["item_id"].to_list()
    picked = [items[at * len(items) // _ITEMS_TO_READ] for at in range(_ITEMS_TO_READ)] if items else []
    picked = list(dict.fromkeys(picked))
    shown = first.filter(pl.col("item_id").is_in(picked)).sort("item_id", "arm").collect()
    arms = sorted(labels)[:_ARMS_TO_READ]
    parts: list[Part] = [Sentence(f"{number_of(len(picked), 'item')} of {len(items):,}, evenly spread.")]
    for item in picked:
        own = {row["arm"]: row for row in shown.filter(pl.col("item_id") == item).iter_rows(named=True)}
        texts = [(labels[arm], own[arm]["answer"] or f"({own[arm]['status']})") for arm in arms if arm in own]
        parts.append(Reading(title=item, texts=texts))
    yield Section(title=f"Answers to read{named}", parts=parts)
