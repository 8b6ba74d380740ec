"""Judges under test: both orders, the place, and each other."""

from __future__ import annotations

import polars as pl
import pytest

from overnight.core.ask import Arm, Model, Options
from overnight.tasks._pairs.judge_tables import BIAS, CONSISTENCY, judge_names, judge_tables

SAYS = {
    "fair": max,
    "biased": lambda first, second: first,
    "contrary": min,
}


def said(*judges: str, ways: tuple[str, ...] = ("forward", "reverse")) -> pl.DataFrame:
    rows = []
    for judge in judges:
        for low, high in ("ab", "ac", "bc", "ad", "bd", "cd"):
            for way in ways:
                first, second = (low, high) if way == "forward" else (high, low)
                won = SAYS[judge](first, second)
                rows.append((judge, judge, first, second, way, "first" if won == first else "second"))
    names = ["arm", "judge", "first_id", "second_id", "direction", "verdict"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(
        stage=pl.lit("compare"), template=pl.lit("t"), thinking=pl.lit("off"), subject=pl.lit(None, pl.String)
    )


def row(table: pl.DataFrame, arm: str) -> dict[str, object]:
    return table.row(by_predicate=pl.col("arm") == arm, named=True)


def test_a_judge_that_holds_to_its_verdict_and_one_that_follows_the_place() -> None:
    found = dict(judge_tables(said("fair", "biased")))
    assert found["consistency"].columns == list(CONSISTENCY)
    assert found["bias"].columns == list(BIAS)
    held, swayed = (row(found["consistency"], judge) for judge in ("fair", "biased"))
    assert (held["n_both_orders"], held["n_pairs"], held["prop_consistent"], held["note"]) == (6, 6, 1.0, None)
    assert held["prop_lwr"] < 0.6  # six pairs prove little
    assert swayed["prop_consistent"] == 0.0
    bias = row(found["bias"], "biased")
    assert (bias["first"], bias["n_inconsistent_pos1_bias"], bias["p_inconsistent"]) == (12, 6, pytest.approx(2 / 64))
    assert row(found["bias"], "fair")["p_inconsistent"] is None


def test_agreement_of_each_two_and_of_all() -> None:
    found = dict(judge_tables(said("fair", "biased", "contrary")))["agreement"]
    kappa = {(one, other): value for one, other, value in found.select("arm_a", "arm_b", "kappa").iter_rows()}
    assert kappa["contrary", "fair"] == -1.0
    # One that follows the place agrees with anybody half of the time: as a coin would.
    assert kappa["biased", "fair"] == pytest.approx(0.0)
    assert kappa["all", None] == pytest.approx(-1 / 3)
    assert "agreement" not in dict(judge_tables(said("fair")))


def test_what_was_left_out_is_counted_and_said() -> None:
    frame = said("fair").with_columns(
        verdict=pl.when((pl.col("first_id") == "a") & (pl.col("second_id") == "b"))
        .then(pl.lit("unparsed"))
        .otherwise("verdict")
    )
    held = row(dict(judge_tables(frame))["consistency"], "fair")
    assert (held["n_both_orders"], held["n_pairs"], held["n_left_out"]) == (6, 5, 1)
    assert "1 left out" in str(held["note"])
    one_way = dict(judge_tables(said("fair", ways=("forward",))))
    for name in ("consistency", "bias"):
        assert "one order only" in str(row(one_way[name], "fair")["note"])
    assert row(one_way["consistency"], "fair")["prop_consistent"] is None


def test_nothing_readable_is_no_verdict() -> None:
    found = dict(judge_tables(said("fair", "biased").with_columns(verdict=pl.lit("unparsed"))))
    assert row(found["bias"], "fair")["unparsed"] == 12
    assert row(found["consistency"], "fair")["note"] == "no pair has a winner in both orders"
    assert found["agreement"]["kappa"].to_list() == [None, None]
    assert found["agreement"]["n_left_out"].to_list() == [6, 6]


def test_the_same_two_on_different_subjects_are_not_two_orders() -> None:
    frame = said("fair")
    apart = frame.with_columns(subject=pl.col("direction"))
    assert row(dict(judge_tables(apart))["consistency"], "fair")["n_both_orders"] == 0
    both = pl.concat([frame.with_columns(subject=pl.lit(name)) for name in ("x", "y")])
    assert row(dict(judge_tables(both))["consistency"], "fair")["n_pairs"] == 12


def arm(name: str, direction: str, **options: object) -> Arm:
    model = Model(provider="p", name="m", options=Options(**options))
    return Arm(stage="s", name=name, template="t", model=model, direction=direction)


def test_two_directions_are_one_judge() -> None:
    arms = [
        arm("t__p__m__off__forward", "forward"),
        arm("t__p__m__off__reverse", "reverse"),
        arm("t__p__m__off__forward-1a2b", "forward", temperature=0.5),
        arm("t__p__m__off__reverse-3c4d", "reverse", temperature=0.5),
    ]
    names = judge_names(arms)
    assert list(names.values()) == ["t__p__m__off", "t__p__m__off", "t__p__m__off-1a2b", "t__p__m__off-1a2b"]
    assert judge_names(arms[1:2]) == {"t__p__m__off__reverse": "t__p__m__off"}
