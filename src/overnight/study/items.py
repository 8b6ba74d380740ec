"""The items of a study: a stream that can be read again, with ids that are text and unique."""

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from overnight.core.ask import Item
from overnight.core.errors import StudyError, nearest
from overnight.core.names import check_item_id
from overnight.core.template import columns_text, nearest_column
from overnight.study.empty_fields import EmptyFields, OnEmpty, are_texts, is_blank, says_something
from overnight.study.files import DelimitedRows, JsonLines, Row, Rows, TextFolder, TextLines
from overnight.study.frames import ParquetRows, frame_kind
from overnight.study.origin import Origin, Route
from overnight.study.spreadsheets import SPREADSHEETS, SpreadsheetRows

# Rows that are looked at together: few enough that long texts take little memory.
_AT_ONCE = 50
# Hashes that make a set of a few megabytes.
_IN_A_SET = 50_000
_FILE_KINDS = (".csv", ".tsv", ".jsonl", ".parquet", ".txt", *SPREADSHEETS)


class Asking(Protocol):
    """Who asks something of an item: a template, or a task that names a column."""

    @property
    def names(self) -> tuple[str, ...]: ...
    def missing(self, columns: Collection[str]) -> str | None:
        """What is wrong when the items have these columns and no others; None when all is well."""
        ...


class Need(NamedTuple):
    """What is asked of each item. `given` are names that are known without it; `stage` is who asks, if not its own.

    `filled` are those among the given ones that the task itself fills in, whatever the item has under them.
    """

    asking: Asking
    given: tuple[str, ...] = ()
    stage: str | None = None
    filled: tuple[str, ...] = ()

    def columns(self) -> frozenset[str]:
        return frozenset(self.asking.names) - frozenset(self.given)

    def missing(self, columns: Collection[str]) -> str | None:
        """What is wrong with an item of these columns; None when all is well."""
        return self.asking.missing(tuple(dict.fromkeys((*columns, *self.given))))


class ItemSource:
    """Items of one table, in constant memory but for eight bytes that each id leaves behind.

    `on_empty` says what becomes of items that have nothing in a column which the questions name.
    """

    def __init__(self, rows: Rows, id_column: str, needs: Sequence[Need], on_empty: OnEmpty = "refuse") -> None:
        self.name = rows.name
        self.id_column = id_column
        self.columns = rows.columns
        self._rows = rows
        self._needs = needs
        self._on_empty: OnEmpty = on_empty
        self._asked = frozenset[str]().union(*(need.columns() for need in needs))
        # How many there are, known when all of it was read.
        self.count = 0

    def ask_for(self, column: str) -> None:
        """A column that every item is asked for, found out when the table's columns are known."""
        self._asked |= {column}

    def check(self) -> list[str]:
        """Read all of it, so that whatever is wrong is said before anything is paid; and what the user should know."""
        empty = EmptyFields(self.name, self._on_empty)
        for _ in self._read(empty):
            pass
        return empty.notes()

    def read(self) -> Iterator[Item]:
        return self._read(EmptyFields(self.name, self._on_empty))

    def _read(self, empty: EmptyFields) -> Iterator[Item]:
        marks, rows = array("q"), iter(self._rows)
        while some := list(islice(rows, _AT_ONCE)):
            items = self._plain_items(some)
            if items is None:
                yield from self._each_looked_at(some, empty, marks)
            else:
                marks.extend([hash(item.id) for item in items])
                yield from items
        if not marks:
            raise StudyError(f"{self.name}: there are no items")
        if twice := repeated(marks):
            self._refuse_duplicates(twice)
        empty.finish(len(marks))
        self.count = len(marks)

    def _plain_items(self, some: Sequence[tuple[int, Row]]) -> list[Item] | None:
        """The items of nearly all rows there are: each has an id and all that it is asked for, and each is a text.

        None where this is not so for one of them: then each has to be looked at by itself.
        """
        if not self._asked - {self.id_column}:
            return None
        try:
            ids = [fields[self.id_column] for _, fields in some]
            if not are_texts(ids) or "\0" in "".join(ids):
                return None
            if not all(says_something([fields[column] for _, fields in some]) for column in self._asked):
                return None
        except KeyError:
            return None
        return [Item(item_id, fields) for item_id, (_, fields) in zip(ids, some, strict=True)]

    def _each_looked_at(
        self, some: Sequence[tuple[int, Row]], empty: EmptyFields, marks: "array[int]"
    ) -> Iterator[Item]:
        id_column, asked = self.id_column, sorted(self._asked)
        needed = frozenset[str]()
        if self.columns is None:
            needed = needed.union(*(need.columns() for need in self._needs))
        # A field that the questions name, and that has something in it, shows that the item is not empty.
        may_be_empty = self._on_empty == "refuse" and not self._asked - {id_column}
        for number, fields in some:
            item_id = fields.get(id_column)
            if item_id.__class__ is not str or not item_id or item_id.isspace():
                item_id = self._id(number, fields)
            if "\0" in item_id:
                check_item_id(item_id, f"{self._rows.place(number)}, column '{id_column}'")
            marks.append(hash(item_id))
            if needed and not needed <= fields.keys():
                self._refuse_missing(number, fields)
            if not empty.takes(fields, asked, self._rows.place, number, item_id):
                continue
            if may_be_empty and self._is_empty(fields):
                place = self._rows.place(number)
                raise StudyError(f"{place}: the item '{item_id}' is empty: it has nothing but its id")
            yield Item(item_id, fields)

    def _id(self, number: int, fields: Row) -> str:
        value = fields.get(self.id_column)
        if value.__class__ is str and value and not value.isspace():
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        problem = "is no text" if value and not isinstance(value, str) else "is empty"
        if self.id_column not in fields:
            near = nearest_column(self.id_column, fields.keys())
            problem = f"is missing; {columns_text(fields.keys())}{near}"
        raise StudyError(f"{self._rows.place(number)}: the id, column '{self.id_column}', {problem}")

    def _refuse_missing(self, number: int, fields: Row) -> None:
        for need in self._needs:
            if problem := need.missing(fields.keys()):
                asker = f"stage '{need.stage}': " if need.stage else ""
                raise StudyError(f"{self._rows.place(number)}: {asker}{problem}")

    def _refuse_duplicates(self, marks: Collection[int]) -> None:
        """Two ids may leave the same mark: only a second look at the rows that left such can tell."""
        seen: dict[str, int] = {}
        for number, fields in self._rows:
            item_id = self._id(number, fields)
            if hash(item_id) not in marks:
                continue
            earlier = seen.setdefault(item_id, number)
            if earlier != number:
                again = f"the id '{item_id}', column '{self.id_column}', was used before, at"
                where = f"{self._rows.place(number)}: {again} {self._rows.place(earlier)}"
                raise StudyError(f"{where}; ids must be unique")

    def _is_empty(self, fields: Row) -> bool:
        own = self.id_column
        return len(fields) > 1 and all(column == own or is_blank(value) for column, value in fields.items())


def repeated(marks: "array[int]") -> frozenset[int]:
    """The hashes that came more than once. All are looked at together: a look at each as it comes takes longer."""
    if _distinct(marks) == len(marks):
        return frozenset()
    return frozenset(mark for mark, count in Counter(marks).items() if count > 1)


def _distinct(marks: "array[int]") -> int:
    if len(marks) <= _IN_A_SET:
        return len(set(marks))
    import polars as pl  # noqa: PLC0415 - a third of a second that only who has many items waits for

    return pl.Series(marks).n_unique()


def check_items(items: Any, origin: Origin) -> None:
    """Whether this can be a table at all; files are looked at later."""
    if isinstance(items, str | Path) or frame_kind(items):
        return
    wanted = "a file, a folder of .txt, a polars or pandas frame, or a list of mappings"
    raise origin.error(("items",), f"wanted {wanted}, found {type(items).__name__}")


def open_items(
    items: Any,
    id_column: str | None,
    origin: Origin,
    needs: Sequence[Need] = (),
    rows: Rows | None = None,
    on_empty: OnEmpty = "refuse",
) -> ItemSource:
    """A file's header is read here; its rows are not. `rows`: the table is open already."""
    rows = open_rows(items, origin) if rows is None else rows
    if isinstance(rows, TextLines | TextFolder) and id_column is not None:
        raise origin.error(("id",), f"{rows.name} has no columns to choose the id from; leave `id` out")
    return ItemSource(rows, _chosen_id(rows, id_column, origin), needs, on_empty)


def open_rows(table: Any, origin: Origin, route: Route = ("items",)) -> Rows:
    """The rows of a file, a folder or a frame that the study names at this place."""
    if isinstance(table, str | Path):
        return _file_rows(table, origin, route)
    kind = frame_kind(table)
    if kind is None:
        wanted = "a file, a folder of .txt, a polars or pandas frame, or a list of mappings"
        raise origin.error(route, f"wanted {wanted}, found {type(table).__name__}")
    return kind(table, origin, route)


def _file_rows(written: str | Path, origin: Origin, route: Route) -> Rows:
    path = origin.path(written, route)
    if path.is_dir():
        folder = TextFolder(path)
        for file in folder.links:
            origin.path(file.absolute(), route)
        return folder
    if not path.exists():
        raise origin.error(route, f"{path}: no such file or folder")
    match path.suffix.lower():
        case ".csv":
            return DelimitedRows(path, ",")
        case ".tsv":
            return DelimitedRows(path, "\t")
        case ".jsonl":
            return JsonLines(path)
        case ".parquet":
            return ParquetRows(path)
        case ".txt":
            return TextLines(path)
        case kind if kind in SPREADSHEETS:
            return SpreadsheetRows(path)
        case other:
            near = nearest(other, _FILE_KINDS)
            kinds = f"{', '.join(_FILE_KINDS)}, or a folder of .txt"
            raise origin.error(route, f"{path}: wanted a file that ends in {kinds}{near}")


def _chosen_id(rows: Rows, written: str | None, origin: Origin) -> str:
    columns = rows.columns if rows.columns is not None else _first_fields(rows)
    if not columns:
        raise StudyError(f"{rows.name}: there are no items")
    if written is None:
        return next((name for name in ("ID", "id") if name in columns), columns[0])
    if written not in columns:
        near = nearest_column(written, columns)
        raise origin.error(("id",), f"{rows.name} has no column '{written}'; {columns_text(columns)}{near}")
    return written


def _first_fields(rows: Rows) -> tuple[str, ...]:
    for number, fields in rows:
        if not fields:
            raise StudyError(f"{rows.place(number)}: the item has no fields")
        return tuple(fields)
    raise StudyError(f"{rows.name}: there are no items")
