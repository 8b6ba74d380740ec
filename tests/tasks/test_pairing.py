"""Which pairs are asked, in which order, and that nothing about it depends on what ids look like."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.errors import StudyError
from overnight.tasks._pairs.pairing import Listed, Pair, PairPlan, pair_count, pair_id, pair_of, planned_pairs, shuffled

IDS = [f"S{number:02d}" for number in range(30)]
ANY_ID = st.text(min_size=1, max_size=12)


def pairs(ids=IDS, listing=None, **plan):
    return list(planned_pairs(ids, PairPlan(**plan), listing))


def unordered(found):
    return {frozenset(pair[:2]) for pair in found}


def listing(*rows):
    return lambda: (Listed(f"pairs.csv:{number}", *row) for number, row in enumerate(rows, 2))


@given(ANY_ID, ANY_ID, st.integers(1, 99))
def test_a_pair_is_read_back_from_its_name(first, second, occurrence):
    pair = Pair(first, second, occurrence)
    assert pair_of(pair_id(pair)) == pair


@given(st.lists(st.tuples(ANY_ID, ANY_ID), unique=True, min_size=2, max_size=6))
def test_two_pairs_never_share_a_name(all_pairs):
    names = [pair_id(Pair(*both)) for both in all_pairs]
    assert len(set(names)) == len(names)


def test_ids_with_colons_hashes_and_underscores_keep_apart():
    names = [
        pair_id(Pair(*both)) for both in [("a:b", "c"), ("a", "b:c"), ("a#2", "b"), ("a", "b#2"), ("a_vs_b", "c_")]
    ]
    assert names == ["a%3Ab:c", "a:b%3Ac", "a%232:b", "a:b%232", "a_vs_b:c_"]


def test_all_pairs_each_once():
    found = pairs()
    assert unordered(found) == {frozenset(both) for both in combinations(IDS, 2)}
    assert len(found) == pair_count(30) == 435


@given(st.integers(2, 200), st.integers(0, 2**40))
def test_a_shuffle_has_every_number_once(total, seed):
    assert sorted(shuffled(total, seed)) == list(range(total))


def test_a_larger_sample_holds_the_smaller_one():
    small, large = pairs(select="sample", n=40, seed=5), pairs(select="sample", n=200, seed=5)
    assert len(small) == 40
    assert len(large) == 200
    assert {pair[:3] for pair in small} <= {pair[:3] for pair in large}
    assert unordered(small) != unordered(pairs(select="sample", n=40, seed=6))


def test_added_samples_keep_most_of_the_draw():
    before, now = (unordered(pairs(ids, select="sample", n=100)) for ids in (IDS[:25], IDS))
    assert len(before & now) > 60


def test_shares_and_limits():
    assert len(pairs(select="sample", share=0.1)) == 43
    assert len(pairs(select="sample", share=0.0001)) == 1
    assert len(pairs(select="sample", n=10_000)) == 435


def test_the_order_is_given_drawn_or_balanced():
    assert all(pair.first < pair.second for pair in pairs(order="given"))
    turned = sum(pair.first > pair.second for pair in pairs(order="random"))
    assert 160 < turned < 275
    assert pairs(order="random") == pairs(order="random")
    firsts = Counter(pair.first for pair in pairs(order="alternate"))
    assert set(firsts.values()) <= {14, 15}


@pytest.mark.parametrize(("share", "wanted"), [(0.0, 0), (0.25, 109), (0.5, 218), (1.0, 435)])
def test_as_many_in_both_orders_as_was_said(share, wanted):
    both = [pair for pair in pairs(reverse=share) if pair.both_orders]
    assert len(both) == wanted


def test_more_in_both_orders_hold_those_before():
    few, many = ({pair[:2] for pair in pairs(reverse=share) if pair.both_orders} for share in (0.2, 0.6))
    assert few < many


def test_listed_pairs_stay_as_they_are_and_repeated_ones_are_votes():
    found = pairs(listing=listing(("S03", "S01"), ("S01", "S03"), ("S03", "S01"), ("S00", "S01")), order="given")
    assert [pair_id(pair) for pair in found] == ["S03:S01", "S01:S03#2", "S03:S01#3", "S00:S01"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("S01", "S0")], "pairs.csv:2: there is no sample 'S0'"),
        ([("S01", "S02"), ("S04", "S04")], "pairs.csv:3: 'S04' cannot be compared with itself"),
        ([], "pairs: none are listed"),
    ],
)
def test_what_cannot_be_paired_is_said(rows, message):
    with pytest.raises(StudyError, match=message):
        pairs(listing=listing(*rows))


def test_one_sample_makes_no_pair():
    with pytest.raises(StudyError, match="pairs: 1 sample makes no pair"):
        pairs(["alone"])
