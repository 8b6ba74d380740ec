"""Sentences about scores: computed from planted numbers, and modest where these are."""

from __future__ import annotations

from random import Random

import polars as pl

from overnight.tasks._differences import difference_text
from overnight.tasks._judging.report import score_differences, score_text


def verdicts(shares: dict[str, float], seed: int = 2) -> pl.DataFrame:
    """A verdict of one judge on each of four inputs to fifty statements, for each candidate."""
    draw = Random(seed)
    rows = [
        (model, f"s{statement}", at, f"s{statement}_{at}_{model}", float(draw.random() < share))
        for statement in range(50)
        for at in range(4)
        for model, share in shares.items()
    ]
    return pl.DataFrame(rows, schema=["model", "statement_id", "input_index", "item_id", "score"], orient="row")


def test_a_planted_difference_of_candidates_is_told_and_no_other() -> None:
    found = score_differences(verdicts({"A": 0.9, "B": 0.6, "C": 0.6}), ["A", "B", "C"])
    assert [(one.one, one.other, one.told) for one in found] == [("A", "B", True), ("A", "C", True), ("B", "C", False)]
    assert all(one.items == 200 for one in found)
    same = score_differences(verdicts({"A": 0.7, "B": 0.7}), ["A", "B"])
    assert "No difference between A and B can be told" in difference_text(same, "keeps to it", percent=True)


def test_scores_in_words() -> None:
    row = {"model": "A", "score": 0.9, "score_lwr": 0.8, "score_upr": 0.95}
    assert score_text([row], shares=True) == (
        "Share of verdicts that an answer keeps to its statement: A 90.0% (80.0 to 95.0%)."
    )
    graded = row | {"score": 3.456, "score_lwr": 3.0, "score_upr": 4.0}
    assert score_text([graded], shares=False) == "Mean grade: A 3.46 (3.00 to 4.00)."
    assert score_text([row | {"score": None}], shares=True) == "Nothing can be said: no verdict could be read."
