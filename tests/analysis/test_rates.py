import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from overnight.analysis import rate, rate_table, wilson_interval
from overnight.rank import BadVerdicts


@pytest.mark.parametrize(
    ("successes", "n", "expected"), [(0, 10, (0, 0.27753)), (5, 10, (0.23659, 0.76341)), (10, 10, (0.72247, 1))]
)
def test_wilson_by_the_book(successes, n, expected):
    assert wilson_interval(successes, n) == pytest.approx(expected, abs=1e-5)


@given(st.integers(1, 500), st.data(), st.floats(0.5, 0.99))
def test_wilson_lies_within_bounds_and_mirrors(n, data, level):
    successes = data.draw(st.integers(0, n))
    low, high = wilson_interval(successes, n, level)
    assert 0 <= low <= successes / n <= high <= 1
    mirrored = wilson_interval(n - successes, n, level)
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_no_rows_say_nothing():
    assert wilson_interval(0, 0) == (0.0, 1.0)
    nothing = rate([None, None])
    assert (nothing.n, nothing.n_missing, nothing.rate_lwr, nothing.rate_upr) == (0, 2, 0.0, 1.0)
    assert np.isnan(nothing.rate)


def test_missing_outcomes_are_counted_not_taken_for_no():
    found = rate([True, True, None, False, None])
    assert (found.n, found.n_missing) == (3, 2)
    assert found.rate == pytest.approx(2 / 3)


def test_other_outcomes_are_refused():
    with pytest.raises(ValueError, match="0 or 1, true or false, or missing"):
        rate([1, 2])
    with pytest.raises(ValueError, match="must hold numbers"):
        rate(["yes", "no"])
    with pytest.raises(ValueError, match="level must lie between"):
        rate([1, 0], level=95)


def test_clusters_must_match_their_rows():
    with pytest.raises(ValueError, match="cluster has 1 labels for 2 rows"):
        rate([1, 0], cluster=["a"])
    with pytest.raises(ValueError, match="cluster has 1 rows without a label"):
        rate([1, 0], cluster=["a", None])


def test_clustered_error_is_millers():
    outcomes, cluster = np.array([1, 1, 1, 0, 0, 0, 1, 0]), list("aabbbccc")
    found = rate(outcomes, cluster=cluster)
    residuals = outcomes - outcomes.mean()
    sums = [residuals[[c == label for c in cluster]].sum() for label in "abc"]
    assert found.se == pytest.approx(np.sqrt(np.sum(np.square(sums))) / 8)
    assert found.n_clusters == 3
    assert found.design_effect == pytest.approx(found.se**2 / (0.5 * 0.5 / 8))


def test_a_cluster_of_copies_counts_once():
    alone = rate([1, 0, 1, 1, 0, 1] * 10)
    copied = rate(np.repeat([1, 0, 1, 1, 0, 1] * 10, 5), cluster=np.repeat(np.arange(60), 5))
    assert copied.se == pytest.approx(alone.se)
    assert copied.rate_upr - copied.rate_lwr == pytest.approx(alone.rate_upr - alone.rate_lwr, rel=0.08)
    assert copied.design_effect == pytest.approx(5)


def test_all_alike_in_few_clusters_is_not_certainty():
    found = rate([1] * 50, cluster=[1] * 25 + [2] * 25)
    assert found.rate_lwr < 0.2
    assert rate([1] * 50).rate_lwr > 0.9


def test_clustered_intervals_hold_the_truth():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(600):
        by_cluster = rng.beta(2, 5, 40)
        sizes = rng.integers(1, 12, 40)
        cluster = np.repeat(np.arange(40), sizes)
        found = rate(rng.random(len(cluster)) < by_cluster[cluster], cluster=cluster)
        held += found.rate_lwr <= 2 / 7 <= found.rate_upr
    assert 0.92 <= held / 600 <= 0.98


@pytest.mark.parametrize(("n", "share"), [(20, 0.05), (50, 0.01), (50, 0.02), (100, 0.01), (200, 0.02), (200, 0.99)])
def test_rare_outcomes_are_held_as_often_as_promised(n, share):
    """Summed over all that can happen, not drawn."""
    chances = binom.pmf(np.arange(n + 1), n, share)
    found = [rate([1] * yes + [0] * (n - yes)) for yes in range(n + 1)]
    held = sum(chance for chance, one in zip(chances, found, strict=True) if one.rate_lwr <= share <= one.rate_upr)
    assert held >= 0.93


@pytest.mark.parametrize(("clusters", "size", "share"), [(20, 20, 0.02), (50, 10, 0.02), (20, 5, 0.1)])
def test_rare_outcomes_in_clusters_are_held_as_often_as_promised(clusters, size, share):
    rng = np.random.default_rng(5)
    alike = 0.3
    held = 0
    for _ in range(400):
        by_cluster = rng.beta(share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike, clusters)
        cluster = np.repeat(np.arange(clusters), size)
        found = rate(rng.random(len(cluster)) < by_cluster[cluster], cluster=cluster)
        held += found.rate_lwr <= share <= found.rate_upr
    assert held / 400 >= 0.93


def test_one_cluster_tells_nothing_of_the_others():
    found = rate([1, 0, 1, 1], cluster=["a"] * 4)
    assert np.isnan(found.se)
    assert (found.rate_lwr, found.rate_upr) == (0.0, 1.0)
    assert "one cluster" in found.problem
    table = rate_table({"ok": [1, 0], "who": ["a", "a"]}, "ok", cluster="who")
    assert "one cluster" in table["problem"][0]


def test_table_by_group():
    rows = pl.DataFrame(
        {"model": ["b", "b", "a", "a", "a"], "ok": [True, None, False, True, True], "item_id": [1, 2, 1, 2, 3]}
    )
    table = rate_table(rows, "ok", by="model")
    assert table.columns == ["model", "n", "n_missing", "rate", "se", "rate_lwr", "rate_upr"]
    assert table.select("model", "n", "n_missing").rows() == [("a", 3, 0), ("b", 1, 1)]
    clustered = rate_table(rows, "ok", by=["model"], cluster="item_id")
    assert clustered["n_clusters"].to_list() == [3, 1]
    assert rate_table(rows, "ok")["n"].to_list() == [4]
    with pytest.raises(BadVerdicts, match="column 'okay' is missing"):
        rate_table(rows, "okay")
