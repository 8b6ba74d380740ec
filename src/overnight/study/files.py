"""Rows as they lie in files of text: read one at a time, each with the number of its line."""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from overnight.core.errors import StudyError
from overnight.core.wording import found_text
from overnight.study.utf8 import check_plain, not_utf8, open_text, read_text, unreadable

# No prompt is that long; a quote that is never closed would otherwise swallow the file.
_LONGEST_FIELD = 64 * 1024 * 1024
# What may part the columns, and how it is called.
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# What is read from the disk at once.
_BUFFER = 128 * 1024

Row = dict[str, Any]


class Rows(Protocol):
    """Numbered rows, the same again at every reading. `columns` is None where each row has its own."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...] | None: ...

    def __iter__(self) -> Iterator[tuple[int, Row]]: ...

    def place(self, number: int) -> str:
        """How a message names the row."""
        ...


class Header:
    """The names of the columns. Nameless ones at the end are no columns: programs leave delimiters behind."""

    def __init__(self, cells: Sequence[str], place: str) -> None:
        if not any(cells):
            raise StudyError(f"{place}: the first line must name the columns")
        if any("\0" in cell for cell in cells):
            raise StudyError(f"{place}: this looks like UTF-16 without a mark at its start; save the file as UTF-8")
        self._width = len(cells)
        named = list(cells)
        while not named[-1]:
            named.pop()
        for column in named:
            if named.count(column) > 1:
                called = f"two columns are called '{column}'" if column else "two columns have no name"
                raise StudyError(f"{place}: {called}")
        self.columns: tuple[str, ...] = tuple(named)

    def row(self, cells: Sequence[str], place: str) -> Row:
        """The cells by their columns; StudyError for more or fewer of them than there are."""
        columns = self.columns
        if len(cells) == len(columns):
            return dict(zip(columns, cells, strict=True))
        if len(cells) != self._width:
            there = "field" if len(cells) == 1 else "fields"
            quoted = "; a text with delimiters in it stands in quotes" if len(cells) > self._width else ""
            raise StudyError(f"{place}: {len(cells)} {there} where the header has {self._width}{quoted}")
        for number, cell in enumerate(cells[len(columns) :], len(columns) + 1):
            if cell.strip():
                raise StudyError(f"{place}: column {number} has '{cell[:20]}' in it, and no name in the header")
        return dict(zip(columns, cells, strict=False))


class DelimitedRows:
    """CSV and TSV: everything is text, so that 007 stays 007."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.name = str(path)
        self._path = path
        self._delimiter = self._found_delimiter(delimiter)
        with open_text(path, newline="") as file:
            self._header = Header(self._next(self._reader(file), 1) or [], self.place(1))
        self.columns = self._header.columns

    def place(self, number: int) -> str:
        return f"{self.name}:{number}"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        columns, header = self.columns, self._header
        width = len(columns)
        with open_text(self._path, newline="") as file:
            reader = self._reader(file)
            self._next(reader, 1)
            number = reader.line_num + 1
            while (row := self._next(reader, number)) is not None:
                # A record of nothing but delimiters is an empty line: spreadsheets leave them behind.
                if any(row):
                    if len(row) == width:
                        yield number, dict(zip(columns, row, strict=True))
                    else:
                        yield number, header.row(row, self.place(number))
                number = reader.line_num + 1

    def _found_delimiter(self, usual: str) -> str:
        """The one that the file's ending stands for, unless only another one parts the header into columns."""
        parted = [delimiter for delimiter in _DELIMITERS if self._parts(delimiter) > 1]
        if usual in parted or not parted:
            return usual
        if len(parted) > 1:
            names = " and ".join(_DELIMITERS[delimiter] for delimiter in parted)
            raise StudyError(f"{self.place(1)}: {names} stand between the columns; wanted one of them")
        return parted[0]

    def _parts(self, delimiter: str) -> int:
        """How many columns the header has by this delimiter; none where it cannot be read so."""
        with open_text(self._path, newline="") as file:
            try:
                return len(next(self._reader(file, delimiter), ()))
            except csv.Error:
                return 0

    def _reader(self, file: Any, delimiter: str | None = None) -> Any:
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
        return csv.reader(file, delimiter=delimiter or self._delimiter, strict=True)

    def _next(self, reader: Any, number: int) -> list[str] | None:
        try:
            row: list[str] | None = next(reader, None)
        except csv.Error as error:
            raise StudyError(f"{self.place(number)}: {_quoting(str(error))}") from None
        return row


def _quoting(message: str) -> str:
    if message == "unexpected end of data":
        return "a quote is opened here and never closed"
    if "expected after" in message:
        return "text goes on after a closing quote; a quote inside a field is written twice"
    if "field larger" in message:
        return f"a field of more than {_LONGEST_FIELD // 1024 // 1024} MiB; is a quote never closed?"
    return message


_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


class JsonLines:
    """JSONL: one object for each line; each has its own fields."""

    columns = None

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def place(self, number: int) -> str:
        return f"{self.name}:{number}"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        try:
            check_plain(self._path)
            with self._path.open("rb", buffering=_BUFFER) as file:
                for number, line in enumerate(file, 1):
                    try:
                        fields: Row | None = _decode_object(line)
                    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                        fields = self._object(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line, number)
                    if fields is not None:
                        yield number, fields
        except OSError as error:
            raise unreadable(self._path, error) from None

    def _object(self, line: bytes, number: int) -> Row | None:
        """A line that is not simply an object: nothing for an empty one, else what is wrong with it."""
        if line.isspace():
            return None
        try:
            found = msgspec.json.decode(line)
        except UnicodeDecodeError:
            raise not_utf8(self._path) from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise StudyError(f"{self.place(number)}: not a line of JSON: {error}") from None
        if not isinstance(found, dict):
            raise StudyError(f"{self.place(number)}: wanted an object in braces, found {found_text(found)}")
        return found


class TextLines:
    """A .txt file: every line that is not empty is an item.

    Numbers are not padded to the file's length: a line that is added must not rename those before it.
    """

    columns = ("id", "text")

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def place(self, number: int) -> str:
        return f"{self.name}:{number}"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        count = 0
        with open_text(self._path) as file:
            for number, line in enumerate(file, 1):
                if not line.isspace():
                    count += 1
                    yield number, {"id": f"q{count:04d}", "text": line.removesuffix("\n")}


class TextFolder:
    """A folder of .txt files: each is an item, and its name without the ending is the id."""

    columns = ("id", "text")

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        try:
            found = [file for file in path.iterdir() if file.suffix.lower() == ".txt" and file.is_file()]
        except OSError as error:
            raise unreadable(path, error) from None
        self._files = sorted((file for file in found if file.name[0] != "."), key=_natural)
        if not self._files:
            raise StudyError(f"{path}: there is no .txt file in this folder")

    @property
    def links(self) -> list[Path]:
        """Files that lie somewhere else in truth."""
        return [file for file in self._files if file.is_symlink()]

    def place(self, number: int) -> str:
        return str(self._files[number])

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        for number, file in enumerate(self._files):
            yield number, {"id": file.stem, "text": read_text(file)}


def _natural(file: Path) -> tuple[list[tuple[int, str]], str]:
    """essay2 before essay10; the plain name decides between names that are alike in this."""
    parts = re.split(r"([0-9]+)", file.name.casefold())
    return [(int(part), "") if odd % 2 else (0, part) for odd, part in enumerate(parts)], file.name
