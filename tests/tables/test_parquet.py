"""A table's file: the same bytes for the same rows, whole or not there, and nothing else is touched."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.errors import LedgerError
from overnight.tables.parquet import frame_of, in_portions, keep_parquet, write_parquet

SCHEMA = {"name": pl.String, "n": pl.Int64}


def cut(rows: list[tuple[str | None, int | None]], cuts: list[int]) -> Iterator[pl.DataFrame]:
    """The rows in pieces, cut at these places."""
    bounds = sorted({0, len(rows), *(place for place in cuts if place < len(rows))})
    for begin, end in pairwise(bounds):
        part = rows[begin:end]
        yield frame_of(SCHEMA, {"name": [name for name, _ in part], "n": [n for _, n in part]})


@settings(max_examples=30)
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))),
            st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        ),
        max_size=60,
    ),
    cuts=st.lists(st.integers(0, 60), max_size=5),
)
def test_how_rows_come_leaves_no_trace_in_the_bytes(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str | None, int | None]], cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    assert write_parquet(folder / "one.parquet", SCHEMA, lambda: cut(rows, [])) == len(rows)
    write_parquet(folder / "two.parquet", SCHEMA, lambda: cut(rows, cuts))
    assert _digest(folder / "one.parquet") == _digest(folder / "two.parquet")
    assert pl.read_parquet(folder / "two.parquet").rows() == rows


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "a", "a"], pl.String),
        (["a", "b", "a"], pl.String),
        ([None, None], pl.Float64),
        ([None, 1, None], pl.Int64),
        ([0.0, -0.0, 0.0], pl.Float64),
        ([True, True], pl.Boolean),
        ([7], pl.Int32),
        ([], pl.Int32),
    ],
)
def test_what_all_rows_say_alike_is_in_all_of_them(values: list[object], kind: type[pl.DataType]) -> None:
    found = frame_of({"said": kind}, {"said": values})["said"]
    assert found.dtype == kind
    assert list(map(repr, found)) == list(map(repr, values))


@pytest.mark.parametrize("rows", [0, 1, 4_999, 5_000, 5_001, 12_345])
def test_a_table_taken_from_another_in_portions_has_the_bytes_of_one_taken_at_once(tmp_path: Path, rows: int) -> None:
    table = tmp_path / "one.parquet"
    write_parquet(table, SCHEMA, lambda: cut([(str(n), n) for n in range(rows)], []))

    def chosen(frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame.filter(pl.col("n") % 7 != 3).select("n", twice=pl.concat_str("name", "name"))

    in_parts, at_once = in_portions(table, chosen), chosen(pl.scan_parquet(table))
    keep_parquet(in_parts, tmp_path / "parts.parquet")
    keep_parquet(at_once, tmp_path / "whole.parquet")
    assert _digest(tmp_path / "parts.parquet") == _digest(tmp_path / "whole.parquet")
    for asked in (in_parts, at_once):  # whatever is asked of it, it is a frame like any other
        assert asked.filter(pl.col("n") > 4_000).select("twice").head(3).collect().height == max(
            0, min(3, rows - 4_001)
        )
    assert in_parts.select("n").head(5_100).collect().equals(at_once.select("n").head(5_100).collect())


def test_rows_that_cannot_be_had_leave_the_table_that_was(tmp_path: Path) -> None:
    table = tmp_path / "one.parquet"
    write_parquet(table, SCHEMA, lambda: cut([("a", 1)], []))
    before = _digest(table)

    def damaged() -> Iterator[pl.DataFrame]:
        yield from cut([("b", 2)], [])
        raise LedgerError("raw/x.jsonl is damaged")

    with pytest.raises(LedgerError, match=r"raw/x\.jsonl is damaged"):
        write_parquet(table, SCHEMA, damaged)
    assert _digest(table) == before
    assert [path.name for path in tmp_path.iterdir()] == ["one.parquet"]


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    """A run's folder may be a stranger's."""
    (tmp_path / "precious").write_text("mine")
    for name in ("one.parquet", "one.parquet.part"):
        (tmp_path / name).symlink_to("precious")
    keep_parquet(pl.LazyFrame({"n": [1]}), tmp_path / "one.parquet")
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "one.parquet").is_symlink()
    assert not (tmp_path / "one.parquet.part").exists()


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.parquet").mkdir()
    with pytest.raises(LedgerError, match="this is a folder, and a table belongs there"):
        keep_parquet(pl.LazyFrame({"n": [1]}), tmp_path / "one.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["one.parquet"]


def test_a_table_is_for_its_owner_alone(tmp_path: Path) -> None:
    keep_parquet(pl.LazyFrame({"n": [1]}), tmp_path / "one.parquet")
    assert (tmp_path / "one.parquet").stat().st_mode & 0o077 == 0


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
