"""What votes on one pair are worth, and how many pairs an error rests on."""

import numpy as np
import pytest

from overnight.rank import fit_bt_model


def row_of_neighbours(n):
    """Each item met the next one only, six times in both orders, and won four of them."""
    wins = [(at, at + 1, won) for at in range(n - 1) for won in (1, 1, 1, 1, 0, 0)]
    return [{"object1": a, "object2": b, "result": won} for a, b, won in wins]


def test_an_error_rests_on_the_pairs_of_others_too():
    """The first item met one other; how far it is ahead of the rest, all the pairs between tell."""
    fit = fit_bt_model(row_of_neighbours(40), by_pair=True)
    assert fit.n_clusters == 39
    assert 20 < fit.df[0] < 39
    assert (fit.df >= 2).all()


def test_where_all_have_met_an_error_rests_on_an_items_own_pairs():
    n = 10
    rows = [{"object1": a, "object2": b, "result": won} for a in range(n) for b in range(a) for won in (0, 1, 1, 0)]
    fit = fit_bt_model(rows, by_pair=True)
    assert fit.df == pytest.approx(np.full(n, n - 1.0))
