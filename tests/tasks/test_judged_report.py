"""Sentences about scores: computed from planted numbers, and modest where these are."""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl

from overnight.tasks._differences import difference_text
from overnight.tasks._judging.report import read_scores, score_differences, score_text


def verdicts(folder: Path, shares: dict[str, float], seed: int = 2) -> pl.DataFrame:
    """A verdict of one judge on each of four inputs to fifty statements, for each candidate; and what is none."""
    draw = Random(seed)
    rows = [
        ("held", model, f"s{statement}", at, f"s{statement}_{at}@{model}", float(draw.random() < share), "Long.", 9)
        for statement in range(50)
        for at in range(4)
        for model, share in shares.items()
    ]
    rows += [("other", "A", "s0", 0, "s0_0@A", 1.0, "", 9), ("held", "A", "s0", 4, "s0_4@A", None, "", 9)]  # type: ignore[list-item]
    schema = ["stage", "model", "statement_id", "input_index", "item_id", "score", "explanation", "length"]
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "verdicts.parquet")
    return read_scores(folder / "verdicts.parquet", "held")


def test_names_of_verdicts_are_kept_once_and_explanations_not_at_all(tmp_path: Path) -> None:
    found = verdicts(tmp_path, {"A": 0.9, "B": 0.6})
    assert found.height == 400
    assert {name for name, kind in found.schema.items() if kind == pl.String} == set()
    assert "explanation" not in found.columns
    assert found["item_id"].n_unique() == 200  # an input, whoever answered it


def test_a_planted_difference_of_candidates_is_told_and_no_other(tmp_path: Path) -> None:
    found = score_differences(verdicts(tmp_path, {"A": 0.9, "B": 0.6, "C": 0.6}), ["A", "B", "C"])
    assert [(one.one, one.other, one.told) for one in found] == [("A", "B", True), ("A", "C", True), ("B", "C", False)]
    assert all(one.items == 200 for one in found)
    same = score_differences(verdicts(tmp_path, {"A": 0.7, "B": 0.7}), ["A", "B"])
    assert "No difference between A and B can be told" in difference_text(same, "keeps to it", percent=True)


def test_scores_in_words() -> None:
    row = {"model": "A", "score": 0.9, "score_lwr": 0.8, "score_upr": 0.95}
    assert score_text([row], shares=True) == (
        "Share of verdicts that an answer keeps to its statement: A 90.0% (80.0 to 95.0%)."
    )
    graded = row | {"score": 3.456, "score_lwr": 3.0, "score_upr": 4.0}
    assert score_text([graded], shares=False) == "Mean grade: A 3.46 (3.00 to 4.00)."
    assert score_text([row | {"score": None}], shares=True) == "Nothing can be said: no verdict could be read."
