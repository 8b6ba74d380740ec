from enum import Enum

import pandas as pd
import polars as pl
import pytest

from overnight.analysis import cohen_kappa, krippendorff_alpha
from overnight.core.errors import WrongArgument

WORDS = ["poor", "fair", "good", "excellent"]
ONE = [0, 1, 2, 3, 3, 2, 1, 0, 2, 3]
OTHER = [0, 1, 3, 3, 2, 2, 1, 1, 2, 3]


def words(ratings):
    return [WORDS[rating] for rating in ratings]


def rows(one, other):
    return list(zip(one, other, strict=True))


def test_digits_in_texts_are_in_the_order_of_numbers():
    numbers = [1, 2, 10, 9, 3, 10], [1, 2, 9, 10, 3, 10]
    texts = [[str(value) for value in column] for column in numbers]
    assert krippendorff_alpha(rows(*texts), "ordinal").value == krippendorff_alpha(rows(*numbers), "ordinal").value
    assert cohen_kappa(*texts, weights="linear").value == cohen_kappa(*numbers, weights="linear").value


def test_other_texts_have_the_order_that_is_given():
    wanted = krippendorff_alpha(rows(ONE, OTHER), "ordinal")
    assert krippendorff_alpha(rows(words(ONE), words(OTHER)), "ordinal", order=WORDS) == wanted
    kappa = cohen_kappa(ONE, OTHER, weights="quadratic").value
    assert cohen_kappa(words(ONE), words(OTHER), weights="quadratic", order=WORDS).value == kappa


def test_a_python_enum_has_the_order_in_which_it_is_written():
    grades = [*Enum("Grade", WORDS)]
    one, other = ([grades[rating] for rating in ratings] for ratings in (ONE, OTHER))
    assert krippendorff_alpha(rows(one, other), "ordinal") == krippendorff_alpha(rows(ONE, OTHER), "ordinal")
    wanted = cohen_kappa(ONE, OTHER, weights="linear").value
    assert cohen_kappa(one, other, weights="linear").value == wanted


@pytest.mark.parametrize(
    "measure",
    [
        lambda one, other, **more: krippendorff_alpha(rows(one, other), "ordinal", **more),
        lambda one, other, **more: cohen_kappa(one, other, weights="linear", **more),
    ],
)
def test_an_order_that_nobody_gave_is_asked_for(measure):
    with pytest.raises(
        WrongArgument, match=r"'excellent', 'fair', 'good', 'poor' are texts without a known order; give"
    ):
        measure(words(ONE), words(OTHER))
    with pytest.raises(WrongArgument, match=r"order has no place for 'excellent'; it lists 'poor'"):
        measure(words(ONE), words(OTHER), order=WORDS[:3])
    with pytest.raises(WrongArgument, match="order lists a label twice"):
        measure(words(ONE), words(OTHER), order=[*WORDS, "poor"])


def test_an_enum_has_its_own_order():
    kind = pl.Enum(WORDS)
    frame = pl.DataFrame({"a": words(ONE), "b": words(OTHER)}, schema={"a": kind, "b": kind})
    wanted = krippendorff_alpha(rows(ONE, OTHER), "ordinal")
    assert krippendorff_alpha(frame, "ordinal") == wanted
    kappa = cohen_kappa(ONE, OTHER, weights="linear").value
    assert cohen_kappa(frame["a"], frame["b"], weights="linear").value == kappa
    ordered = pd.Categorical(words(ONE), WORDS, ordered=True), pd.Categorical(words(OTHER), WORDS, ordered=True)
    one, other = (pd.Series(column) for column in ordered)
    assert cohen_kappa(one, other, weights="linear").value == kappa
    assert krippendorff_alpha(pd.DataFrame({"a": one, "b": other}), "ordinal") == wanted


def test_without_an_order_texts_are_just_names():
    assert krippendorff_alpha(rows(words(ONE), words(OTHER))).value == krippendorff_alpha(rows(ONE, OTHER)).value
    two = rows(["no", "yes", "no"], ["no", "no", "no"])
    assert krippendorff_alpha(two, "ordinal").value == krippendorff_alpha(two).value


def test_intervals_need_numbers():
    with pytest.raises(WrongArgument, match=r"scale='interval' needs numbers as labels; found 'excellent'"):
        krippendorff_alpha(rows(words(ONE), words(OTHER)), "interval")


def test_few_items_are_said():
    found = krippendorff_alpha(rows(ONE, OTHER))
    assert "only 10 items, and the judges differed on 3 of them" in found.problems[0]
    assert cohen_kappa(ONE * 10, OTHER * 10).problems == ()


def test_labels_of_several_kinds_are_named():
    with pytest.raises(WrongArgument, match=r"all texts or all numbers; found 1, 'a', 2"):
        cohen_kappa([1, "a", 2], [1, 2, "a"])
