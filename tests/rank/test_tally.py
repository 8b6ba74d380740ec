import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.rank import tally
from overnight.rank.tally import count_cells, read_rows, without_ties
from overnight.rank.verdicts import BadVerdicts

rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([1.0, 0.5, 0.0])).filter(
        lambda row: row[0] != row[1]
    ),
    min_size=1,
    max_size=40,
)


def frame(comparisons, **columns):
    first, second, result = zip(*comparisons, strict=True)
    return pl.DataFrame({"object1": first, "object2": second, "result": result, **columns})


def as_dict(cells, items):
    return {
        (items[first], items[second]): (wins, ties, losses)
        for first, second, wins, ties, losses in zip(
            cells.first, cells.second, cells.wins, cells.ties, cells.losses, strict=True
        )
    }


@given(rows)
def test_ordered_counts_are_counts(comparisons):
    read = read_rows(frame(comparisons))
    expected = {}
    for first, second, result in comparisons:
        before = expected.get((first, second), (0, 0, 0))
        expected[first, second] = tuple(b + (result == r) for b, r in zip(before, (1.0, 0.5, 0.0), strict=True))
    assert as_dict(count_cells(read, ordered=True), read.items.to_list()) == expected


@given(rows)
def test_unordered_counts_do_not_see_who_was_first(comparisons):
    turned = [(second, first, 1 - result) for first, second, result in comparisons]
    read, read_turned = read_rows(frame(comparisons)), read_rows(frame(turned))
    found = as_dict(count_cells(read, ordered=False), read.items.to_list())
    assert found == as_dict(count_cells(read_turned, ordered=False), read.items.to_list())
    assert all(first < second for first, second in found)
    assert sum(map(sum, found.values())) == len(comparisons)


@given(rows, st.integers(1, 4))
def test_sorting_and_binning_count_alike(comparisons, weight):
    read = read_rows(frame(comparisons, count=[weight] * len(comparisons)))
    plain = read_rows(frame(comparisons))
    binned = count_cells(read, ordered=True), count_cells(plain, ordered=True)
    limit = tally._MOST_BINS
    try:
        tally._MOST_BINS = 0
        by_sorting = count_cells(read, ordered=True), count_cells(plain, ordered=True)
    finally:
        tally._MOST_BINS = limit
    for one, other in zip(binned, by_sorting, strict=True):
        for name in ("first", "second", "wins", "ties", "losses"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(rows)
def test_clusters_split_the_counts(comparisons):
    labels = [f"prompt {at % 3}" for at in range(len(comparisons))]
    read = read_rows(frame(comparisons, prompt=labels), cluster="prompt")
    cells = count_cells(read, ordered=True, by_cluster=True)
    assert cells.total.sum() == len(comparisons)
    per_cluster = np.bincount(cells.cluster, cells.total)
    assert per_cluster.tolist() == [labels.count(label) for label in sorted(set(labels))]


def test_rows_without_a_result_are_counted_and_their_items_forgotten():
    table = {"object1": ["a", "a", "x", "y"], "object2": ["b", "b", "z", "y"], "result": [1.0, 0.0, None, 1.0]}
    read = read_rows(table)
    assert read.items.to_list() == ["a", "b"]
    assert read.left_out == {"had no result": 1, "compared an item with itself": 1}


def test_a_count_of_zero_is_no_comparison():
    read = read_rows({"object1": ["a", "a"], "object2": ["b", "c"], "result": [1, 1], "count": [2, 0]})
    assert read.items.to_list() == ["a", "b"]
    assert read.left_out == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"result": [1.0, 0.7]}, "1, 0, 0.5 or nothing; found 0.7"),
        ({"result": [1.0, -1.0]}, "found -1"),
        ({"result": [1.0, float("inf")]}, "found inf"),
        ({"result": ["won", "lost"]}, "must hold numbers; found 'won'"),
        ({"object1": ["a", None]}, "'object1' has 1 rows without an id"),
        ({"count": [1, -2]}, "'count' must hold counts"),
        ({"weight": [1, None]}, "'weight' must hold counts"),
        ({"weight": [1, 2], "count": [1, 2]}, "both a column 'count' and a column 'weight'"),
        ({"result": [None, None]}, "no comparison to rank"),
    ],
)
def test_wrong_tables_are_refused_with_the_reason(change, message):
    table = {"object1": ["a", "b"], "object2": ["b", "a"], "result": [1.0, 0.0]} | change
    with pytest.raises(BadVerdicts, match=message):
        read_rows(table)


def test_wrong_clusters_and_covariates_are_refused():
    table = {
        "object1": ["a", "b"],
        "object2": ["b", "a"],
        "result": [1.0, 0.0],
        "long": [1.0, None],
        "who": ["x", None],
    }
    with pytest.raises(BadVerdicts, match="covariate 'long' has rows without a finite number"):
        read_rows(table, covariates=["long"])
    with pytest.raises(BadVerdicts, match="cluster 'who' has 1 rows without a label"):
        read_rows(table, cluster="who")
    with pytest.raises(BadVerdicts, match="3 labels for 2 rows"):
        read_rows(table, cluster=[1, 2, 3])
    with pytest.raises(BadVerdicts, match="did you mean 'who'"):
        read_rows(table, cluster="Who")


def test_dropping_ties_needs_something_left():
    with pytest.raises(BadVerdicts, match="every row is a tie"):
        without_ties(read_rows({"object1": ["a"], "object2": ["b"], "result": [0.5]}))


def test_counting_in_portions_makes_no_difference(monkeypatch):
    rng = np.random.default_rng(1)
    first = rng.integers(0, 9, 500)
    table = frame(zip(first, (first + rng.integers(1, 9, 500)) % 9, rng.choice([0.0, 0.5, 1.0], 500), strict=True))
    whole = count_cells(read_rows(table), ordered=False)
    monkeypatch.setattr(tally, "_CACHED", 7)
    counted = count_cells(read_rows(table), ordered=False)
    for name in ("first", "second", "wins", "ties", "losses"):
        np.testing.assert_array_equal(getattr(counted, name), getattr(whole, name))
    assert [len(part.first) for part in whole.portions()] == [7] * 5 + [1]
    assert np.concatenate([part.wins for part in whole.portions()]).tolist() == whole.wins.tolist()
