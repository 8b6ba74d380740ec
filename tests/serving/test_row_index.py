"""Rows chosen by what is kept of them are those that the table itself would give."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest

from overnight.serving import row_index, row_search
from overnight.serving.row_index import Choice, index_of, rows_at
from overnight.serving.row_search import RowSearch

COUNT = 700


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = Random(3)
    rows = {
        "stage": [f"stage {at // 350}" for at in range(COUNT)],
        "arm": [f"arm {at // 100}" for at in range(COUNT)],
        "item_id": [f"item {at % 100}" for at in range(COUNT)],
        "status": draw.choices(["answered", "refused", "failed", "pending"], [80, 5, 10, 5], k=COUNT),
        "cause": draw.choices([None, "expired", "max_tokens"], [9, 1, 1], k=COUNT),
        "answer": [
            None if draw.random() < 0.1 else "x" * draw.randrange(50) + f" Word{at % 7}." for at in range(COUNT)
        ],
        "thoughts": [f"thought {at}" if at % 50 == 0 else None for at in range(COUNT)],
        "cost": [None if draw.random() < 0.2 else draw.randrange(100) / 1000 for _ in range(COUNT)],
        "parsed": draw.choices([True, False, None], k=COUNT),
    }
    path = tmp_path_factory.mktemp("table") / "results.parquet"
    pl.DataFrame(rows).write_parquet(path, row_group_size=64)
    return path


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (row_index, row_search):
        monkeypatch.setattr(module, "CHUNK", 90)


UNREAD = pl.col("parsed").not_().fill_null(value=False)
WORD = pl.when((pl.col("status") == "answered") & UNREAD).then(pl.lit("unparsed")).otherwise(pl.col("status"))
LENGTH = pl.col("answer").str.len_chars()


@pytest.mark.parametrize(
    ("choice", "test"),
    [
        (Choice(), pl.lit(value=True)),
        (Choice(stage="stage 1"), pl.col("stage") == "stage 1"),
        (Choice(stage="stage 0", arm="arm 3"), (pl.col("stage") == "stage 0") & (pl.col("arm") == "arm 3")),
        (Choice(status="failed"), WORD == "failed"),
        (Choice(status="unparsed"), WORD == "unparsed"),
        (Choice(status="answered"), WORD == "answered"),
        (Choice(status="unheard of"), pl.lit(value=False)),
        (Choice(cause="expired"), pl.col("cause") == "expired"),
        (Choice(least_cost=0.05), pl.col("cost") >= 0.05),
        (Choice(most_cost=0.0205), pl.col("cost") <= 0.0205),
        (Choice(least_length=20, most_length=30), LENGTH.is_between(20, 30)),
        (Choice(most_length=0), pl.lit(value=False)),
        (
            Choice(arm="arm 2", status="answered", least_cost=0.0),
            (pl.col("arm") == "arm 2") & (WORD == "answered") & (pl.col("cost") >= 0),
        ),
    ],
)
def test_a_choice_gives_the_rows_of_the_table(table: Path, choice: Choice, test: pl.Expr) -> None:
    wanted = pl.scan_parquet(table).with_row_index("row").filter(test).select("row").collect()["row"].to_list()
    assert index_of(table).chosen(choice).tolist() == wanted


def test_orders_are_those_of_the_values_and_rows_alike_stay_in_place(table: Path) -> None:
    index, frame = index_of(table), pl.read_parquet(table)
    lengths = frame["answer"].str.len_chars().fill_null(-1).to_numpy()
    longest = index.chosen(Choice(order="longest"))
    assert longest.tolist() == sorted(range(COUNT), key=lambda row: -lengths[row])
    known = [row for row in index.chosen(Choice(order="shortest")).tolist() if lengths[row] >= 0]
    assert known == sorted(known, key=lambda row: lengths[row])
    costs = frame["cost"].fill_null(-1).to_numpy()
    dearest = index.chosen(Choice(order="dearest", arm="arm 1")).tolist()
    assert dearest == sorted(range(100, 200), key=lambda row: -costs[row])


def test_rows_come_in_the_order_in_which_they_are_asked_for(table: Path) -> None:
    frame = pl.read_parquet(table)
    for numbers in ([], [5], [10, 11, 12], [699, 3, 250, 4], [0, 2]):
        assert (
            rows_at(table, numbers, ["item_id", "answer"]).rows() == frame.select("item_id", "answer")[numbers].rows()
        )


def test_words_are_found_in_answers_items_and_thoughts_whatever_their_case(table: Path) -> None:
    frame = pl.read_parquet(table).with_row_index("row")
    text = pl.concat_str(pl.col("item_id", "answer", "thoughts").fill_null(""), separator="\0").str.to_lowercase()
    for words in ("word3", "WORD3.", "item 17", "thought 50", ".", "no such word", "(", "[a-z]"):
        found = RowSearch(table, words, COUNT, lambda: True).found(COUNT, patience=30.0)
        assert found.over
        wanted = frame.filter(text.str.contains(words.lower(), literal=True))["row"].to_list()
        assert found.rows.tolist() == wanted, words


def test_a_search_tells_what_it_has_before_it_is_over(table: Path) -> None:
    """And how far it had come then: a page that shows nothing yet must not say that this is all."""
    with row_search._READING:
        search = RowSearch(table, "word", COUNT, lambda: True)
        nothing = search.found(1, patience=0.0)
    first = search.found(1, patience=30.0)
    assert len(first.rows) >= 1
    every = search.found(COUNT, patience=30.0)
    assert every.rows[: len(first.rows)].tolist() == first.rows.tolist()
    assert (every.looked, every.over) == (COUNT, True)
    assert (len(nothing.rows), nothing.looked, nothing.over) == (0, 0, False)


def test_a_search_ends_when_the_table_is_made_anew(table: Path) -> None:
    ended = RowSearch(table, "word", COUNT, lambda: False).found(COUNT, patience=30.0)
    assert (ended.rows.tolist(), ended.over) == ([], True)
    assert ended.trouble == "the table was made anew meanwhile"
    gone = RowSearch(table.with_name("gone.parquet"), "word", COUNT, lambda: True).found(COUNT, patience=30.0)
    assert isinstance(gone.rows, np.ndarray)
    assert "cannot be read" in (gone.trouble or "")
