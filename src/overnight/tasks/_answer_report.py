"""What models answered, for a run's report: how often, how long, and whether arms differ on the same items."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.rank.shares import Rate, counted_rate
from overnight.reporting import Figure, Interval, Intervals, Part, Reading, Section, Sentence, Source, Table
from overnight.reporting.wording import percent_text, span_text
from overnight.tables.parquet import in_portions
from overnight.tasks._differences import MOST_COMPARED, difference_figure, difference_text, differences

_ITEMS_TO_READ, _ARMS_TO_READ = 6, 6
# What of the rows is compared: its word in names and on axes, and in a title.
_COMPARED = {
    "answered": ("answered", "often they answer"),
    "refused": ("refused", "often they refuse"),
    "length": ("characters", "long their answers are"),
}


def answer_report(source: Source) -> Iterator[Section]:
    table = source.tables / "results.parquet"
    for stage in source.stages:
        own = _settled(pl.scan_parquet(table, glob=False), stage.name)
        labels = short_names(own.select(pl.col("arm").unique().sort()).collect()["arm"].to_list())
        if not labels:
            continue
        frame = _outcomes(table, stage.name, labels)
        named = f": {stage.name}" if len(source.stages) > 1 else ""
        yield Section(title=f"Answers{named}", parts=list(_rates(frame, stage.name)))
        yield Section(title=f"How long the answers are{named}", parts=list(_lengths(frame, stage.name)))
        del frame  # a million rows are fifty megabytes of it
        yield from _to_read(own, labels, named)


def _settled(rows: pl.LazyFrame, stage: str) -> pl.LazyFrame:
    return rows.filter((pl.col("stage") == stage) & (pl.col("status") != "pending"))


def _outcomes(table: Path, stage: str, labels: Mapping[str, str]) -> pl.DataFrame:
    """A row that counts as answered has an answer that its schema, if there is one, admits."""
    rows = _settled(pl.scan_parquet(table, glob=False), stage)
    readable = pl.col("parsed").fill_null(value=True) if "parsed" in rows.collect_schema() else pl.lit(value=True)
    is_answered = pl.col("status") == "answered"
    # Where an arm is alone and each of its rows is another item, numbers do for names.
    named = [] if len(labels) == 1 and _asks_once(rows) else ["item_id"]
    told = {
        "answered": is_answered & readable,
        "refused": pl.col("status") == "refused",
        "length": pl.when(is_answered).then(pl.col("answer").str.len_chars()),
    }
    arm = pl.col("arm").cast(pl.Enum(sorted(labels)))
    # Answers are never in memory together.
    frame = in_portions(table, lambda some: _settled(some, stage).select(arm, *named, **told)).collect()
    shown = pl.Enum(sorted(set(labels.values())))
    frame = frame if named else frame.with_row_index("item_id")
    return frame.with_columns(pl.col("arm").replace_strict(labels, return_dtype=shown))


def _asks_once(rows: pl.LazyFrame) -> bool:
    """Whether an item has one question in each arm: then an arm has no two rows of one item."""
    return bool(rows.select(pl.max_horizontal(pl.col("replicate", "turn").max())).collect().item() == 0)


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


def _rate(frame: pl.DataFrame, word: str) -> Rate:
    """Rows of one item count as dependent; where each has its own, the counts say all."""
    if _is_once(frame["item_id"]):
        return counted_rate(float(frame[word].sum()), frame.height)
    # numpy takes a tenth of a second and 20 MB, which a report without such rows need not wait for.
    from overnight.analysis import rate  # noqa: PLC0415

    return rate(frame[word], frame["item_id"])


def _is_once(items: pl.Series) -> bool:
    """Whether no two are the same. The rows of an arm are in the order of their items, where neighbours say it all."""
    if items.is_sorted():
        return not (items == items.shift()).any()
    return items.n_unique() == items.len()


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
    return lengths.len(), int(lengths.cast(pl.UInt64).sum()) / lengths.len(), low, middle, high


def _to_read(rows: pl.LazyFrame, labels: Mapping[str, str], named: str) -> Iterator[Section]:
    """Some items, evenly spread, with the answers of all arms beside each other."""
    first = rows.filter((pl.col("turn") == 0) & (pl.col("replicate") == 0)).select("item_id", "arm", "status", "answer")
    # The rows of an arm are in the order of their items, each of which is there once.
    items = first.select("item_id") if len(labels) == 1 else first.select("item_id").unique().sort("item_id")
    count = int(items.select(pl.len()).collect().item())
    places = sorted({at * count // _ITEMS_TO_READ for at in range(_ITEMS_TO_READ)}) if count else []
    chosen = items.with_row_index("place").filter(pl.col("place").is_in(places))
    picked = chosen.collect()["item_id"].to_list()
    shown = first.filter(pl.col("item_id").is_in(picked)).sort("item_id", "arm").collect()
    arms = sorted(labels)[:_ARMS_TO_READ]
    some = f"{len(picked):,} of {number_of(count, 'item')}, evenly spread, with all answers beside each other."
    parts: list[Part] = [Sentence(some if len(picked) < count else "All items, with their answers.")]
    for item in picked:
        own = {row["arm"]: row for row in shown.filter(pl.col("item_id") == item).iter_rows(named=True)}
        texts = [(labels[arm], own[arm]["answer"] or f"({own[arm]['status']})") for arm in arms if arm in own]
        parts.append(Reading(title=item, texts=texts))
    yield Section(title=f"Answers to read{named}", parts=parts)
