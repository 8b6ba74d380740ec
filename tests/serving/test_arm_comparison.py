"""Two arms compared: planted truths come out, with the counts that belong to them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl
import pytest

from overnight.core.errors import UnknownName
from overnight.serving.arm_comparison import (
    ArmRows,
    chosen_measure,
    compare_arms,
    items_in,
    measures_of,
    rows_of_arm,
)
from overnight.serving.row_index import index_of
from overnight.serving.screens.comparison import sentence_of

N = 400


def arms(folder: Path, rate_a: float, rate_b: float) -> list[ArmRows]:
    """Two arms with planted rates of yes."""
    table = write(folder, rate_a, rate_b)
    index = index_of(table)
    return [rows_of_arm(table, index, "judging", arm) for arm in ("a", "b")]


def part(arm: ArmRows, begin: int, count: int) -> ArmRows:
    return ArmRows(rows=arm.rows.slice(begin, count), lengths=arm.lengths[begin : begin + count])


def write(folder: Path, rate_a: float, rate_b: float) -> Path:
    draw = Random(11)
    rows = []
    for arm, rate in (("a", rate_a), ("b", rate_b)):
        for at in range(N):
            failed = arm == "b" and at % 40 == 0
            rows.append(
                {
                    "stage": "judging",
                    "arm": arm,
                    "item_id": f"item {at:03d}",
                    "replicate": 0,
                    "status": "failed" if failed else "answered",
                    "cause": "expired" if failed else None,
                    "answer": None if failed else "x" * (10 if arm == "a" else 12),
                    "parsed": None if failed else True,
                    "label": None if failed else "yes" if draw.random() < rate else "no",
                    "score": None if failed else float(at % 5 + (arm == "a")),
                    "cost": None if failed else 0.001,
                    "input_tokens": 5,
                    "output_tokens": 5,
                    "reasoning_tokens": None,
                }
            )
    path = folder / "results.parquet"
    pl.DataFrame(rows, schema_overrides={"reasoning_tokens": pl.Int64, "cause": pl.String}).write_parquet(path)
    return path


def test_what_can_be_compared_is_what_the_task_has_read_first(tmp_path: Path) -> None:
    measures = measures_of(arms(tmp_path, 0.5, 0.5))
    names = [one.name for one in measures]
    assert names[:4] == ["label=no", "label=yes", "score", "parsed"]
    assert {"status=answered", "status=failed", "length", "cost"} <= set(names)
    with pytest.raises(UnknownName, match="cannot be compared by 'lable'"):
        chosen_measure(measures, "lable")


def test_counts_add_up_and_lead_to_their_items(tmp_path: Path) -> None:
    rows = arms(tmp_path, 0.8, 0.4)
    found = compare_arms(*rows, chosen_measure(measures_of(rows), "label=yes"))
    counts = found.counts
    assert counts is not None
    cells = {cell: items_in(found, cell) for cell in ("both", "only_a", "only_b", "neither", "missing")}
    assert {cell: len(items) for cell, items in cells.items()} == {
        "both": counts.both, "only_a": counts.only_a, "only_b": counts.only_b, "neither": counts.neither, "missing": 10,
    }  # fmt: skip
    assert sum(map(len, cells.values())) == N
    frame = pl.read_parquet(tmp_path / "results.parquet")
    for name in cells["only_a"][:5]:
        assert frame.filter(pl.col("item_id") == name)["label"].to_list() == ["yes", "no"]


def test_the_sentence_says_what_the_interval_says(tmp_path: Path) -> None:
    for rates, verdict in (((0.8, 0.4), "it is so more often for A."), ((0.5, 0.5), "no difference can be told.")):
        rows = arms(tmp_path, *rates)
        found = compare_arms(*rows, chosen_measure(measures_of(rows), "label=yes"))
        text = sentence_of(found, ("A", "B"))
        assert text.endswith(verdict), text
        assert "over 390 items that both have" in text
        assert found.paired.n_missing == 10


def test_numbers_are_compared_item_by_item(tmp_path: Path) -> None:
    rows = arms(tmp_path, 0.5, 0.5)
    measures = measures_of(rows)
    found = compare_arms(*rows, chosen_measure(measures, "score"))
    assert found.counts is None
    assert found.paired.difference == pytest.approx(1.0)
    assert "it is more for A" in sentence_of(found, ("A", "B"))
    length = compare_arms(*rows, chosen_measure(measures, "length"))
    assert length.paired.difference == pytest.approx(-2.0)
    assert len(items_in(length, "apart")) == 390


def test_items_that_only_one_has_are_left_out(tmp_path: Path) -> None:
    one, other = arms(tmp_path, 0.5, 0.5)
    measure = chosen_measure(measures_of([one, other]), "score")
    found = compare_arms(part(one, 0, 200), part(other, 100, 200), measure)
    assert (found.paired.n, found.paired.n_missing) == (98, 202)
    assert found.paired.difference == pytest.approx(1.0)
    assert found.items["item_id"].is_sorted()


def test_nothing_in_common_is_said(tmp_path: Path) -> None:
    one, _ = arms(tmp_path, 0.5, 0.5)
    found = compare_arms(one, part(one, 0, 0), chosen_measure(measures_of([one]), "score"))
    assert sentence_of(found, ("A", "B")) == "0 items with both: too few to tell a difference."
