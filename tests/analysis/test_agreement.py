import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.analysis import cohen_kappa, fleiss_kappa, krippendorff_alpha, ratings_table

# Krippendorff 2011: four observers, twelve units, 26 values missing or single.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = list(zip(*OBSERVERS, strict=True))

# Fleiss 1971 in its well-known small form: fourteen raters, ten subjects, five categories.
SUBJECTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def as_ratings(counts):
    return [[label for label, count in enumerate(row) for _ in range(count)] for row in counts]


@pytest.mark.parametrize(
    ("scale", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_by_the_book(scale, expected):
    found = krippendorff_alpha(UNITS, scale)
    assert found.value == pytest.approx(expected, abs=5.1e-4)
    assert found.lwr < found.value < found.upr
    assert (found.n_items, found.n_judges, found.n_ratings) == (11, 4, 40)


def test_fleiss_by_the_book():
    found = fleiss_kappa(as_ratings(SUBJECTS))
    assert found.value == pytest.approx(0.210, abs=5e-4)
    assert found.observed == pytest.approx(0.378, abs=5e-4)
    assert found.expected == pytest.approx(0.213, abs=5e-4)


def test_cohen_by_the_book():
    a = ["yes"] * 25 + ["no"] * 25
    b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohen_kappa(a, b)
    assert (found.value, found.observed, found.expected) == pytest.approx((0.4, 0.7, 0.5))


def kappa_of(joint, weights):
    k = len(joint)
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / (k - 1)
    credit = {"none": np.eye(k), "linear": 1 - apart, "quadratic": 1 - apart**2}[weights]
    chance = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return ((credit * joint).sum() - (credit * chance).sum()) / (1 - (credit * chance).sum())


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_cohens_error_is_the_delta_method(weights):
    counts = np.array([[53, 5, 2], [11, 14, 5], [1, 6, 3]])
    joint, n = counts / 100, 100
    a = np.repeat(np.repeat(np.arange(3), 3), counts.ravel())
    b = np.repeat(np.tile(np.arange(3), 3), counts.ravel())
    found = cohen_kappa(a, b, weights)
    assert found.value == pytest.approx(kappa_of(joint, weights))
    slope = np.zeros((3, 3))
    for cell in np.ndindex(3, 3):
        nudge = np.zeros((3, 3))
        nudge[cell] = 1e-6
        up, down = (kappa_of((joint + sign * nudge) / (1 + sign * 1e-6), weights) for sign in (1, -1))
        slope[cell] = (up - down) / 2e-6
    variance = ((joint * slope**2).sum() - (joint * slope).sum() ** 2) / n
    assert found.se == pytest.approx(np.sqrt(variance), rel=1e-5)


def test_cohens_interval_holds_the_truth():
    rng = np.random.default_rng(4)
    joint = np.array([[0.5, 0.05, 0.02], [0.1, 0.15, 0.05], [0.01, 0.05, 0.07]])
    truth, held = kappa_of(joint, "none"), 0
    for _ in range(400):
        drawn = rng.choice(9, size=150, p=joint.ravel())
        found = cohen_kappa(drawn // 3, drawn % 3)
        held += found.lwr <= truth <= found.upr
    assert 0.92 <= held / 400 <= 0.98


def test_fleiss_jackknife_is_about_the_spread():
    rng = np.random.default_rng(6)

    def draw():
        truth = rng.integers(0, 3, 60)
        return np.where(rng.random((60, 4)) < 0.7, truth[:, None], rng.integers(0, 3, (60, 4)))

    found = [fleiss_kappa(draw()) for _ in range(150)]
    spread = np.std([one.value for one in found])
    assert np.mean([one.se for one in found]) == pytest.approx(spread, rel=0.15)


def test_two_judges_alpha_approaches_scotts_pi():
    rng = np.random.default_rng(7)
    a = rng.integers(0, 3, 4000)
    b = np.where(rng.random(4000) < 0.6, a, rng.integers(0, 3, 4000))
    both = np.column_stack([a, b])
    assert krippendorff_alpha(both, n_boot=0).value == pytest.approx(fleiss_kappa(both[:400]).value, abs=0.1)
    share = np.bincount(both.ravel()) / both.size
    pi = (np.mean(a == b) - (share**2).sum()) / (1 - (share**2).sum())
    assert krippendorff_alpha(both, n_boot=0).value == pytest.approx(pi, abs=1e-3)


labels = st.one_of(st.none(), st.integers(0, 3))


@settings(deadline=None)
@given(st.lists(st.lists(labels, min_size=3, max_size=3), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_order_of_items_and_judges_does_not_matter(ratings, random):
    items = list(ratings)
    random.shuffle(items)
    turned = [row[::-1] for row in items]
    for measure in (fleiss_kappa, lambda table: krippendorff_alpha(table, "ordinal", n_boot=0)):
        assert measure(turned).value == pytest.approx(measure(ratings).value, nan_ok=True)


@given(st.lists(st.integers(0, 3), min_size=3, max_size=20).filter(lambda row: len(set(row)) > 1))
def test_perfect_agreement_is_one(row):
    twins = list(zip(row, row, strict=True))
    assert cohen_kappa(row, row).value == pytest.approx(1)
    assert fleiss_kappa(twins).value == pytest.approx(1)
    for scale in ("nominal", "ordinal", "interval", "ratio"):
        assert krippendorff_alpha(twins, scale, n_boot=0).value == pytest.approx(1)


def test_nothing_to_agree_on_is_not_a_number():
    assert np.isnan(cohen_kappa(["x"] * 5, ["x"] * 5).value)
    assert np.isnan(cohen_kappa([None], ["x"]).value)
    assert np.isnan(fleiss_kappa([["x", "x"], ["x", "x"]]).value)
    assert np.isnan(krippendorff_alpha([["x", None], [None, "y"]]).value)


def test_wrong_use_is_refused():
    with pytest.raises(
        ValueError, match="weights must be one of none, linear, quadratic; found 'quadratc'; did you mean"
    ):
        cohen_kappa([1], [1], "quadratc")
    with pytest.raises(ValueError, match="scale must be one of"):
        krippendorff_alpha(UNITS, "cardinal")
    with pytest.raises(ValueError, match="rated 1 and 2 items"):
        cohen_kappa([1], [1, 2])
    with pytest.raises(ValueError, match="one place for each judge"):
        fleiss_kappa([[1, 2], [1]])


def test_ratings_from_rows():
    rows = pl.DataFrame(
        {
            "item_id": [2, 1, 1, 2, 1],
            "judge": ["k", "j", "k", "j", "j"],
            "label": ["good", "bad", "bad", "good", "good"],
        }
    )
    table = ratings_table(rows)
    assert table.columns == ["j", "k"]
    assert table.rows() == [("good", "bad"), ("good", "good")]
    as_pandas = pd.DataFrame(UNITS)
    assert krippendorff_alpha(as_pandas, "interval", n_boot=0).value == pytest.approx(0.849, abs=5e-4)
