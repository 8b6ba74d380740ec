import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from overnight.analysis import compare_models, holm, mcnemar, mcnemar_counts, paired_difference
from overnight.rank import BadVerdicts


def test_without_clusters_it_is_the_paired_t_test():
    rng = np.random.default_rng(2)
    a = rng.normal(size=30)
    b = a + rng.normal(0.3, 1, 30)
    found, expected = paired_difference(a, b), ttest_rel(a, b)
    assert found.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert (found.difference_lwr, found.difference_upr) == pytest.approx((interval.low, interval.high))
    assert found.correlation == pytest.approx(np.corrcoef(a, b)[0, 1])


def test_rows_missing_on_either_side_are_left_out_and_counted():
    found = paired_difference([1, None, 0, 1], [0, 1, None, 1])
    assert (found.n, found.n_missing, found.difference) == (2, 2, 0.5)
    assert np.isnan(paired_difference([1], [0]).se)
    with pytest.raises(ValueError, match="a has 2 rows and b has 1"):
        paired_difference([1, 0], [1])


def test_copies_within_a_cluster_do_not_narrow_the_interval():
    rng = np.random.default_rng(3)
    a, b = rng.random(40), rng.random(40)
    once = paired_difference(a, b, cluster=np.arange(40))
    copied = paired_difference(np.repeat(a, 4), np.repeat(b, 4), cluster=np.repeat(np.arange(40), 4))
    assert copied.se == pytest.approx(once.se)
    assert copied.p == pytest.approx(once.p)


def test_no_difference_and_nothing_but_difference():
    assert paired_difference([1, 0, 1], [1, 0, 1]).p == 1
    assert paired_difference([1, 1, 1], [0, 0, 0]).p == 0


def test_mcnemar_by_the_book():
    found = mcnemar_counts(101, 121, 59, 33)
    assert found.chi2 == pytest.approx(20.672, abs=1e-3)
    assert found.p_chi2 == pytest.approx(5.45e-6, rel=1e-2)
    assert found.difference == pytest.approx(62 / 314)
    assert mcnemar_counts(0, 0, 6, 0).p == pytest.approx(2 / 64)
    assert mcnemar_counts(0, 0, 6, 0).p_mid == pytest.approx(1 / 64)


def test_mcnemar_counts_what_columns_say():
    found = mcnemar([1, 1, 0, 0, None, 1], [1, 0, 1, 0, 1, 0])
    assert (found.both, found.only_a, found.only_b, found.neither) == (1, 2, 1, 1)
    with pytest.raises(ValueError, match="0 or 1"):
        mcnemar([0.5], [1])
    with pytest.raises(ValueError, match="as many of each"):
        mcnemar([1], [1, 0])
    assert mcnemar([], []).difference_upr == 1


@given(*[st.integers(0, 40)] * 4)
def test_mcnemar_mirrors(both, only_a, only_b, neither):
    one, other = mcnemar_counts(both, only_a, only_b, neither), mcnemar_counts(both, only_b, only_a, neither)
    assert one.p == pytest.approx(other.p)
    assert (one.difference_lwr, one.difference_upr) == pytest.approx((-other.difference_upr, -other.difference_lwr))
    assert 0 < one.p_mid <= one.p <= 1


def test_mcnemar_interval_holds_the_truth():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(500):
        both, only_a, only_b, neither = rng.multinomial(60, [0.5, 0.2, 0.08, 0.22])
        found = mcnemar_counts(both, only_a, only_b, neither)
        held += found.difference_lwr <= 0.12 <= found.difference_upr
    assert 0.92 <= held / 500 <= 0.98


def test_every_two_models_on_the_items_they_share():
    rows = [
        {"item_id": item, "model": model, "score": score, "topic": item // 2}
        for item in range(6)
        for model, score in (("x", item % 2), ("y", 1), ("z", 0))
        if not (model == "z" and item == 5)
    ]
    rows += [
        {"item_id": 0, "model": "x", "score": 1, "topic": 0},
        {"item_id": 1, "model": "y", "score": None, "topic": 0},
    ]
    table = compare_models(rows, "score")
    assert table.select("model_a", "model_b", "n", "n_missing").rows() == [
        ("x", "y", 6, 0),
        ("x", "z", 5, 1),
        ("y", "z", 5, 1),
    ]
    assert table["mean_a"][0] == pytest.approx((0.5 + 1 + 1 + 1) / 6)
    assert (table["p_holm"] >= table["p"]).all()
    clustered = compare_models(rows, "score", cluster="topic")
    assert clustered["difference"].to_list() == table["difference"].to_list()
    assert compare_models(rows[:1], "score").is_empty()
    with pytest.raises(BadVerdicts, match="more than one value for some items"):
        compare_models([*rows, {"item_id": 0, "model": "x", "score": 1, "topic": 9}], "score", cluster="topic")


def test_holm():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, np.nan])), [0.03, 0.06, 0.06, np.nan])
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]
    assert pl.Series(holm(np.array([]))).is_empty()
