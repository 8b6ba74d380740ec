"""Rows as they lie in CSV and TSV files: everything is text, so that 007 stays 007.

Python's reader looks at each character by itself. Here lines are cut at their delimiters and quotes, which is several
times as fast; from the first record on that is not plainly well formed, the rest of the file is left to Python's
reader, and its word counts.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from overnight.core.errors import StudyError
from overnight.study.files import Row
from overnight.study.utf8 import open_text

# No prompt is that long; a quote that is never closed would otherwise swallow the file.
_LONGEST_FIELD = 64 * 1024 * 1024
# Nor is a record that is cut here: beyond this, a quote may have been left open.
_LONGEST_CUT = 1024 * 1024

Record = tuple[int, list[str]]


class DelimitedRows:
    """A file with a header and a delimiter."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.name = str(path)
        self._path = path
        self._delimiter = delimiter
        with open_text(path, newline="") as file:
            self.columns: tuple[str, ...] = self._header(self._reader(file))

    def place(self, number: int) -> str:
        return f"{self.name}:{number}"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        columns = self.columns
        width = len(columns)
        with open_text(self._path, newline="") as file:
            reader = self._reader(file)
            self._next(reader, 1)
            for number, row in self._records(file, reader.line_num + 1):
                if len(row) == width:
                    yield number, dict(zip(columns, row, strict=True))
                elif row:
                    there = "field" if len(row) == 1 else "fields"
                    raise StudyError(f"{self.place(number)}: {len(row)} {there} where the header has {width}")

    def _records(self, file: TextIO, number: int) -> Iterator[Record]:
        """What is left of the file, each record with the number of its first line."""
        for line in file:
            lines = [line]
            if '"' in line and line.count('"') % 2:
                lines += _up_to_the_closing_quote(file)
            row = cut("".join(lines), self._delimiter)
            if row is None:
                yield from self._read(chain(lines, file), number)
                return
            yield number, row
            number += len(lines)

    def _read(self, lines: Iterable[str], number: int) -> Iterator[Record]:
        """The same by Python's reader."""
        reader, before = self._reader(lines), number - 1
        while (row := self._next(reader, number)) is not None:
            yield number, row
            number = before + reader.line_num + 1

    def _reader(self, file: Any) -> Any:
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
        return csv.reader(file, delimiter=self._delimiter, strict=True)

    def _next(self, reader: Any, number: int) -> list[str] | None:
        try:
            row: list[str] | None = next(reader, None)
        except csv.Error as error:
            raise StudyError(f"{self.place(number)}: {_quoting(str(error))}") from None
        return row

    def _header(self, reader: Any) -> tuple[str, ...]:
        columns = self._next(reader, 1) or []
        if not any(columns):
            raise StudyError(f"{self.place(1)}: the first line must name the columns")
        for column in columns:
            if columns.count(column) > 1:
                raise StudyError(f"{self.place(1)}: two columns are called '{column}'")
        if len(columns) == 1 and (wrong := re.search(r"[;\t]", columns[0])):
            character = "tabs" if wrong[0] == "\t" else "semicolons"
            raise StudyError(f"{self.place(1)}: the columns are parted by {character}; save the file with commas")
        return tuple(columns)


def _quoting(message: str) -> str:
    if message == "unexpected end of data":
        return "a quote is opened here and never closed"
    if "expected after" in message:
        return "text goes on after a closing quote; a quote inside a field is written twice"
    if "field larger" in message:
        return f"a field of more than {_LONGEST_FIELD // 1024 // 1024} MiB; is a quote never closed?"
    return message


def _up_to_the_closing_quote(file: TextIO) -> Iterator[str]:
    size = 0
    for line in file:
        yield line
        size += len(line)
        if line.count('"') % 2 or size > _LONGEST_CUT:
            return


def cut(record: str, delimiter: str) -> list[str] | None:
    """The fields of a record, or None where that takes a closer look."""
    if len(record) > _LONGEST_CUT:
        return None
    text = record.rstrip("\r\n")
    if '"' not in text:
        return text.split(delimiter) if text else []
    row: list[str] = []
    at, last = 0, len(text)
    while True:
        field, after = _quoted(text, at) if text.startswith('"', at) else _plain(text, at, delimiter)
        if field is None or (after < last and text[after] != delimiter):
            return None
        row.append(field)
        if after == last:
            return row
        at = after + 1


def _quoted(text: str, at: int) -> tuple[str | None, int]:
    """A field in quotes, and where the record goes on; None where no quote closes it."""
    end = text.find('"', at + 1)
    doubled = False
    while end >= 0 and text.startswith('"', end + 1):
        end = text.find('"', end + 2)
        doubled = True
    if end < 0:
        return None, at
    field = text[at + 1 : end]
    return field.replace('""', '"') if doubled else field, end + 1


def _plain(text: str, at: int, delimiter: str) -> tuple[str | None, int]:
    """A field without quotes, and where the record goes on; None where there is a quote in it."""
    end = text.find(delimiter, at)
    field = text[at:] if end < 0 else text[at:end]
    return None if '"' in field else field, at + len(field)
