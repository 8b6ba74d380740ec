"""Items from tables: Parquet, polars, pandas, lists."""

import datetime as dt
import decimal
import math
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.ask import Item
from overnight.study import Study
from overnight.study.frames import plain
from overnight.study.items import open_items
from overnight.study.origin import Origin
from study.writing import complaint, write


def read(items, id_column=None) -> list[Item]:
    return list(open_items(items, id_column, Origin()).read())


ROWS = [{"ID": "a", "text": "x", "n": 1, "score": 0.5, "ok": True, "none": None, "tags": ["p", "q"]}]


def test_tables_of_every_kind_are_alike(tmp_path):
    frame = pl.DataFrame(ROWS)
    frame.write_parquet(tmp_path / "a.parquet")
    wanted = [Item("a", ROWS[0])]
    assert read(tmp_path / "a.parquet") == wanted
    assert read(frame) == wanted
    assert read(pd.DataFrame(ROWS)) == wanted
    assert read(ROWS) == wanted
    assert read(tuple(ROWS)) == wanted


def test_columns_are_known_before_the_rows(tmp_path):
    frame = pl.DataFrame({"name": ["a"], "text": ["x"]})
    frame.write_parquet(tmp_path / "a.parquet")
    for items in (frame, frame.to_pandas(), tmp_path / "a.parquet"):
        source = open_items(items, None, Origin())
        assert source.columns == ("name", "text")
        assert source.id_column == "name"
    assert open_items(frame.to_dicts(), None, Origin()).columns is None


def test_a_parquet_file_is_read_slice_by_slice(tmp_path, monkeypatch):
    monkeypatch.setattr("overnight.study.frames._SLICE", 7)
    frame = pl.DataFrame({"ID": [f"S{number}" for number in range(30)], "text": ["x"] * 30})
    frame.write_parquet(tmp_path / "a [1]*.parquet", row_group_size=10)
    assert [item.id for item in read(tmp_path / "a [1]*.parquet")] == frame["ID"].to_list()
    assert [item.id for item in read(frame.to_pandas())] == frame["ID"].to_list()


def test_parquet_complaints(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 or not")
    assert complaint(lambda: read(tmp_path / "a.parquet")).startswith(
        f"{tmp_path / 'a.parquet'}: cannot be read as Parquet: "
    )
    pl.DataFrame({"ID": ["a", "b", "a"], "text": ["x", "y", "z"]}).write_parquet(tmp_path / "b.parquet")
    path = tmp_path / "b.parquet"
    assert (
        complaint(lambda: read(path))
        == f"{path}: row 3: the id 'a', column 'ID', was used before, at {path}: row 1; ids must be unique"
    )
    source = open_items(path, None, Origin())
    path.unlink()
    assert complaint(lambda: list(source.read())) == f"{path}: no such file"
    pl.DataFrame({"ID": [], "text": []}).write_parquet(path)
    assert complaint(lambda: read(path)) == f"{path}: there are no items"


@pytest.mark.parametrize("frame", [pl.DataFrame(), pd.DataFrame(), pl.DataFrame({"ID": []}), pd.DataFrame({"ID": []})])
def test_an_empty_frame_is_said(frame):
    assert complaint(lambda: read(frame)) == "study: items: there are no items"


def test_pandas_says_nothing_in_one_way():
    frame = pd.DataFrame(
        {
            "ID": ["a", "b"],
            "text": ["x", None],
            "n": [1, np.nan],
            "when": [pd.Timestamp("2024-01-31T12:00"), pd.NaT],
            "whole": pd.array([1, None], dtype="Int64"),
            "kind": pd.Categorical(["k", "k"]),
        }
    )
    assert [item.fields for item in read(frame)] == [
        {"ID": "a", "text": "x", "n": 1.0, "when": "2024-01-31T12:00:00", "whole": 1, "kind": "k"},
        {"ID": "b", "text": None, "n": None, "when": None, "whole": None, "kind": "k"},
    ]


def test_a_named_index_is_a_column():
    frame = pd.DataFrame({"text": ["x", "y"]}, index=pd.Index(["007", "008"], name="ID"))
    assert [item.id for item in read(frame)] == ["007", "008"]
    unnamed = pd.DataFrame({"word": ["x", "y"]}, index=[5, 6])
    assert [item.id for item in read(unnamed)] == ["x", "y"]


def test_pandas_columns_are_named_by_text():
    assert read(pd.DataFrame({0: ["a"], 1: ["x"]})) == [Item("a", {"0": "a", "1": "x"})]
    doubled = pd.DataFrame([["a", "x"]], columns=["ID", "ID"])
    assert complaint(lambda: read(doubled)) == "study: items: two columns are called 'ID'"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "items: there are no items"),
        ([{"ID": "a", "text": "x"}, "b"], "items[1]: wanted a mapping, found the text 'b'"),
        (
            [{"ID": "a", "text": "x"}, {"ID": "a", "text": "y"}],
            "items[1]: the id 'a', column 'ID', was used before, at study: items[0]; ids must be unique",
        ),
        ([{"ID": "a", 1: "x"}], "items[0]: column '1': a name must be text"),
        (
            [{"ID": "a", "text": object()}],
            "items[0]: column 'text': a value of type object cannot be sent; turn it into text first",
        ),
        (
            [{"ID": "a", "text": b"x"}],
            "items[0]: column 'text': a value of type bytes cannot be sent; turn it into text first",
        ),
        (
            [{"ID": "a", "text": "\ud800"}],
            "items[0]: column 'text': half a character (a lone surrogate) cannot be sent",
        ),
        (
            [{"ID": "a", "text": {"deep": ["\ud800"]}}],
            "items[0]: column 'text': half a character (a lone surrogate) cannot be sent",
        ),
        ([{"ID": None, "text": "x"}], "items[0]: the id, column 'ID', is empty"),
        ([{"ID": "a", "text": "x"}, {"text": "x"}], "items[1]: the id, column 'ID', is missing; the columns are text"),
        ([{"ID": "a", "text": None}], "items[0]: the item 'a' is empty: it has nothing but its id"),
    ],
)
def test_what_is_wrong_with_a_list_is_said(rows, message):
    assert complaint(lambda: read(rows)) == f"study: {message}"


def test_a_list_in_a_file_is_answered_with_its_line(tmp_path):
    path = write(
        tmp_path,
        """
        name: essay
        task: generate
        items:
          - {ID: a, text: x}
          - {ID: a, text: y}
        prompt: "{text}"
        models: [openai/gpt-4.1]
        """,
    )
    study = Study.load(path)
    source = open_items(study.items, study.id, study.origin)
    wanted = (
        f"{path}:5:5: items[1]: the id 'a', column 'ID', was used before, at {path}:4:5: items[0]; ids must be unique"
    )
    assert complaint(lambda: list(source.read())) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (math.nan, None),
        (math.inf, "inf"),
        (2**63, str(2**63)),
        (-(2**63), -(2**63)),
        (dt.date(2024, 1, 31), "2024-01-31"),
        (dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC), "2024-01-31T12:00:00+00:00"),
        (dt.time(12, 30), "12:30:00"),
        (dt.timedelta(minutes=90), "1:30:00"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (Path("a/b"), "a/b"),
        (np.int64(3), 3),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([1, 2]), [1, 2]),
        ((1, [np.nan]), [1, [None]]),
        ({"a": dt.date(2024, 1, 31)}, {"a": "2024-01-31"}),
    ],
)
def test_values_come_out_as_json_has_them(value, wanted):
    found = plain(value)
    assert found == wanted
    assert type(found) is type(wanted)


cells = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8"))


@settings(deadline=None)
@given(
    st.lists(
        st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), cells, max_size=4), min_size=1, max_size=4
    )
)
def test_lists_go_through_unchanged(rows):
    rows = [{"ID": f"S{number}", "text": "x"} | row | {"ID": f"S{number}"} for number, row in enumerate(rows)]
    rows = [row | {"more": "m"} for row in rows]
    assert [item.fields for item in read(rows)] == rows
