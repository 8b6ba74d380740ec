"""Columns that there is room for."""

from overnight.terminal.columns import fitting

ROWS = [{"name": "a-long-name", "rows": "10", "MB": "0.1", "cost": "$1.00"}]
NAMES = ["name", "rows", "MB", "cost"]


def test_all_where_it_is_wide():
    assert fitting(NAMES, ROWS, 80, ("MB", "rows")) == NAMES


def test_the_spare_ones_go_in_their_order():
    assert fitting(NAMES, ROWS, 27, ("MB", "rows")) == ["name", "rows", "cost"]
    assert fitting(NAMES, ROWS, 20, ("MB", "rows")) == ["name", "cost"]


def test_what_is_not_spare_stays():
    assert fitting(NAMES, ROWS, 1, ("MB", "rows", "of-another-table")) == ["name", "cost"]
