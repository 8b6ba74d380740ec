"""A CSV that a spreadsheet can open without running what a model wrote."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from overnight.api.tables import write_rows
from overnight.core.errors import StudyError

TEXTS = ["=1+1", "+cmd", "-2", "@sum", "\tx", "\rx", "plain", "a=b", "", None, "'quoted"]


def written(path: Path, *, safe: bool) -> list[str]:
    frame = pl.LazyFrame({"text": TEXTS, "number": [-1] * len(TEXTS)})
    write_rows(frame, path, for_spreadsheets=safe)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["number"] for row in rows} == {"-1"}
    return [row["text"] for row in rows]


def test_formulas_become_text_where_that_is_asked_for(tmp_path: Path) -> None:
    plain = [text or "" for text in TEXTS]
    assert written(tmp_path / "plain.csv", safe=False) == plain
    safe = written(tmp_path / "safe.csv", safe=True)
    assert safe == [f"'{text}" if text[:1] in tuple("=+-@\t\r") and text else text for text in plain]


def test_other_files_need_no_such_thing(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="leave --safe-for-spreadsheets out"):
        written(tmp_path / "x.parquet", safe=True)
