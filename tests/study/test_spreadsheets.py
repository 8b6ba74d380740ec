"""Items from a spreadsheet are those of a CSV file that was saved from it."""

import sys
from datetime import datetime

import pytest
import xlsxwriter

from overnight.core.ask import Item
from overnight.study.items import open_items
from overnight.study.origin import Origin
from study.writing import complaint


@pytest.fixture
def book(tmp_path):
    def write(*sheets):
        path = tmp_path / "essays.xlsx"
        with xlsxwriter.Workbook(path) as workbook:
            dated = workbook.add_format({"num_format": "yyyy-mm-dd"})
            for name, rows in sheets:
                sheet = workbook.add_worksheet(name)
                for number, row in enumerate(rows):
                    for place, cell in enumerate(row):
                        if cell is not None:
                            sheet.write(number, place, cell, *([dated] if isinstance(cell, datetime) else []))
        return path

    return write


def read(path):
    return list(open_items(path, None, Origin()).read())


def test_everything_in_a_sheet_is_text(book):
    rows = [
        ["id", "text", "n", "when", "fits"],
        ["007", "one\nline", 1, datetime(2026, 1, 2, 3, 4), True],  # noqa: DTZ001 - a cell has no zone
        [8, "two", 0.5, None, None],
        [],
        [2**40, "three", "1.50", None, False],
    ]
    path = book(("Essays", rows), ("Empty", []))
    first, second, third = read(path)
    assert first == Item(
        "007", {"id": "007", "text": "one\nline", "n": "1", "when": "2026-01-02 03:04:00", "fits": "true"}
    )
    assert second == Item("8", {"id": "8", "text": "two", "n": "0.5", "when": "", "fits": ""})
    assert third.fields["n"] == "1.50"
    assert third.id == str(2**40)


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        ([("a", [["id", "text", "text"], [1, 2, 3]])], ": row 1: two columns are called 'text'"),
        ([("a", [["id", "text"], [1, "x"], [1, "y"]])], ": row 3: the id '1', column 'id', was used before, at"),
        ([("a", [["id", "text"], [1, "x", "y"]])], ": row 2: column 3 has 'y' in it, and no name in the header"),
        (
            [("a", [["id"], [1]]), ("b", [["id"], [1]])],
            ": several sheets have rows: 'a', 'b'; save the one with the items as CSV",
        ),
        ([("a", [])], ": there are no items"),
        ([("a", [["id", "text"]])], ": there are no items"),
    ],
)
def test_what_is_wrong_with_a_sheet_is_said(book, sheets, message):
    path = book(*sheets)
    assert complaint(lambda: read(path)).startswith(f"{path}{message}")


def test_a_file_that_is_no_spreadsheet_is_said(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_text("id,text")
    said = complaint(lambda: read(path))
    assert said.startswith(f"{path}: cannot be read as a spreadsheet: ")
    assert said.endswith("; save the sheet as CSV")


def test_without_the_extra_it_is_said_what_to_do(book, monkeypatch):
    path = book(("a", [["id", "text"], [1, "x"]]))
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    assert (
        complaint(lambda: read(path))
        == f"{path}: to read spreadsheets, pip install 'overnight[excel]'; or save the sheet as CSV"
    )
