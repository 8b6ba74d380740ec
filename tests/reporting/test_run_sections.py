"""Counts add up, and sentences say what the counts say."""

from __future__ import annotations

from random import Random

import polars as pl
import pytest
from msgspec.structs import replace

from overnight.core.wording import number_of
from overnight.reporting import Bars, Figure, Lines, Timeline, building, row_browser
from overnight.reporting.page.html import Fact
from overnight.reporting.row_browser import not_read, row_browsers
from overnight.reporting.run_facts import BatchFacts, RunFacts, StageFacts
from overnight.reporting.run_sections import (
    asked_text,
    bill_text,
    came_back,
    came_back_text,
    counted,
    left_out,
    over_time,
    total,
    under_way,
)
from overnight.reporting.wording import csv_text, listed, number_text, p_text, percent_text
from reporting.pages import unpacked

WORDS = ["answered"] * 6 + ["refused", "truncated", "failed", "pending"]


def results(copies: int = 1) -> pl.LazyFrame:
    count = len(WORDS) * copies
    return pl.LazyFrame(
        {
            "stage": ["ask"] * count,
            "arm": [f"p__openai__model-{at % 2}__default__forward" for at in range(count)],
            "item_id": [f"item {at // 2}" for at in range(count)],
            "replicate": [0] * count,
            "turn": [0] * count,
            "status": WORDS * copies,
            "cause": [{"failed": "timeout"}.get(word) for word in WORDS] * copies,
            "answer": ["text"] * count,
            "input_tokens": [10] * count,
            "output_tokens": [at % 7 for at in range(count)],
            "cost": [0.000123] * count,
            "parsed": ([True] * 4 + [False] * 2 + [None] * 4) * copies,
            "request_key": [f"a1{at:032x}" for at in range(count)],
        }
    )


def test_each_row_is_in_exactly_one_count() -> None:
    counts = counted(results())
    assert total(counts) == 10
    assert {word: total(counts, word) for word in ("answered", "unparsed", "refused", "pending")} == {
        "answered": 4, "unparsed": 2, "refused": 1, "pending": 1,
    }  # fmt: skip
    assert came_back_text(counts) == (
        "Of 10 rows, 4 were answered, 2 were answered but cannot be read, 1 was refused, 1 was cut off, 1 failed and "
        "1 is still open."
    )
    figure = next(part for part in came_back(counts).parts if isinstance(part, Figure))
    assert isinstance(figure.drawing, Bars)
    assert sum(part or 0 for bar in figure.drawing.rows for part in bar.parts) == 10
    columns = figure.numbers.columns
    assert columns["rows"] == [
        sum(said) for said in zip(*(columns[word] for word in figure.drawing.words), strict=True)
    ]


def test_when_all_is_well() -> None:
    assert came_back_text(counted(results().filter(pl.col("parsed")))) == "All 4 rows were answered."


MONEY = {"stage": "s", "arm": "a", "estimated": 2.0, "reserved": 0.0, "settled": 1.0, "presumed": 0.0}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "The bill is $1.00, 50% of the $2.00 that it could have come to at most."),
        ({"settled": None}, "What it cost is not known: none of its models has a price on record."),
        (
            {"presumed": 0.5},
            "The bill is $1.00, 50% of the $2.00 that it could have come to at most; $0.50 more are presumed spent, for rows that were run and whose bill did not come.",
        ),
        (
            {"estimated": None},
            "The bill is $1.00, without an upper bound for 1 arm, because no max_tokens bounds the answers.",
        ),
    ],
)
def test_the_bill_in_words(changes: dict, said: str) -> None:
    schema = {"stage": pl.String, "arm": pl.String} | dict.fromkeys(
        ("estimated", "reserved", "settled", "presumed"), pl.Float64
    )
    assert bill_text(pl.DataFrame([MONEY | changes], schema=schema)) == said


def batches(count: int) -> list[BatchFacts]:
    return [
        BatchFacts(
            name=str(at), account=f"openai {at % 2}", begin=at, end=at + 10.0, rows=5, state="closed", live=False
        )
        for at in range(count)
    ]


def test_beyond_a_hundred_batches_they_are_counted_by_account() -> None:
    for count, kind in ((100, Timeline), (101, Lines)):
        section = over_time(batches(count))
        assert section is not None
        figure = section.parts[1]
        assert isinstance(figure, Figure)
        assert isinstance(figure.drawing, kind)
        assert figure.numbers.height == count
    lines = under_way(batches(40)).lines
    assert [line.label for line in lines] == ["openai 0", "openai 1"]
    assert all(line.points[-1].y == 0 and max(point.y for point in line.points) == 5 for line in lines)
    assert over_time([]) is None


def test_a_very_large_run_is_summed_up_sampled_and_says_so() -> None:
    (everything,) = row_browsers(results(3))
    assert everything.about.startswith("All 30 rows")
    found = unpacked(everything.data)
    assert found["item"] == [f"item {at // 2}" for at in range(30)]
    assert found["cost"] == [0.000123] * 30 if "cost" in found else True
    by_item, sample = row_browsers(results(3), most=20, sample=7)
    assert "30 rows, too many for a page" in by_item.about
    assert sum(unpacked(by_item.data)["rows"]) == 30
    assert sample.about.startswith("A sample of 7 of the 30 rows")
    assert len(unpacked(sample.data)["item"]) == 7
    assert sample == list(row_browsers(results(3), most=20, sample=7))[1]


@pytest.mark.parametrize("stretch", [1, 7, 29, 30, 31, 10_000])
def test_a_sample_is_the_same_however_many_rows_are_looked_at_together(
    stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing of a stretch is in the sample, and where the last stretch is one row."""
    drawn = sorted(Random(0).sample(range(30), 7))
    monkeypatch.setattr(row_browser, "_STRETCH", stretch)
    *_, sample = row_browsers(results(3), most=20, sample=7)
    assert unpacked(sample.data)["item"] == [f"item {place // 2}" for place in drawn]
    assert unpacked(sample.data)["status"] == [(WORDS * 3)[place] for place in drawn]


def test_numbers_as_they_are_written() -> None:
    assert [number_text(value, 1) for value in (1234.56, -0.04, -2, float("nan"))] == [
        "1,234.6",
        "0.0",
        "\u22122.0",
        "",
    ]
    assert (percent_text(0.1234), p_text(0.00001), p_text(0.04), p_text(0.5)) == (
        "12.3%", "p < 0.001", "p = 0.040", "p = 0.50",
    )  # fmt: skip
    assert (listed(["a"]), listed(["a", "b"]), listed(list("abcdef"), 3)) == ("a", "a and b", "a, b, c and 3 others")
    assert csv_text(1 / 3) == "0.333333"


def stage(name: str, task: str, models: str, of: str | None = None, items: int | None = 8) -> StageFacts:
    arms = [
        {"template": "t", "provider": "openai", "model": model, "thinking": "", "direction": "", "options": ""}
        for model in models
    ]
    return StageFacts(name=name, task=task, version="1", of=of, arms=arms, items=items)


def test_what_was_asked_and_of_whom() -> None:
    assert asked_text([stage("compare", "compare", "ab")]) == "Asked: compare: 8 items, by a and b."
    assert asked_text([stage("first", "generate", "a", items=1)]) == "Asked: first (generate): 1 item, by a."
    assert asked_text([stage("adopted", "adopted", "abcde", items=None)]) == (
        "Asked: adopted: requests that were made elsewhere, by a, b, c, d and 1 other."
    )
    judged = [stage("rank", "rank", "j", of="answers", items=4), stage("held", "comply", "j", of="answers")]
    assert asked_text([stage("answers", "generate", "ab"), *judged]) == (
        "Asked: answers (generate): 8 items, by a and b; rank and held (comply): the rows of answers, by j."
    )


def test_rows_that_share_an_answer_are_told_where_they_are_missing() -> None:
    section = over_time(batches(2), shared=3)
    assert section is not None
    assert section.parts[0].text == (
        "10 rows travelled in 2 batches, rows that were asked again included. 3 rows more asked what another row asks, "
        "and share its answer."
    )
    alone = over_time(batches(2))
    assert alone is not None
    assert alone.parts[0].text.endswith("included.")


def test_facts_on_top_add_up() -> None:
    found = {fact.word: fact for fact in facts_of(counted(results()))}
    assert (found["rows"].value, found["answered"].more, found["left out"].value, found["still open"].value) == (
        "10", "4", "5", "1",
    )  # fmt: skip


def facts_of(counts: pl.DataFrame) -> list[Fact]:
    facts = RunFacts(
        name="r", rehearsal=False, version="0", stages=[stage("ask", "generate", "a")], definition=None, hashes={},
        batches=[], left_out=[], asked_again={}, costs=pl.DataFrame(schema={"settled": pl.Float64}),
    )  # fmt: skip
    return building._facts(facts, counts)


def test_of_few_rows_that_were_not_read_all_are_shown() -> None:
    for copies in (1, 2, 5):
        readings = {one.title: one for one in not_read(results(copies))}
        shown = min(6, copies)
        assert len(readings[f"refused: {shown} of {number_of(copies, 'row')}, as they came"].texts) == shown
    assert len({text for one in not_read(results(9)) for text in one.texts}) > 6


def test_a_half_goes_up() -> None:
    assert [percent_text(share) for share in (0.3125, 0.1875, 0.0625)] == ["31.3%", "18.8%", "6.3%"]
    assert [number_text(value, 0) for value in (62.5, 87.5, 0.5, -0.5)] == ["63", "88", "1", "\u22121"]
    assert (number_text(100 * 0.575, 0), number_text(1e15, 0), number_text(5e-324, 3)) == (
        "58", "1,000,000,000,000,000", "0.000",
    )  # fmt: skip


def test_money_that_is_not_settled_yet_is_told_apart() -> None:
    rows = [MONEY | {"reserved": 0.25}, MONEY | {"arm": "b", "settled": None, "estimated": None}]
    schema = {"stage": pl.String, "arm": pl.String} | dict.fromkeys(
        ("estimated", "reserved", "settled", "presumed"), pl.Float64
    )
    assert bill_text(pl.DataFrame(rows, schema=schema)) == (
        "The bill is $1.00, 50% of the $2.00 that it could have come to at most; $0.25 are set aside for rows under way; "
        "of 1 arm the price is not known."
    )


def test_what_was_left_out_is_said_of_each_kind() -> None:
    facts = RunFacts(
        name="r", rehearsal=False, version="0", stages=[], definition=None, hashes={}, batches=[],
        left_out=["of stage rank: 3 rows had no partner"], asked_again={"rate_limited": 1_200, "expired": 2},
        costs=pl.DataFrame(schema={"settled": pl.Float64}),
    )  # fmt: skip
    said = [part.text for part in left_out(counted(results()), facts).parts]
    assert said == [
        "2 rows were answered but cannot be read: counted as unparsed, never as a verdict or a score.",
        "1 row was refused: by the model or its provider.",
        "1 row was cut off: at the limit of tokens.",
        "1 row failed for good: its cause is in the table above.",
        "1 row is still open: this page is of the rows that have come so far.",
        "of stage rank: 3 rows had no partner.",
        "Tries that failed and were made again, by cause: rate_limited 1,200, expired 2. They are no rows of their own.",
    ]
    nothing = replace(facts, left_out=[], asked_again={})
    clean = counted(results().filter(pl.col("parsed")))
    assert [part.text for part in left_out(clean, nothing).parts] == [
        "Nothing: every row was answered, and every answer could be read."
    ]
