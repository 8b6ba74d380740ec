"""Names as codes: small, and in the order of the names, whatever they come as."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from overnight.rank.distributions import coin_test
from overnight.rank.labels import (
    how_often,
    in_parts,
    label_codes,
    named,
    names_in,
    names_of,
    pair_codes,
    places,
    renamed,
)

FIRST = pl.Series("first", ["b", "a", "ä", "b", None])
SECOND = pl.Series("second", ["a", "b", "a", "ä", "a"])


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["ä", "b", "x", "a"])])
def test_names_share_one_sorted_list_and_missing_ones_stay_missing(kind: pl.DataType) -> None:
    one, other = named(FIRST.cast(kind), SECOND.cast(kind))
    assert names_of(one).to_list() == ["a", "b", "ä"]
    assert (one.to_list(), other.to_list()) == (FIRST.to_list(), SECOND.to_list())
    assert places(one).to_list() == [1, 0, 2, 1, None]
    assert named(one, other)[0] is one


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_the_names_of_several_columns_are_found_at_once(rows: int) -> None:
    none = pl.Series("none", [None] * 5, dtype=pl.String)
    frame = pl.DataFrame([FIRST, SECOND, none]).tail(rows)
    found = names_in(frame.lazy(), ["second", "first", "none"])
    assert {name: names.to_list() for name, names in found.items()} == {
        name: sorted(set(frame[name]) - {None}) for name in ("second", "first", "none")
    }


def test_codes_of_named_columns_are_those_of_the_same_texts() -> None:
    rows = [pl.Series(["c", "a", "c"]), pl.Series(["a", "c", "d"])]
    wide = pl.Enum(["a", "b", "c", "d", "e"])
    labels, codes = label_codes(*rows)
    same_labels, same_codes = label_codes(*(column.cast(wide) for column in rows))
    assert same_labels.to_list() == labels.to_list() == ["a", "c", "d"]
    assert [code.tolist() for code in same_codes] == [code.tolist() for code in codes]


def test_a_pair_has_one_code_in_both_orders_and_another_on_each_subject() -> None:
    one, other = pl.Series(["b", "a", "a", "a"]), pl.Series(["a", "b", "b", "c"])
    assert pair_codes(one, other).n_unique() == 2
    subject = pl.Series(["s", "s", None, None])
    assert how_often(pair_codes(one, other, subject)).to_list() == [2, 2, 1, 1]
    assert pair_codes(one, other).to_list() == sorted(pair_codes(one, other))


def test_many_codes_are_counted_in_parts_that_split_none() -> None:
    codes = pl.Series("pair", np.random.default_rng(0).integers(0, 30_000, 200_000))
    frame = codes.to_frame()
    parts = [frame.filter(mine)["pair"] for mine in in_parts(len(codes), "pair")]
    assert len(parts) > 3
    assert sum(map(len, parts)) == len(codes)
    assert sum(part.n_unique() for part in parts) == codes.n_unique()
    assert how_often(codes).to_list() == frame.select(pl.len().over("pair"))["len"].to_list()


def test_arms_go_by_other_names() -> None:
    column = pl.Series("arm", ["x__reverse", "x__forward"])
    names = {"x__reverse": "x", "x__forward": "x", "y__forward": "y"}
    assert renamed(column, names).to_list() == ["x", "x"]


def test_the_coin_test_is_the_exact_one() -> None:
    for heads, tosses in [(0, 1), (3, 6), (2, 9), (90, 109), (5_050, 10_000), (0, 400)]:
        assert coin_test(heads, tosses) == pytest.approx(binomtest(heads, tosses).pvalue, rel=1e-13)
    assert coin_test(7, 20) == coin_test(13, 20)
    assert np.isclose(coin_test(0, 6), 2 / 64)


def test_statistics_are_loaded_without_the_heavy_parts_of_scipy() -> None:
    told = "import sys, overnight.tasks._judging.judge_effects; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
