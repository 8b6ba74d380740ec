"""Cutting lines is only a faster way to what Python's own reader of CSV says."""

from __future__ import annotations

import csv
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.errors import StudyError
from overnight.study.delimited import DelimitedRows, cut

if TYPE_CHECKING:
    from pathlib import Path

FIELD = st.text(st.sampled_from("a \",\t\r\n'é"), max_size=6)
DELIMITER = st.sampled_from([",", "\t"])


def by_python(text: str, delimiter: str) -> list[tuple[int, list[str]]] | int:
    """Records with the numbers of their first lines; or the line of the first one that is no good."""
    reader = csv.reader(iter(text.splitlines(keepends=True)), delimiter=delimiter, strict=True)
    found, number = [], 1
    try:
        for row in reader:
            if row and len(row) != 2:
                return number
            if row:
                found.append((number, row))
            number = reader.line_num + 1
    except csv.Error:
        return number
    return found


def by_cutting(path: Path, delimiter: str) -> list[tuple[int, list[str]]] | int:
    rows = DelimitedRows(path, delimiter)
    try:
        return [(number, list(row.values())) for number, row in rows]
    except StudyError as error:
        return int(str(error).removeprefix(f"{path}:").partition(":")[0])


@given(text=st.text(st.sampled_from('ab",\t\r\n '), max_size=40), delimiter=DELIMITER)
def test_whatever_a_file_holds_it_is_read_as_python_reads_it(
    tmp_path_factory: pytest.TempPathFactory, text: str, delimiter: str
) -> None:
    whole = f"x{delimiter}y\n{text}"
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(whole, encoding="utf-8", newline="")
    expected = by_python(whole, delimiter)
    assert by_cutting(path, delimiter) == (expected if isinstance(expected, int) else expected[1:])


@given(rows=st.lists(st.tuples(FIELD, FIELD), max_size=6), delimiter=DELIMITER, end=st.sampled_from(["\n", "\r\n"]))
def test_what_was_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str, end: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([("x", "y"), *rows])
    assert [tuple(row.values()) for _, row in DelimitedRows(path, delimiter)] == rows


@pytest.mark.parametrize("record", ['a "quote",b', '"a"b,c', ' "a",b', '"a,b', '"a"\n,b'])
def test_what_is_not_plain_is_left_to_python(record: str) -> None:
    assert cut(record, ",") is None


def test_a_quote_that_is_never_closed_is_found_where_it_opens(tmp_path: Path) -> None:
    path = tmp_path / "open.csv"
    path.write_text('x,y\n1,"a\nb"\n2,"c\n' + "d,e\n" * 400_000)
    started = time.process_time()
    with pytest.raises(StudyError, match=r"open\.csv:4: a quote is opened here and never closed"):
        list(DelimitedRows(path, ","))
    assert time.process_time() - started < 5
