"""Rows as they lie in tables: Parquet files, polars and pandas frames, lists of mappings.

Values come out as JSON has them, because that is how a run keeps its items.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from overnight.core.errors import StudyError
from overnight.core.wording import found_text
from overnight.study.files import Row, Rows
from overnight.study.origin import Origin, Route
from overnight.study.utf8 import check_plain, unreadable

if TYPE_CHECKING:
    import polars as pl

# Rows that are held at once.
_SLICE = 5_000
# Whole numbers from here on are text: readers of JSON disagree about them.
_TOO_LARGE = 2**63


class ParquetRows:
    """A Parquet file, a slice at a time."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        with _as_study_errors(path):
            check_plain(path)
            self.columns: tuple[str, ...] = tuple(self._scan().collect_schema())

    def place(self, number: int) -> str:
        return f"{self.name}: row {number}"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        number = 0
        while rows := self._rows_from(number):
            for row in rows:
                number += 1
                yield number, _plain_row(row, self, number)

    def _scan(self) -> "pl.LazyFrame":
        import polars as pl  # noqa: PLC0415 - a third of a second that only its users wait for

        return pl.scan_parquet(self._path, glob=False)

    def _rows_from(self, number: int) -> list[Row]:
        with _as_study_errors(self._path):
            return self._scan().slice(number, _SLICE).collect().to_dicts()


class PolarsRows:
    """A polars frame."""

    def __init__(self, frame: "pl.DataFrame", origin: Origin, route: Route = ("items",)) -> None:
        self.name = origin.at(route)
        self.columns: tuple[str, ...] = tuple(frame.columns)
        self._frame = frame
        self._origin = origin
        self._route = route

    def place(self, number: int) -> str:
        return self._origin.at((*self._route, number))

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        for number, row in enumerate(self._frame.iter_rows(named=True)):
            yield number, _plain_row(row, self, number)


class PandasRows:
    """A pandas frame. An index with a name is a column; one without is only a numbering."""

    def __init__(self, frame: Any, origin: Origin, route: Route = ("items",)) -> None:
        self.name = origin.at(route)
        self._frame = frame.reset_index() if any(name is not None for name in frame.index.names) else frame
        self.columns: tuple[str, ...] = tuple(str(column) for column in self._frame.columns)
        self._origin = origin
        self._route = route
        for column in self.columns:
            if self.columns.count(column) > 1:
                raise origin.error(route, f"two columns are called '{column}'")

    def place(self, number: int) -> str:
        return self._origin.at((*self._route, number))

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        for start in range(0, len(self._frame), _SLICE):
            part = self._frame.iloc[start : start + _SLICE].set_axis(list(self.columns), axis=1)
            # Pandas has several ways to say that nothing is there; we have one.
            whole = part.astype(object).where(part.notna(), None)
            for number, row in enumerate(whole.to_dict("records"), start):
                yield number, _plain_row(row, self, number)


class ListRows:
    """A list of mappings; each has its own fields."""

    columns = None

    def __init__(self, rows: Sequence[Any], origin: Origin, route: Route = ("items",)) -> None:
        self.name = origin.at(route)
        self._rows = rows
        self._origin = origin
        self._route = route

    def place(self, number: int) -> str:
        return self._origin.at((*self._route, number))

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        for number, row in enumerate(self._rows):
            if not isinstance(row, Mapping):
                raise StudyError(f"{self.place(number)}: wanted a mapping, found {found_text(row)}")
            yield number, _plain_row(row, self, number)


def frame_kind(items: Any) -> type[PolarsRows | PandasRows | ListRows] | None:
    """How to read the table that a program hands over; None when it is no table."""
    # A frame's library has been imported by whoever made the frame: asking for its name costs nothing.
    libraries = {kind.__module__.partition(".")[0] for kind in type(items).__mro__}
    if "polars" in libraries and hasattr(items, "iter_rows"):
        return PolarsRows
    if "pandas" in libraries and hasattr(items, "iloc") and hasattr(items, "columns"):
        return PandasRows
    if isinstance(items, Sequence) and not isinstance(items, str | bytes):
        return ListRows
    return None


def plain(value: Any) -> Any:
    """The value as JSON has it; ValueError for one that has no such form."""
    match value:
        case None | bool():
            return value
        case str():
            return _encodable(value)
        case int():
            return int(value) if -_TOO_LARGE <= value < _TOO_LARGE else str(value)
        case float():
            return _finite(value)
        case Mapping():
            return {_name(key): plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case timedelta() | Decimal() | UUID() | Path():
            return str(value)
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return plain(value.tolist())
    raise ValueError(f"a value of type {type(value).__name__} cannot be sent; turn it into text first")


def _plain_row(row: Mapping[Any, Any], rows: Rows, number: int) -> Row:
    fields: Row = {}
    for column, value in row.items():
        try:
            fields[_name(column)] = plain(value)
        except UnicodeEncodeError:
            reason = "half a character (a lone surrogate) cannot be sent"
            raise StudyError(f"{rows.place(number)}: column '{column}': {reason}") from None
        except ValueError as error:
            raise StudyError(f"{rows.place(number)}: column '{column}': {error}") from None
    return fields


def _name(column: Any) -> str:
    if not isinstance(column, str):
        raise ValueError("a name must be text")  # noqa: TRY004 - told with its row
    return column


def _encodable(text: str) -> str:
    if not text.isascii():
        text.encode()
    return str(text)


def _finite(number: float) -> float | str | None:
    if math.isnan(number):
        return None
    return float(number) if math.isfinite(number) else str(number)


@contextmanager
def _as_study_errors(path: Path) -> Iterator[None]:
    from polars.exceptions import PanicException, PolarsError  # noqa: PLC0415 - as above

    try:
        yield
    except (PolarsError, PanicException) as error:  # polars panics at some damages
        reason = str(error).partition("\n")[0]
        raise StudyError(f"{path}: cannot be read as Parquet: {reason}") from None
    except OSError as error:
        raise unreadable(path, error) from None
