"""Inputs of a specification: what models are asked, statement by statement.

They lie in a folder, one file for each statement (`<statement id>.json` with a list `inputs`), or in a table with the
columns `statement_id` and `input`. Every input is an item that carries its statement, where the specification is given.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unicodedata import normalize

import msgspec

from overnight.core.errors import StudyError, nearest
from overnight.core.template import columns_text, nearest_column
from overnight.core.wording import found_text
from overnight.study.files import Row, Rows
from overnight.study.items import open_rows
from overnight.study.origin import Origin
from overnight.study.utf8 import read_text
from overnight.tasks._specs.file_names import by_file_name
from overnight.tasks._specs.reading import STATEMENT_FIELDS, Statement, examples_text, read_spec

_ROUTE = ("inputs",)
_NAMED = 5
# An input's number is its statement's, shifted so far, and its own.
_SHIFT = 32
_TEXT_COLUMNS = ("input", "input_text", "text")

_BARE_COLUMNS = ("id", "statement_id", "input", "input_index")
SPEC_COLUMNS = ("id", *STATEMENT_FIELDS, "input", "input_index")


def input_id(statement: str, index: int) -> str:
    """`no_spam_0`. The number is all that follows the last underscore, so it can be told which statement it is of."""
    return f"{statement}_{index}"


class SpecInputs:
    """The inputs of a specification as rows of a table, the same again at every reading."""

    def __init__(self, spec: Mapping[str, Statement] | None, source: "_Folder | _Table") -> None:
        self.name = source.name
        self.columns: tuple[str, ...] = SPEC_COLUMNS if spec is not None else _BARE_COLUMNS
        self._spec = spec
        self._source = source

    def place(self, number: int) -> str:
        return self._source.place(number)

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        counted: Counter[str] = Counter()
        for number, statement, text in self._source:
            index = counted[statement]
            counted[statement] += 1
            own = {"id": input_id(statement, index), "input": text, "input_index": index}
            told = {"statement_id": statement} if self._spec is None else self._spec[statement].fields()
            yield number, {**told, **own}

    def without_inputs(self) -> list[str]:
        """Statements that nobody is asked about."""
        asked = {statement for _, statement, _ in self._source}
        return [statement for statement in self._spec or () if statement not in asked]

    def notes(self) -> Iterator[str]:
        """What the user should know before paying."""
        yield from self._source.notes
        if self._spec is not None and (missing := self.without_inputs()):
            yield f"{len(missing)} of {len(self._spec)} statements have no inputs: {named(missing)}"


class SpecStatements:
    """The statements of a specification as rows of a table. Their examples are a text, as judges are shown them."""

    columns: tuple[str, ...] = ("id", *STATEMENT_FIELDS)

    def __init__(self, path: str, spec: Mapping[str, Statement]) -> None:
        self.name = path
        self._statements = list(spec.values())

    def place(self, number: int) -> str:
        return f"{self.name}: {self._statements[number].id}"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        for number, statement in enumerate(self._statements):
            fields = statement.fields()
            yield number, {"id": statement.id, **fields, "examples": examples_text(fields)}

    def notes(self) -> Iterator[str]:
        return iter(())


def named(words: list[str]) -> str:
    """The first few of a list, and how many more there are."""
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more


def open_spec(written: str | None, inputs: Any, origin: Origin) -> SpecInputs | SpecStatements | None:
    """What a specification names as items: its inputs, or without any its statements themselves."""
    spec = None if written is None else read_spec(written, origin)
    if inputs is not None:
        return open_inputs(inputs, spec, origin)
    return None if spec is None or written is None else SpecStatements(written, spec)


def open_inputs(written: Any, spec: Mapping[str, Statement] | None, origin: Origin) -> SpecInputs:
    """Without a specification, every file of inputs is about a statement of its own name."""
    if isinstance(written, str | Path):
        path = origin.path(written, _ROUTE)
        if path.is_dir():
            return SpecInputs(spec, _Folder(path, spec, origin))
    return SpecInputs(spec, _Table(open_rows(written, origin, _ROUTE), spec, origin))


class _Folder:
    """`<statement id>.json` files. They are found by listing the folder: an id names no path."""

    def __init__(self, path: Path, spec: Mapping[str, Statement] | None, origin: Origin) -> None:
        self.name = str(path)
        self.notes: list[str] = []
        files = {normalize("NFC", file.stem): file for file in json_files(path)}
        for file in files.values():
            if file.is_symlink():
                origin.path(file.absolute(), _ROUTE)
        if spec is None:
            self._files = {stem: file for stem, file in files.items() if _has_inputs(file)}
            self.notes += [
                f"{file} holds no inputs, and is left out" for file in files.values() if not _has_inputs(file)
            ]
        else:
            ids = by_file_name(spec)
            order = {statement: place for place, statement in enumerate(spec)}
            self._files = {}
            for plain, statement in sorted(ids.items(), key=lambda one: order[one[1]]):
                if plain in files and statement in self._files:
                    known = self._files[statement].name
                    raise StudyError(f"{files[plain]}: inputs of '{statement}' are in {known} as well")
                if plain in files:
                    self._files[statement] = files[plain]
            self._refuse_strangers([file for stem, file in files.items() if stem not in ids], spec)
        if not self._files:
            such = f", such as {next(iter(spec))}.json" if spec else ""
            raise origin.error(_ROUTE, f"{path}: there is no file <statement id>.json{such}")
        self._order = list(self._files)

    def _refuse_strangers(self, files: list[Path], spec: Mapping[str, Statement]) -> None:
        """Inputs of no statement are told. Other files may lie there as well."""
        for file in files:
            if _has_inputs(file):
                raise StudyError(f"{file}: inputs of a statement that is not in the spec{nearest(file.stem, spec)}")
            self.notes.append(f"{file} holds no inputs, and is left out")

    def place(self, number: int) -> str:
        statement = self._order[number >> _SHIFT]
        return f"{self._files[statement]}: inputs[{number & (1 << _SHIFT) - 1}]"

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        for order, (statement, file) in enumerate(self._files.items()):
            for index, text in enumerate(_inputs_of(file)):
                yield (order << _SHIFT) | index, statement, text


def _has_inputs(file: Path) -> bool:
    found = _json(file)
    return isinstance(found, dict) and "inputs" in found


def json_files(folder: Path) -> list[Path]:
    """By name; hidden ones are left out."""
    try:
        found = [file for file in folder.iterdir() if file.suffix == ".json" and not file.name.startswith(".")]
    except OSError as error:
        raise StudyError(f"{folder}: {error.strerror}") from None
    return sorted(file for file in found if file.is_file())


def _json(file: Path) -> Any:
    try:
        return msgspec.json.decode(read_text(file))
    except (msgspec.DecodeError, RecursionError) as error:
        raise StudyError(f"{file}: not JSON: {error}") from None


def _inputs_of(file: Path) -> list[str]:
    found = _json(file)
    inputs = found.get("inputs") if isinstance(found, dict) else None
    if not isinstance(inputs, list):
        raise StudyError(f'{file}: wanted {{"inputs": ["...", ...]}}, found {found_text(found)}')
    for index, text in enumerate(inputs):
        if not isinstance(text, str) or not text.strip():
            problem = "the text is empty" if isinstance(text, str) else f"wanted a text, found {found_text(text)}"
            raise StudyError(f"{file}: inputs[{index}]: {problem}")
    return inputs


class _Table:
    """Rows with the columns `statement_id` and `input`, in any order of statements."""

    notes: tuple[str, ...] = ()

    def __init__(self, rows: Rows, spec: Mapping[str, Statement] | None, origin: Origin) -> None:
        self.name = rows.name
        self._rows = rows
        self._spec = spec
        self.place = rows.place
        if rows.columns is not None:
            for column, known in (("statement_id", ("statement_id",)), ("input", _TEXT_COLUMNS)):
                if not any(name in rows.columns for name in known):
                    there = f"{columns_text(rows.columns)}{nearest_column(column, rows.columns)}"
                    raise origin.error(_ROUTE, f"{rows.name} has no column '{column}'; {there}")

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        for number, row in self._rows:
            statement = self._value(row, ("statement_id",), number)
            if self._spec is not None and statement not in self._spec:
                near = nearest(statement, self._spec)
                raise StudyError(f"{self.place(number)}: '{statement}' is no statement of the spec{near}")
            yield number, statement, self._value(row, _TEXT_COLUMNS, number)

    def _value(self, row: Row, names: tuple[str, ...], number: int) -> str:
        value = next((row[name] for name in names if row.get(name) is not None), None)
        if not isinstance(value, str) or not value.strip():
            problem = "is empty" if value is None or isinstance(value, str) else f"is {found_text(value)}"
            raise StudyError(f"{self.place(number)}: the column '{names[0]}' {problem}")
        return value
