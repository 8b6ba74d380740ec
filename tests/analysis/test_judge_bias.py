import numpy as np
import polars as pl
import pytest

from overnight.analysis import judge_bias
from overnight.rank import BadVerdicts

NAMES = ["ant", "bee", "cat"]


def scores(seed, favour=0.0, lenient=0.0, items=120):
    """Every judge scores every candidate; `ant` is lenient with all, and judges favour their own."""
    rng = np.random.default_rng(seed)
    quality = dict(zip(NAMES, rng.normal(size=3), strict=True))
    rows = []
    for item in range(items):
        hard = rng.normal()
        for model in NAMES:
            answer = quality[model] + hard + rng.normal()
            for judge in NAMES:
                given = answer + lenient * (judge == "ant") + favour * (judge == model) + rng.normal(0, 0.5)
                rows.append({"judge": judge, "model": model, "item_id": item, "score": given})
    return pl.DataFrame(rows)


def test_a_planted_preference_is_found():
    found = judge_bias(scores(1, favour=0.6))
    # own answers gain 0.6 over both others on the own candidate, and lose 0.3 on each other candidate
    assert found.self_preference == pytest.approx(0.6 + 0.3, abs=4 * found.self_preference_se)
    assert found.self_preference_se < 0.1
    assert found.p < 1e-6
    assert found.table.filter(pl.col("is_self"))["delta_lwr"].min() > 0
    assert found.n_items == 120


def test_leniency_is_not_preference():
    found = judge_bias(scores(2, lenient=1.0))
    ant = found.table.filter(pl.col("judge") == "ant")
    assert (ant["delta_lwr"] > 0.5).all()
    assert (ant["excess"].abs() < 4 * ant["excess_se"]).all()
    assert found.p > 0.01


def test_intervals_hold_the_truth():
    held = []
    for seed in range(150):
        found = judge_bias(scores(seed, favour=0.4, items=40))
        held.append(found.self_preference_lwr <= 0.6 <= found.self_preference_upr)
    assert 0.9 <= np.mean(held) <= 0.99


def test_delta_by_hand():
    rows = [
        ("j", "x", 1, 1.0),
        ("k", "x", 1, 0.0),
        ("l", "x", 1, 0.5),
        ("j", "x", 2, 1.0),
        ("k", "x", 2, 1.0),
        ("k", "y", 9, 1.0),
    ]
    found = judge_bias(pl.DataFrame(rows, schema=["judge", "model", "item_id", "score"], orient="row"))
    table = {row["judge"]: row for row in found.table.to_dicts()}
    assert table["j"]["delta"] == pytest.approx((0.75 + 0.0) / 2)
    assert table["j"]["delta_se"] == pytest.approx(np.sqrt(2 * (0.375 / 2) ** 2))
    assert found.n_left_out == 1
    assert np.isnan(found.self_preference)
    assert np.isnan(table["j"]["excess"])


def test_families_and_matrix():
    table = scores(3).with_columns(pl.col("judge") + "-judge")
    families = {"ant-judge": "ant", "bee-judge": "bee", "cat-judge": "cat"}
    found = judge_bias(table, own=families)
    assert found.table["is_self"].sum() == 3
    matrix = found.matrix()
    assert matrix.columns == ["judge", *NAMES]
    assert matrix.height == 3
    assert judge_bias(table).table["is_self"].sum() == 0


def test_one_judge_has_nothing_to_be_set_against():
    with pytest.raises(BadVerdicts, match="no answer was scored by two judges"):
        judge_bias(scores(1).filter(pl.col("judge") == "ant"))
    with pytest.raises(BadVerdicts, match="column 'judge' is missing"):
        judge_bias(scores(1).rename({"judge": "Judge"}))
