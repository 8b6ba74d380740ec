"""The root finder that is loaded alone is scipy's."""

import math
import subprocess
import sys

import pytest

from overnight.rank import roots
from overnight.rank.roots import root_between


@pytest.mark.parametrize(
    ("function", "low", "high"), [(math.cos, 0.0, 3.0), (lambda at: at**3 - 2, 0.0, 2.0), (math.log, 1e-6, 20.0)]
)
@pytest.mark.parametrize("within", [1e-5, 1e-10])
def test_it_says_what_scipys_own_says_to_the_last_bit(function, low, high, within):
    from scipy.optimize import brentq

    assert root_between(function, low, high, within=within) == brentq(function, low, high, xtol=within)


def test_the_same_where_it_cannot_be_loaded_alone(monkeypatch):
    alone = root_between(math.cos, 0.0, 3.0, within=1e-10)
    monkeypatch.setattr(roots, "find_spec", lambda _: None)
    roots._alone.cache_clear()
    try:
        assert root_between(math.cos, 0.0, 3.0, within=1e-10) == alone
    finally:
        roots._alone.cache_clear()


def test_no_root_between_ends_of_one_sign_and_none_without_a_value():
    with pytest.raises(ValueError, match="different signs"):
        root_between(math.cos, 0.0, 1.0, within=1e-5)
    with pytest.raises(ValueError, match="no value"):
        root_between(lambda at: math.nan, 0.0, 1.0, within=1e-5)


def test_solvers_are_not_loaded_for_a_ranking():
    ranked = (
        "from overnight.rank import fit_bt_model, summarize_bt_fit; import sys; "
        "rows = {'object1': ['a', 'b', 'a', 'b'] * 5, 'object2': ['b', 'a', 'b', 'a'] * 5, 'result': [1, 0, 0, 0] * 5}; "
        "summarize_bt_fit(fit_bt_model(rows)); print('scipy.optimize' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", ranked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
