"""Rows as they lie in files of text: read one at a time, each with the number of its line."""

import codecs
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from overnight.core.errors import StudyError
from overnight.core.wording import found_text
from overnight.study.utf8 import check_plain, not_utf8, open_text, read_text, unreadable

# No prompt is that long; a quote that is never closed would otherwise swallow the file.
_LONGEST_FIELD = 64 * 1024 * 1024
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


class DelimitedRows:
    """CSV and TSV: everything is text, so that 007 stays 007."""

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
            number = reader.line_num + 1
            while (row := self._next(reader, number)) is not None:
                if len(row) == width:
                    yield number, dict(zip(columns, row, strict=True))
                elif row:
                    there = "field" if len(row) == 1 else "fields"
                    raise StudyError(f"{self.place(number)}: {len(row)} {there} where the header has {width}")
                number = reader.line_num + 1

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
