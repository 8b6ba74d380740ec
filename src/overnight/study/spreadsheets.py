"""Rows as they lie in a spreadsheet: everything is text, as in a CSV file that was saved from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from overnight.core.errors import StudyError
from overnight.study.files import Header, Row
from overnight.study.utf8 import check_plain, unreadable

if TYPE_CHECKING:
    import polars as pl

SPREADSHEETS = (".xlsx", ".xls", ".ods")
_INSTALL = "pip install 'overnight[excel]'"


class SpreadsheetRows:
    """The one sheet that has anything in it. A sheet is held as a whole: it has at most a million rows."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._cells = _only_sheet(path)
        first = next(self._cells.iter_rows(), ())
        self._header = Header([cell or "" for cell in first], self.place(1))
        self.columns = self._header.columns

    def place(self, number: int) -> str:
        return f"{self.name}: row {number}"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        for number, cells in enumerate(self._cells.iter_rows(), 1):
            row = [cell or "" for cell in cells]
            if number > 1 and any(row):
                yield number, self._header.row(row, self.place(number))


def _only_sheet(path: Path) -> "pl.DataFrame":
    try:
        import fastexcel  # noqa: PLC0415 - an extra, for those who have spreadsheets
    except ImportError:
        message = f"{path}: to read spreadsheets, {_INSTALL}; or save the sheet as CSV"
        raise StudyError(message) from None
    with _as_study_errors(path, fastexcel.FastExcelError):
        check_plain(path)
        book = fastexcel.read_excel(path)
        sheets = [book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string") for name in book.sheet_names]
        filled = [sheet for sheet in sheets if sheet.height]
        if len(filled) > 1:
            names = ", ".join(f"'{sheet.name}'" for sheet in filled)
            raise StudyError(f"{path}: several sheets have rows: {names}; save the one with the items as CSV")
        if not filled:
            raise StudyError(f"{path}: there are no items")
        return filled[0].to_polars()


@contextmanager
def _as_study_errors(path: Path, trouble: type[Exception]) -> Iterator[None]:
    try:
        yield
    except trouble as error:
        reason = str(error).partition("\n")[0]
        raise StudyError(f"{path}: cannot be read as a spreadsheet: {reason}; save the sheet as CSV") from None
    except OSError as error:
        raise unreadable(path, error) from None
