import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.analysis import calibration


def test_by_hand():
    found = calibration([0.1, 0.1, 0.9, 0.9], [0, 1, 1, 1], bins=2)
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.01 + 0.01) / 4)
    assert found.log_loss == pytest.approx(-(3 * np.log(0.9) + np.log(0.1)) / 4)
    assert found.n_bins == 2
    assert found.ece == pytest.approx(0.5 * 0.4 + 0.5 * 0.1)
    assert found.bins["observed"].to_list() == [0.5, 1.0]


def test_equal_probabilities_share_a_bin():
    found = calibration([0.5] * 10 + [0.8] * 10, [0, 1] * 10, bins=10)
    assert found.n_bins == 2
    assert found.bins["n"].to_list() == [10, 10]


def test_bins_have_equal_mass():
    rng = np.random.default_rng(1)
    stated = rng.beta(8, 2, 1_000)
    found = calibration(stated, rng.random(1_000) < stated)
    assert found.bins["n"].to_list() == [100] * 10
    assert found.bins["stated"].is_sorted()
    assert found.ece < 0.06
    assert abs(found.slope - 1) < 3 * found.slope_se


def test_overconfidence_shows_in_the_slope():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=5_000)
    came_true = rng.random(5_000) < 1 / (1 + np.exp(-truth))
    found = calibration(1 / (1 + np.exp(-2 * truth)), came_true)
    assert found.slope == pytest.approx(0.5, abs=0.05)
    assert found.intercept == pytest.approx(0, abs=0.1)


def test_what_was_held_impossible_and_came_true():
    found = calibration([0.0, 0.5, 1.0], [1, 0, 1])
    assert found.log_loss == np.inf
    assert np.isfinite(found.brier)


def test_a_perfect_forecast_has_no_finite_line():
    found = calibration([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    assert np.isnan(found.slope)


def test_missing_rows_are_counted():
    found = calibration([0.2, None, 0.7], [0, 1, None])
    assert (found.n, found.n_missing) == (1, 2)


@pytest.mark.parametrize(
    ("probabilities", "outcomes", "bins", "message"),
    [
        ([70, 30], [1, 0], 10, "between 0 and 1; found 70"),
        ([0.5], [0.5], 10, "outcomes must be 0 or 1"),
        ([0.5], [1, 0], 10, "1 probabilities for 2 outcomes"),
        ([None], [1], 10, "no row with both"),
        ([0.5], [1], 0, "bins must be one or more"),
    ],
)
def test_wrong_use_is_refused(probabilities, outcomes, bins, message):
    with pytest.raises(ValueError, match=message):
        calibration(probabilities, outcomes, bins)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.01, 0.99), st.booleans()), min_size=1, max_size=60),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
def test_order_does_not_matter_and_scores_stay_in_bounds(rows, bins, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = (calibration(*zip(*table, strict=True), bins=bins) for table in (rows, shuffled))
    assert one.ece == pytest.approx(other.ece)
    assert one.brier == pytest.approx(other.brier)
    assert 0 <= one.ece <= 1
    assert one.n_bins <= bins
    assert one.bins["n"].sum() == len(rows)
