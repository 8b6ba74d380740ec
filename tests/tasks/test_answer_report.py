"""Rates, lengths and differences of arms in words: a difference is told by its own interval, and by nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import polars as pl

from overnight.core.ask import Arm, Model
from overnight.core.stage import Stage
from overnight.reporting import Reading, Sentence, Source
from overnight.tasks._answer_report import answer_report, answered_text
from overnight.tasks._differences import difference_text, differences
from overnight.tasks.generate import Generate


def frame(shares: dict[str, float], items: int = 200, seed: int = 3) -> pl.DataFrame:
    draw = Random(seed)
    rows = [(arm, str(item), float(draw.random() < share)) for item in range(items) for arm, share in shares.items()]
    return pl.DataFrame(rows, schema=["arm", "item_id", "answered"], orient="row")


def test_a_planted_difference_is_told_and_none_where_there_is_none() -> None:
    apart = differences(frame({"A": 0.95, "B": 0.7, "C": 0.7}), "answered", ["A", "B", "C"])
    assert [(one.one, one.other, one.told) for one in apart] == [("A", "B", True), ("A", "C", True), ("B", "C", False)]
    text = difference_text(apart, "answers more often", percent=True)
    assert text.startswith("A answers more often than ")
    assert "B answers" not in text
    same = differences(frame({"A": 0.8, "B": 0.8}), "answered", ["A", "B"])
    assert difference_text(same, "answers more often", percent=True).startswith(
        "No difference between A and B can be told (by "
    )


def test_two_that_are_the_same_throughout_are_not_called_different() -> None:
    (same,) = differences(frame({"A": 1.0, "B": 1.0}), "answered", ["A", "B"])
    assert (same.told, same.value) == (False, 0.0)
    assert same.low < 0 < same.high


def test_where_everything_was_answered_nothing_is_compared() -> None:
    assert answered_text(frame({"A": 1.0, "B": 1.0})) == "All 400 rows were answered."
    assert answered_text(frame({"A": 1.0}, items=1)) == "The only row was answered."
    assert answered_text(frame({"A": 0.0}, items=1)) == "0.0% of 1 row was answered (95% interval 0.0 to 97.5%)."
    # Several rows of one item say nothing about other items.
    alone = pl.concat([frame({"A": 0.5}, items=1, seed=seed) for seed in range(10)])
    assert "(95% interval 0.0 to 100.0%)" in answered_text(alone)


def test_the_whole_report_of_a_stage(tmp_path: Path) -> None:
    arms = tuple(
        Arm(
            stage="ask",
            name=f"p__openai__{name}__default__forward",
            template="p",
            model=Model(provider="openai", name=name),
        )
        for name in ("long", "short")
    )
    rows = [
        {
            "stage": "ask", "arm": arm.name, "item_id": str(item), "replicate": 0, "turn": 0,
            "status": "refused" if item % 10 == 0 and at else "answered",
            "answer": None if item % 10 == 0 and at else "<i>x</i>" * (20 - 15 * at + item % 3), "parsed": None,
        }
        for item in range(40)
        for at, arm in enumerate(arms)
    ]  # fmt: skip
    pl.DataFrame(rows, schema_overrides={"parsed": pl.Boolean}).write_parquet(tmp_path / "results.parquet")
    stage = Stage(name="ask", task=Generate(arms), arms=arms)
    found = {one.title: one for one in answer_report(Source(tables=tmp_path, stages=[stage], item=lambda *_: {}))}
    assert list(found) == ["Answers", "How long the answers are", "Answers to read"]
    said = [part.text for section in found.values() for part in section.parts if isinstance(part, Sentence)]
    assert said[0].startswith("95.0% of 80 rows were answered (95% interval ")
    assert any(text.startswith("long writes longer answers than short (by ") for text in said)
    readings = [part for part in found["Answers to read"].parts if isinstance(part, Reading)]
    assert len(readings) == 6
    assert readings[0].texts[1] == ("short", "(refused)")


def test_rows_of_one_arm_count_as_dependent_where_an_item_has_several(tmp_path: Path) -> None:
    """Names of items are not read where each has one row; where one has several, they are."""
    arm = Arm(
        stage="ask", name="p__openai__m__default__forward", template="p", model=Model(provider="openai", name="m")
    )
    stage = Stage(name="ask", task=Generate((arm,)), arms=(arm,))
    told = {}
    for replicates in (1, 2):
        rows = [
            {
                "stage": "ask", "arm": arm.name, "item_id": f"{item:02d}", "replicate": replicate, "turn": 0,
                "status": "answered" if item % 2 else "refused", "answer": f"text {item}", "parsed": None,
            }
            for item in range(40 // replicates)
            for replicate in range(replicates)
        ]  # fmt: skip
        pl.DataFrame(rows, schema_overrides={"parsed": pl.Boolean}).write_parquet(tmp_path / "results.parquet")
        sections = list(answer_report(Source(tables=tmp_path, stages=[stage], item=lambda *_: {})))
        texts = [part.text for section in sections for part in section.parts if isinstance(part, Sentence)]
        titles = [part.title for section in sections for part in section.parts if isinstance(part, Reading)]
        told[replicates] = (texts[0], titles)
    assert told[1] == (
        "50.0% of 40 rows were answered (95% interval 35.2 to 64.8%).",
        ["00", "06", "13", "20", "26", "33"],
    )
    assert told[2] == (
        "50.0% of 40 rows were answered (95% interval 27.2 to 72.8%).",
        ["00", "03", "06", "10", "13", "16"],
    )


def test_the_report_of_one_arm_loads_no_numpy() -> None:
    """It takes a tenth of a second and 20 MB, in every run."""
    asked = (
        "import sys, polars as pl\n"
        "from overnight.reporting.row_browser import row_browsers\n"
        "from overnight.tasks._answer_report import answered_text\n"
        "rows = pl.DataFrame({'arm': ['A'] * 9, 'item_id': list('abcdefghi'), 'answered': [True] * 9})\n"
        "assert answered_text(rows) == 'All 9 rows were answered.'\n"
        "names = ('stage', 'status', 'cause', 'replicate', 'turn', 'input_tokens', 'output_tokens', 'cost')\n"
        "list(row_browsers(rows.with_columns(pl.lit(1).alias(name) for name in names).lazy()))\n"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_items_are_told_apart_in_any_order() -> None:
    for items, interval in ((["a", "b", "c", "d"], "6.8 to 93.2%"), (["a", "b", "a", "b"], "0.2 to 99.8%")):
        rows = pl.DataFrame({"arm": ["A"] * 4, "item_id": items, "answered": [1.0, 0.0, 1.0, 0.0]})
        assert f"(95% interval {interval})" in answered_text(rows)
        backwards = answered_text(rows.sort("item_id", descending=True))
        assert answered_text(rows.sort("item_id")) == answered_text(rows) == backwards
