"""`priority`: the most urgent items first, and if wanted only so many of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.priority import priority_of
from overnight.study import resolve
from overnight.study.origin import Origin
from overnight.study.priority import PriorityEntry
from study.writing import a_study, complaint

ITEMS = [
    {"ID": "a", "text": "1", "risk": "low"},
    {"ID": "b", "text": "2", "risk": "High "},
    {"ID": "c", "text": "3", "risk": "2"},
    {"ID": "d", "text": "4", "risk": "low"},
]


def order(**changes) -> str:
    (stage,) = resolve(a_study(items=ITEMS, **changes)).stages
    return "".join(item.id for item in stage.items())


def test_the_higher_go_first_and_equals_as_they_stand():
    assert order() == "abcd"
    assert order(priority="risk") == "bcad"
    assert order(priority={"column": "risk", "first": 3}) == "bca"
    assert order(priority=PriorityEntry(first=2)) == "ab"
    assert order(priority={"first": 9}) == "abcd"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_item_stays_whole(risks):
    items = [{"ID": f"{n}", "text": "x" * n or "y", "risk": risk} for n, risk in enumerate(risks)]
    (stage,) = resolve(a_study(items=items, priority="risk")).stages
    found = list(stage.items())
    assert [item.fields["risk"] for item in found] == sorted(risks, reverse=True)
    assert sorted((item.fields for item in found), key=lambda one: int(one["ID"])) == items


@pytest.mark.parametrize("value", ["", None, "urgent", True, [1], "nan", float("inf")])
def test_what_is_no_priority(value):
    assert priority_of(value) is None


@pytest.mark.parametrize(
    ("priority", "wanted"),
    [
        ("rsk", "items: item 'a': there is no column 'rsk'; the columns are ID, text, risk; did you mean 'risk'?"),
        ({}, "priority: wanted the name of a column, or {column: ..., first: ...}"),
        (" ", "priority: wanted the name of a column"),
        ({"column": "risk", "first": 0}, "priority.first: 0 is less than 1"),
        ("ID", "items: item 'a': column 'ID' is the text 'a'; wanted a number, or high, medium or low"),
    ],
)
def test_what_is_wrong_is_said(priority, wanted):
    assert wanted in complaint(lambda: resolve(a_study(items=ITEMS, priority=priority)))


def test_a_tables_columns_are_known_at_once(tmp_path):
    (tmp_path / "items.csv").write_text("ID,text,risk\na,x,1\n")
    wanted = "items.csv has no column 'rsk'; the columns are ID, text, risk; did you mean 'risk'?"
    origin = Origin(folder=tmp_path)
    assert wanted in complaint(lambda: resolve(a_study(items="items.csv", priority="rsk", origin=origin)))
