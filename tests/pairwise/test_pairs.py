import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.errors import StudyError
from overnight.pairwise import (
    alternate_pair_order,
    make_pairs,
    randomize_pair_order,
    sample_pairs,
    sample_reverse_pairs,
)
from overnight.pairwise.pairs import ManyPairsWarning

FOUR = pl.DataFrame({"ID": ["a_1", "b:2", "c", "d"], "text": ["A", "B", "C", "D"]})
SIX = make_pairs(FOUR)


def shown(pairs):
    return pairs.select("ID1", "ID2").rows()


def test_every_pair_once_in_the_order_of_the_table():
    assert SIX.columns == ["ID1", "text1", "ID2", "text2"]
    assert shown(SIX) == [("a_1", "b:2"), ("a_1", "c"), ("a_1", "d"), ("b:2", "c"), ("b:2", "d"), ("c", "d")]
    assert SIX["text2"].to_list() == ["B", "C", "D", "C", "D", "D"]


def test_many_pairs_are_counted_and_priced_before_they_are_paid_for():
    samples = pl.DataFrame({"ID": [str(n) for n in range(150)], "text": ["word " * 100] * 150})
    with pytest.warns(ManyPairsWarning, match=r"150 samples make 11,175 pairs: about [\d,]+ input tokens, about \$\d"):
        make_pairs(samples)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pairs(samples[:100])


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [({}, 6), ({"pair_pct": 0.5}, 3), ({"n_pairs": 2}, 2), ({"pair_pct": 0.34, "n_pairs": 5}, 2)],
)
def test_a_part_of_the_pairs(arguments, wanted):
    part = sample_pairs(SIX, seed=3, **arguments)
    assert part.height == wanted
    assert part.equals(sample_pairs(SIX, seed=3, **arguments))
    assert [pair for pair in shown(SIX) if pair in shown(part)] == shown(part)


def test_a_number_of_pairs_is_no_share():
    with pytest.raises(
        StudyError, match="pair_pct: 10 is not more than 0 and at most 1; a number of pairs has its own"
    ):
        sample_pairs(SIX, 10)


@given(st.integers(0, 99))
def test_a_coin_decides_the_order_and_texts_go_with_their_ids(seed):
    turned = randomize_pair_order(SIX, seed=seed)
    assert turned.equals(randomize_pair_order(SIX, seed=seed))
    texts = dict(FOUR.rows())
    assert all(texts[one] == a and texts[two] == b for one, a, two, b in turned.rows())
    assert [{*pair} for pair in shown(turned)] == [{*pair} for pair in shown(SIX)]


def test_every_other_pair_is_turned_round():
    assert shown(alternate_pair_order(SIX))[:3] == [("a_1", "b:2"), ("c", "a_1"), ("a_1", "d")]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [({"reverse_pct": 1.0}, 6), ({"reverse_pct": 0.25}, 2), ({"n_reverse": 4, "reverse_pct": 1.0}, 4)],
)
def test_only_the_reversed_ones_come_back(arguments, wanted):
    turned = sample_reverse_pairs(SIX, seed=1, **arguments)
    assert turned.height == wanted
    assert {(second, first) for first, second in shown(turned)} <= {*shown(SIX)}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"ID1": ["a"], "ID2": ["b"]}, "pairs: there is no column 'text1'"),
        ({"ID1": ["a"], "text1": ["x"], "ID2": ["a"], "text2": ["x"]}, "pairs: row 1 compares 'a' with itself"),
        ({"ID1": ["a"], "text1": [""], "ID2": ["b"], "text2": ["x"]}, "pairs: row 1 has nothing in 'text1'"),
        (7, "pairs: wanted a table, found the number 7"),
    ],
)
def test_what_is_no_table_of_pairs(pairs, message):
    with pytest.raises(StudyError, match=message):
        randomize_pair_order(pairs)
