import numpy as np
import polars as pl
import pytest
from scipy.stats import norm, studentized_range

from overnight.rank import fit_bt_model, summarize_bt_fit
from overnight.rank.rank_intervals import critical_difference, rank_intervals

from .simulated import CITATIONS, Truth, centred, counted, spelled

COLUMNS = ["ID", "theta", "se", "rank", "rank_lwr", "rank_upr", "engine", "reliability"]


def test_two_items_need_no_correction():
    assert critical_difference(2, 0.95) == pytest.approx(norm.ppf(0.975), abs=1e-8)


@pytest.mark.parametrize(("n_items", "level"), [(3, 0.9), (10, 0.95), (60, 0.99)])
def test_the_critical_value_is_tukeys(n_items, level):
    tukey = studentized_range.ppf(level, n_items, np.inf) / np.sqrt(2)
    assert critical_difference(n_items, level) == pytest.approx(tukey, abs=1e-5)


def test_the_table():
    table = summarize_bt_fit(fit_bt_model(counted(CITATIONS)))
    assert table.columns == COLUMNS
    assert table["ID"].to_list() == ["JRSSB", "Biometrika", "JASA", "CommStat"]
    assert table["rank"].to_list() == [1, 2, 3, 4]
    assert table["rank_lwr"].to_list() == table["rank_upr"].to_list() == [1, 2, 3, 4]
    assert table["engine"].unique().to_list() == ["bradley-terry"]
    assert 0.9 < table["reliability"][0] < 1


def test_thin_evidence_leaves_ranks_open():
    table = summarize_bt_fit(fit_bt_model(spelled("A>B B>A A>B B>C C>B B>C A>C C>A A>C")))
    assert table["rank"].to_list() == [1, 2, 3]
    assert table["rank_lwr"].to_list() == [1, 1, 1]
    assert table["rank_upr"].to_list() == [3, 3, 3]


def test_equal_items_share_a_rank():
    table = summarize_bt_fit(fit_bt_model(spelled("A>B B>A A>C A>C C>A B>C B>C C>B")))
    assert dict(zip(table["ID"], table["rank"], strict=True)) == {"A": 1, "B": 1, "C": 3}


def test_items_beyond_the_finite_have_a_rank_but_no_interval():
    table = summarize_bt_fit(fit_bt_model(spelled("U>V U>A V>A A>B B>A A>W")))
    assert dict(zip(table["ID"], table["rank"], strict=True)) == {"U": 1, "V": 2, "A": 3, "B": 3, "W": 5}
    unknown = table.filter(pl.col("ID").is_in(["U", "V", "W"]))
    assert unknown["rank_lwr"].null_count() == unknown["rank_upr"].null_count() == 3
    known = table.filter(pl.col("ID") == "A")
    assert known["rank_lwr"].item() == 1
    assert known["rank_upr"].item() == 5


def test_components_are_ranked_apart():
    table = summarize_bt_fit(fit_bt_model(spelled("A>B B>A A>B C>D D>C D>C")))
    assert table.columns == [*COLUMNS, "component"]
    assert table["rank"].to_list() == [1, 2, 1, 2]
    assert table["rank_upr"].to_list() == [2, 2, 2, 2]


def test_every_interval_holds_its_true_rank_at_once():
    rng = np.random.default_rng(12)
    truth = Truth(centred([1.0, 0.5, 0.4, 0.0, -0.3, -1.6]))
    true_rank = np.arange(1, 7)
    held, width = 0, 0.0
    for _ in range(300):
        best, worst = (np.array(ends) for ends in rank_intervals(fit_bt_model(truth.draw(rng, 400))))
        held += bool(((best <= true_rank) & (true_rank <= worst)).all())
        width += (worst - best).mean() / 300
    assert held / 300 >= 0.93
    assert width < 2.5


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match=f"between 0 and 1, such as 0.95; found {level}"):
        summarize_bt_fit(fit_bt_model(spelled("A>B B>A")), level)
