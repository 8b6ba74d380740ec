"""The sections that every run has: what was asked, what came back, what was left out, batches over time, the bill."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
import polars as pl

from overnight.core.clock import time_text
from overnight.core.names import short_models, short_names
from overnight.core.wording import number_of
from overnight.reporting.parts import (
    Bar,
    Bars,
    Figure,
    Line,
    Lines,
    Part,
    Point,
    Reading,
    Section,
    Sentence,
    Span,
    Table,
    Timeline,
)
from overnight.reporting.run_facts import BatchFacts, RunFacts, StageFacts
from overnight.reporting.wording import listed, money_text, percent_text

# From here on, a line for each batch would be a wall of them.
MOST_BATCHES = 100
# What may come back, and its colours. Unparsed rows were answered too: they are counted apart.
WORDS = ("answered", "unparsed", "refused", "truncated", "failed", "pending")
_TONES = ("good", "odd", "middling", "light", "bad", "none")
_UNPARSED = "counted as unparsed, never as a verdict or a score"
_SHORT = 80
_HASH = 12


def counted(results: pl.LazyFrame) -> pl.DataFrame:
    """Rows by stage, arm, word and cause: each row is in exactly one of them."""
    named = results.collect_schema().names()
    unparsed = (pl.col("parsed") == False).fill_null(value=False) if "parsed" in named else pl.lit(value=False)  # noqa: E712
    word = pl.when((pl.col("status") == "answered") & unparsed).then(pl.lit("unparsed")).otherwise(pl.col("status"))
    return (
        results.with_columns(word=word)
        .group_by("stage", "arm", "word", "cause")
        .agg(rows=pl.len().cast(pl.Int64))
        .sort("stage", "arm", "word", "cause")
        .collect()
    )


def total(counts: pl.DataFrame, *words: str) -> int:
    return int(counts.filter(pl.col("word").is_in(words or WORDS))["rows"].sum())


def came_back_text(counts: pl.DataFrame) -> str:
    """`Of 300 rows, 290 were answered, 2 could not be read, 3 were refused and 5 failed.`"""
    said = {
        "unparsed": ("was answered but cannot be read", "were answered but cannot be read"),
        "refused": ("was refused", "were refused"),
        "truncated": ("was cut off", "were cut off"),
        "failed": ("failed", "failed"),
        "pending": ("is still open", "are still open"),
    }
    every, answered = total(counts), total(counts, "answered")
    others = [(total(counts, word), word) for word in WORDS[1:]]
    told = [f"{count:,} {said[word][count != 1]}" for count, word in others if count]
    if not told:
        return f"All {number_of(every, 'row')} were answered." if every != 1 else "The only row was answered."
    return f"Of {number_of(every, 'row')}, {listed([f'{answered:,} were answered', *told], len(WORDS))}."


def asked_text(stages: Sequence[StageFacts]) -> str:
    """Stage by stage: what of, and by which models. Stages that ask the same models about the same rows are one."""
    told: dict[str, list[str]] = {}
    for stage in stages:
        models = list(dict.fromkeys(f"{arm['provider']}/{arm['model']}" for arm in stage.arms))
        short = short_models(models)
        templates = len({arm["template"] for arm in stage.arms})
        what = "requests that were made elsewhere" if stage.items is None else number_of(stage.items, "item")
        about = f"the rows of {stage.of}" if stage.of else what
        more = f", {templates} templates" if templates > 1 else ""
        asked_of = f"{about}, by {listed([short[model] for model in models])}{more}"
        told.setdefault(asked_of, []).append(stage.task if stage.name == stage.task else f"{stage.name} ({stage.task})")
    return f"Asked: {'; '.join(f'{listed(names)}: {asked_of}' for asked_of, names in told.items())}."


def asked(facts: RunFacts) -> Section:
    stages = Table(
        columns={
            "stage": [stage.name for stage in facts.stages],
            "task": [stage.task for stage in facts.stages],
            "version": [stage.version for stage in facts.stages],
            "items": [stage.items for stage in facts.stages],
            "from": [f"the rows of {stage.of}" if stage.of else "its own" for stage in facts.stages],
            "arms": [len(stage.arms) for stage in facts.stages],
            "hash_of_items": [stage.items_hash for stage in facts.stages],
        },
        title="Stages",
    )
    arms = [{"stage": stage.name, **arm} for stage in facts.stages for arm in stage.arms]
    columns = {name: [arm[name] for arm in arms] for name in (arms[0] if arms else ())}
    telling = {name: values for name, values in columns.items() if any(values)}
    parts: list[Part] = [stages, Table(columns=telling, title="Arms")]
    parts += list(_definition(facts.definition or {}))
    return Section(title="What was asked", parts=parts)


def _definition(definition: Mapping[str, Any]) -> Iterator[Part]:
    """Every setting that defines the questions; long texts, such as templates, behind a fold."""
    stages: Mapping[str, Any] = definition.get("stages") or ({"": definition} if definition else {})
    several = len(stages) > 1
    flat = [
        (" / ".join(filter(None, (stage if several else "", *path))), value)
        for stage, keys in stages.items()
        for path, value in _flat({key: value for key, value in keys.items() if key != "arms"})
    ]
    short = [(path, value) for path, value in flat if not _is_long(value)]
    if short:
        told = [value if isinstance(value, str) else msgspec.json.encode(value).decode() for _, value in short]
        yield Table(columns={"setting": [path for path, _ in short], "value": told}, title="Settings", folded=True)
    for path, value in flat:
        if _is_long(value):
            mark = sha256(value.encode()).hexdigest()[:_HASH]
            yield Reading(title=f"{path} (SHA-256 {mark})", texts=[(path, value)])


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > _SHORT or "\n" in value)


def _flat(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, (*path, str(key)))
    elif value is not None and value not in ({}, []):
        yield path, value


def came_back(counts: pl.DataFrame) -> Section:
    wide = counts.group_by("stage", "arm", "word").agg(pl.col("rows").sum()).sort("stage", "arm", "word")
    found: dict[tuple[str, str], dict[str, int]] = {}
    for stage, arm, word, rows in wide.iter_rows():
        found.setdefault((stage, arm), {})[word] = rows
    labels = labels_of(list(found))
    words = [word for word in WORDS if word == "answered" or any(word in said for said in found.values())]
    tones = [_TONES[WORDS.index(word)] for word in words]
    numbers = Table(
        columns={
            "stage": [stage for stage, _ in found],
            "arm": [arm for _, arm in found],
            "rows": [sum(said.values()) for said in found.values()],
            **{word: [said.get(word, 0) for said in found.values()] for word in words},
        }
    )
    bars = [
        Bar(labels[place], [said.get(word, 0) for word in words], f"{sum(said.values()):,}")
        for place, said in found.items()
    ]
    caption = "Each row is in exactly one part of its bar; the number at the end is their sum."
    parts: list[Part] = [
        Sentence(came_back_text(counts)),
        Figure(
            name="rows",
            title="What came of the rows?",
            caption=caption,
            drawing=Bars(rows=bars, words=words, tones=tones, axis="rows"),
            numbers=numbers,
        ),
    ]
    causes = counts.filter(pl.col("cause").is_not_null()).group_by("word", "cause").agg(pl.col("rows").sum())
    if causes.height:
        ordered = causes.sort("rows", "word", "cause", descending=[True, False, False]).rename({"word": "came back as"})
        parts.append(Table.of(ordered, title="Causes"))
    return Section(title="What came back", parts=parts)


def labels_of(places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Arms by what tells them apart inside their stage; with the stage where there are several."""
    several = len({stage for stage, _ in places}) > 1
    found = {}
    for stage in dict.fromkeys(stage for stage, _ in places):
        names = short_names([arm for one, arm in places if one == stage])
        found.update({(stage, arm): f"{stage}: {short}" if several else short for arm, short in names.items()})
    return found


def left_out(counts: pl.DataFrame, facts: RunFacts) -> Section:
    """Whoever reads a number on the page must know which rows it does not hold."""
    refused, truncated = total(counts, "refused"), total(counts, "truncated")
    failed, unparsed, pending = total(counts, "failed"), total(counts, "unparsed"), total(counts, "pending")
    told = [
        (unparsed, "was answered but cannot be read", "were answered but cannot be read", _UNPARSED),
        (refused, "was refused", "were refused", "by the model or its provider"),
        (truncated, "was cut off", "were cut off", "at the limit of tokens"),
        (
            failed,
            "failed for good",
            "failed for good",
            f"{'its cause is' if failed == 1 else 'their causes are'} in the table above",
        ),
        (pending, "is still open", "are still open", "this page is of the rows that have come so far"),
    ]
    sentences = [
        Sentence(f"{number_of(count, 'row')} {one if count == 1 else many}: {why}.")
        for count, one, many, why in told
        if count
    ]
    sentences += [Sentence(f"{text}.") for text in facts.left_out]
    if facts.asked_again:
        tries = ", ".join(f"{cause} {count:,}" for cause, count in facts.asked_again.items())
        sentences.append(
            Sentence(f"Tries that failed and were made again, by cause: {tries}. They are no rows of their own.")
        )
    if not sentences:
        sentences = [Sentence("Nothing: every row was answered, and every answer could be read.")]
    return Section(title="What was left out, and why", parts=sentences)


def over_time(batches: Sequence[BatchFacts], shared: int = 0) -> Section | None:
    """`shared` rows took the answer of another that asks the same: they did not travel."""
    if not batches:
        return None
    rows, live = sum(one.rows for one in batches), sum(one.live for one in batches)
    kinds = [number_of(len(batches) - live, "batch", "batches")] if len(batches) > live else []
    kinds += [number_of(live, "slice of live calls", "slices of live calls")] if live else []
    others = f" {number_of(shared, 'row')} more asked what another row asks, and share its answer." if shared else ""
    told = Sentence(
        f"{number_of(rows, 'row')} travelled in {listed(kinds)}, rows that were asked again included.{others}"
    )
    numbers = Table(
        columns={
            "batch": [one.name for one in batches],
            "account": [one.account for one in batches],
            "sent_at": [time_text(one.begin) for one in batches],
            "seconds": [one.end - one.begin for one in batches],
            "rows": [one.rows for one in batches],
            "state": [one.state for one in batches],
        },
        forms={"seconds": 0},
    )
    drawing = _spans(batches) if len(batches) <= MOST_BATCHES else under_way(batches)
    caption = (
        "From when it was sent to when its results were there."
        if isinstance(drawing, Timeline)
        else "How many were under way at each moment, by account."
    )
    figure = Figure(
        name="batches", title="When were they under way?", caption=caption, drawing=drawing, numbers=numbers
    )
    return Section(title="Batches over time", parts=[told, figure])


def _spans(batches: Sequence[BatchFacts]) -> Timeline:
    tones = {"closed": "good"}
    return Timeline(
        spans=[
            Span(
                one.name,
                one.begin,
                one.end,
                tones.get(one.state, "middling"),
                f"{number_of(one.rows, 'row')}, {one.state}",
            )
            for one in batches
        ]
    )


def under_way(batches: Sequence[BatchFacts]) -> Lines:
    """How many batches each account had at each moment."""
    lines = []
    for account in sorted({one.account for one in batches}):
        own = [one for one in batches if one.account == account]
        moments = sorted([(one.begin, 1) for one in own] + [(one.end, -1) for one in own])
        points: list[Point] = []
        count = 0
        for at, change in moments:
            count += change
            if points and points[-1].x == at:
                points.pop()
            points.append(Point(at, float(count)))
        lines.append(Line(account, points))
    return Lines(lines=lines, x_axis="time", y_axis="batches under way", times=True)


def bill_text(costs: pl.DataFrame) -> str:
    """The bill in a sentence; what nobody can price is said, and is never nought."""
    priced = costs.filter(pl.col("settled").is_not_null())
    unknown = costs.height - priced.height
    if not priced.height:
        return "What it cost is not known: none of its models has a price on record."
    settled, estimated = _sum(priced, "settled"), _sum(priced, "estimated")
    parts = [f"The bill is {money_text(settled)}"]
    if priced["estimated"].null_count() == 0 and estimated > 0:
        parts.append(
            f"{percent_text(settled / estimated, 0)} of the {money_text(estimated)} that it could have come to at most"
        )
    elif priced["estimated"].null_count():
        without = number_of(priced["estimated"].null_count(), "arm")
        parts.append(f"without an upper bound for {without}, because no max_tokens bounds the answers")
    text = ", ".join(parts)
    presumed, reserved = _sum(priced, "presumed"), _sum(priced, "reserved")
    if presumed:
        text += f"; {money_text(presumed)} more are presumed spent, for rows that were run and whose bill did not come"
    if reserved:
        text += f"; {money_text(reserved)} are set aside for rows under way"
    if unknown:
        text += f"; of {number_of(unknown, 'arm')} the price is not known"
    return text + "."


def _sum(frame: pl.DataFrame, column: str) -> float:
    return float(sum(sorted(frame[column].drop_nulls().to_list())))


def bill(costs: pl.DataFrame) -> Section:
    parts: list[Part] = [Sentence(bill_text(costs))]
    priced = costs.filter(pl.col("settled").is_not_null())
    money = ("estimated", "reserved", "settled", "presumed")
    columns = [
        "stage",
        "arm",
        "rows",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
        *money,
        "price_note",
        "price_source",
    ]
    numbers = Table.of(costs.select(columns), dict.fromkeys(money, "dollars"), "The bill by arm")
    parts += list(_priced(priced, numbers))
    if len(parts) == 1:
        labels = labels_of(costs.select("stage", "arm").rows())
        short = {"arm": [labels[place] for place in costs.select("stage", "arm").iter_rows()]}
        rest = {name: values for name, values in numbers.columns.items() if name not in ("stage", "arm")}
        parts.append(msgspec.structs.replace(numbers, columns=short | rest))
    return Section(title="What it cost", parts=parts)


def _priced(priced: pl.DataFrame, numbers: Table) -> Iterator[Figure]:
    """Where anything has a price, or could have had one."""
    if priced.height and _sum(priced, "settled") + _sum(priced, "estimated") > 0:
        places = [(stage, arm) for stage, arm in priced.select("stage", "arm").iter_rows()]
        labels = labels_of(places)
        bars = [
            Bar(labels[row["stage"], row["arm"]], _parts_of(row), money_text(row["settled"]))
            for row in priced.iter_rows(named=True)
        ]
        words = ("settled", "presumed spent", "set aside", "not needed of the most it could cost")
        drawing = Bars(
            rows=bars, words=words, tones=("good", "middling", "odd", "none"), axis="US dollars", dollars=True
        )
        bounded = priced["estimated"].null_count() < priced.height
        caption = "At the end of each bar: what the arm cost, by the provider's own count of tokens."
        if bounded:
            caption = (
                "Each bar is the most that an arm could have cost, as estimated before it was sent; the number after "
                "it is what it cost."
            )
        if bounded and priced["estimated"].null_count():
            caption += " Arms without max_tokens have no such bound: their bars end with what they cost."
        yield Figure(
            name="costs",
            title="What did it cost, against the estimate?" if bounded else "What did it cost?",
            caption=caption,
            drawing=drawing,
            numbers=numbers,
        )


def _parts_of(row: Mapping[str, Any]) -> list[float]:
    spent, presumed, aside = row["settled"], row["presumed"] or 0.0, row["reserved"] or 0.0
    return [spent, presumed, aside, max(0.0, (row["estimated"] or 0.0) - spent - presumed - aside)]


def again(facts: RunFacts) -> Section:
    """What it takes to make the same page again."""
    columns = {"what": list(facts.hashes), "value": list(facts.hashes.values())}
    told = (
        f"Made by Overnight {facts.version} from the run's own records, offline. `overnight report {facts.name}` makes "
        "the same page again, byte for byte; `overnight rebuild` first reads every raw answer anew."
    )
    return Section(title="How to make it again", parts=[Sentence(told), Table(columns=columns, title="Hashes")])
