import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest, norm

from overnight.analysis import (
    design_effect,
    fit_bt_model,
    interval_for_pairs,
    items_for_difference,
    pairs_for_interval,
    pairs_to_detect,
    rows_for_rate,
    wilson_interval,
)


@pytest.mark.parametrize(("spread", "tie_share"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.3), (2.5, 0.1)])
def test_the_promised_interval_is_what_a_fit_gets(spread, tie_share):
    rng = np.random.default_rng(3)
    n = 30
    m = pairs_for_interval(0.5, n, spread=spread, tie_share=tie_share)
    theta = spread * norm.ppf((np.arange(n) + 0.5) / n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    lead = theta[first] - theta[second]
    tie = 2 * tie_share / (1 - tie_share)
    odds = np.array([np.exp(lead / 2), np.full(m, tie), np.exp(-lead / 2)])
    won, tied, _ = odds / odds.sum(axis=0)
    luck = rng.random(m)
    result = np.where(luck < won, 1.0, np.where(luck < won + tied, 0.5, 0.0))
    fit = fit_bt_model(pl.DataFrame({"object1": first, "object2": second, "result": result}))
    errors = [fit.difference(a, b)[1] for a in range(n) for b in range(a)]
    assert 1.96 * np.sqrt(np.mean(np.square(errors))) == pytest.approx(0.5, rel=0.25)


def test_pairs_and_intervals_are_inverse():
    m = pairs_for_interval(0.3, 20, spread=1.5, tie_share=0.2, design_effect=2)
    assert interval_for_pairs(m, 20, spread=1.5, tie_share=0.2, design_effect=2) == pytest.approx(0.3, rel=1e-3)
    assert pairs_for_interval(0.3, 2, spread=0) == int(np.ceil((1.959964 / 0.3) ** 2 / 0.25))


@pytest.mark.parametrize(("rate", "half_width"), [(0.5, 0.05), (0.02, 0.01), (0.0, 0.03)])
def test_rows_for_rate(rate, half_width):
    n = rows_for_rate(half_width, rate)
    low, high = wilson_interval(rate * n, n)
    assert (high - low) / 2 <= half_width
    low, high = wilson_interval(rate * (n - 1), n - 1)
    assert (high - low) / 2 > half_width
    assert rows_for_rate(half_width, rate, design_effect=2) == pytest.approx(2 * n, abs=2)
    assert rows_for_rate(0.6) == 1


def test_items_for_difference():
    expected = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 * (0.1 + 0.2 / 4 + 0.3 / 2) / 0.03**2
    assert items_for_difference(0.03, 0.1, 0.2, 0.3, 4, 2) == int(np.ceil(expected))


@pytest.mark.parametrize("win_rate", [0.6, 0.75, 0.95, 0.4])
def test_pairs_to_detect_is_the_exact_power_of_the_sign_test(win_rate):
    n = pairs_to_detect(win_rate)

    def power(size):
        wins = np.arange(size + 1)
        rejected = np.array([binomtest(int(k), size).pvalue <= 0.05 for k in wins])
        chance = np.exp([_log_binomial(size, k, win_rate) for k in wins])
        return chance[rejected].sum()

    assert power(n) >= 0.8
    assert power(n - 1) < 0.8
    assert pairs_to_detect(win_rate, tie_share=0.5) == 2 * n


def _log_binomial(n, k, p):
    from scipy.special import gammaln

    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + k * np.log(p) + (n - k) * np.log(1 - p)


def test_a_hair_from_half_needs_very_many():
    assert pairs_to_detect(0.5001) > 10_000_000


def test_design_effect():
    assert design_effect(10, 0.05) == pytest.approx(1.45)
    assert design_effect(1, 0.9) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: pairs_for_interval(0, 5),
        lambda: pairs_for_interval(0.5, 1),
        lambda: pairs_for_interval(0.5, 5, tie_share=1),
        lambda: interval_for_pairs(0, 5),
        lambda: pairs_to_detect(0.5),
        lambda: pairs_to_detect(0.6, tie_share=1),
        lambda: rows_for_rate(0.0),
        lambda: items_for_difference(0, 1),
    ],
)
def test_impossible_wishes_are_refused(call):
    with pytest.raises(ValueError, match="found"):
        call()
