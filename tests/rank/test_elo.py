import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.rank import BadVerdicts, fit_elo_model, rate_elo
from overnight.rank.elo import _rounded

from .simulated import spelled

SEQUENCE = pl.DataFrame({"winner": ["b", "b", "a", "c", "a", "c"], "loser": ["a", "c", "b", "b", "c", "a"]})


def test_worked_by_hand():
    """Start 0, k 100: b +50 over a; then b (50) over c (0) gains 43, and so on, rounded at every step."""
    fit = fit_elo_model(SEQUENCE, runs=1)
    ratings = dict(fit.elo.rows())
    # b 50 a -50 | b 93 c -43 | a 19 b 24 | c 17 b -36 | a 69 c -33 | c 31 a 5
    assert ratings == {"a": 5, "b": -36, "c": 31}
    assert fit.runs["decided"].to_list() == [5]
    # favourites: b (50 over 0) won; b (93) lost to a (-50); b (24) lost to c (-43); a (19) over c (17); c upset a
    assert fit.reliability == pytest.approx(1 - 3 / 5)
    assert fit.reliability_weighted == pytest.approx(1 - (143 + 67 + 102) / (50 + 143 + 67 + 2 + 102))
    assert fit.engine == "EloChoice"


def test_runs_are_shuffled_but_the_first():
    one, many = fit_elo_model(SEQUENCE, runs=1), fit_elo_model(SEQUENCE, runs=20, seed=3)
    assert many.ratings["run_1"].to_list() == one.elo["elo"].to_list()
    assert many.runs.height == 20
    assert many.runs["reliability"].n_unique() > 1
    by_run = many.ratings.drop("ID").to_numpy()
    np.testing.assert_allclose(many.elo["elo"].to_numpy(), by_run.mean(axis=1))
    assert many.reliability == pytest.approx(many.runs["reliability"].mean())
    assert fit_elo_model(SEQUENCE, runs=20, seed=3).elo.equals(many.elo)
    assert not fit_elo_model(SEQUENCE, runs=20, seed=4).elo.equals(many.elo)


def test_without_rounding_points_are_only_passed_on():
    fit = fit_elo_model(SEQUENCE, runs=3, k=16, start=1000, rounding=False)
    assert fit.elo["elo"].sum() == pytest.approx(3000)
    assert (fit.elo["elo"] != fit.elo["elo"].round()).any()


def test_rows_that_cannot_count():
    messy = pl.concat([SEQUENCE, pl.DataFrame({"winner": ["a", None], "loser": ["a", "b"]})])
    assert fit_elo_model(messy, runs=1).elo.equals(fit_elo_model(SEQUENCE, runs=1).elo)
    with pytest.raises(BadVerdicts, match="no comparison to rate"):
        fit_elo_model({"winner": ["a"], "loser": ["a"]})
    with pytest.raises(BadVerdicts, match="column 'loser' is missing"):
        fit_elo_model({"winner": ["a"]})
    with pytest.raises(ValueError, match="runs must be between 1 and"):
        fit_elo_model(SEQUENCE, runs=0)


@given(st.floats(-1e6, 1e6))
def test_halves_are_rounded_away_from_zero(value):
    assert abs(_rounded(value) - value) <= 0.5
    assert _rounded(-value) == -_rounded(value)
    whole = float(int(value))
    assert _rounded(whole + 0.5) == whole + (1 if whole >= 0 else 0)


def test_plain_elo():
    table = rate_elo({"object1": ["a", "a", "b"], "object2": ["b", "b", "a"], "result": [1, 0.5, 0.0]})
    first = 1500 + 16
    expected_tie = 1 / (1 + 10 ** (-32 / 400))
    second = first + 32 * (0.5 - expected_tie)
    expected = 1 / (1 + 10 ** (-(2 * second - 3000) / 400))
    assert table["ID"].to_list() == ["a", "b"]
    assert table["elo"][0] == pytest.approx(second + 32 * (1 - expected))
    assert table["elo"].sum() == pytest.approx(3000)


def test_counts_are_played_one_after_another():
    table = spelled("A>B B>A")
    again = rate_elo(pl.concat([table[:1]] * 3 + [table[1:]]))
    assert rate_elo(table.with_columns(count=pl.Series([3, 1]))).equals(again)
    with pytest.raises(BadVerdicts, match="counts must be whole numbers"):
        rate_elo(table.with_columns(weight=pl.Series([0.5, 1])))


def test_one_id_however_it_is_stored():
    nan = float("nan")
    found = fit_elo_model({"winner": pl.Series([1.0, 2.0, nan]), "loser": pl.Series([2, 3, 1])}, runs=1)
    assert found.elo["ID"].to_list() == [1, 2, 3]
    assert found.runs["decided"].to_list() == [1]
