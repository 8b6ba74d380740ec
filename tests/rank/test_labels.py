import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.rank import fit_bt_model, fit_judge_model, labels
from overnight.rank.labels import label_codes
from overnight.rank.tally import read_rows
from overnight.rank.verdicts import BadVerdicts

from .simulated import spelled


@given(st.lists(st.one_of(st.integers(-(2**62), 2**62), st.text(max_size=3)), min_size=1, max_size=30))
def test_codes_are_places_among_sorted_labels(values):
    whole = all(isinstance(value, int) for value in values)
    column = pl.Series(values if whole else [str(value) for value in values])
    found, (codes,) = label_codes(column)
    assert found.to_list() == sorted(set(column))
    assert [found[int(code)] for code in codes] == column.to_list()


def test_ids_seen_late_are_found(monkeypatch):
    monkeypatch.setattr(labels, "_SAMPLE", 2)
    ids = ["b", "a", "d", "c", "e"]
    read = read_rows(pl.DataFrame({"object1": ids, "object2": ids[1:] + ids[:1], "result": [1.0] * 5}))
    assert read.items.to_list() == ["a", "b", "c", "d", "e"]
    assert read.first.tolist() == [1, 0, 3, 2, 4]
    assert read.second.tolist() == [0, 3, 2, 4, 1]


@pytest.mark.parametrize("ids", [[7, -3, 9], [10**15, 5, -(10**15)]])
def test_whole_numbers_stay_numbers(ids):
    read = read_rows(pl.DataFrame({"object1": ids, "object2": ids[1:] + ids[:1], "result": [1, 0, 1]}))
    assert read.items.to_list() == sorted(ids)
    assert [read.items[int(code)] for code in read.first] == ids


def test_mixed_ids_become_text():
    read = read_rows(pl.DataFrame({"object1": [1, 2], "object2": ["2", "3"], "result": [1, 0]}))
    assert read.items.to_list() == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pl.Series([1, 2]), pl.Series([2.0, 3.0])),
        (pl.Series([1.0, 2.0]), pl.Series([2.0, 3.0])),
        (pd.Series([1, 2], dtype="Int64"), pd.Series([2.0, 3.0])),
        (pl.Series([1, 2], dtype=pl.UInt64), pl.Series([2, 3], dtype=pl.Int8)),
    ],
)
def test_whole_numbers_in_floats_are_whole_numbers(first, second):
    assert read_rows({"object1": first, "object2": second, "result": [1, 0]}).items.to_list() == [1, 2, 3]


def test_numbers_with_fractions_are_one_label_however_they_are_stored():
    read = read_rows({"object1": [1, 2], "object2": pl.Series([2.5, 1.0]), "result": [1, 0]})
    assert read.items.to_list() == ["1.0", "2.0", "2.5"]


def test_hashes_beyond_signed_numbers_are_told_apart():
    hashes = pl.Series([2**64 - 1, 2**64 - 2], dtype=pl.UInt64)
    read = read_rows({"object1": hashes, "object2": hashes.reverse(), "result": [1, 0]})
    assert read.items.to_list() == [str(2**64 - 2), str(2**64 - 1)]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["C", "B", "A"])])
def test_categories_are_their_names(kind):
    table = spelled("A>B B>A B>C C>B A>C")
    expected = fit_bt_model(table)
    for data in (table.cast({"object1": kind, "object2": kind}), table.to_pandas().astype({"object1": "category"})):
        fit = fit_bt_model(data)
        assert fit.items == ["A", "B", "C"]
        np.testing.assert_array_equal(fit.theta, expected.theta)


def test_a_number_that_is_none_is_no_label():
    table = spelled("A>B B>A A>B").with_columns(prompt=pl.Series([1.0, float("nan"), 2.0]))
    with pytest.raises(BadVerdicts, match="cluster 'prompt' has 1 rows without a label"):
        fit_bt_model(table, cluster="prompt")
    with pytest.raises(BadVerdicts, match="column 'object1' has 1 rows without an id"):
        read_rows({"object1": [1.5, float("nan")], "object2": [2.0, 3.0], "result": [1, 0]})


def test_judges_keep_their_names_whatever_their_kind():
    table = pl.concat([spelled("A>B B>A A>B B>C C>B")] * 3).with_columns(judge=pl.Series([2.0] * 5 + [10.0] * 10))
    found = fit_judge_model(table)
    assert found.judges.select("judge", "n_verdicts").rows() == [("2", 5.0), ("10", 10.0)]
