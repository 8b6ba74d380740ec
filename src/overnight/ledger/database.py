"""What the ledger wants of a database: one SQL text in the dialect that SQLite and PostgreSQL both understand.

Marks for values are SQLite's (`?`, `?1`, `:name`). Truth is spelled out (`live<>0`), sums are `CAST(total(x) AS
BIGINT)`, conflicts name their columns, and the least or most of two numbers are `min(a, b)` and `max(a, b)`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from overnight.core.errors import LedgerError

Values = Sequence[object] | Mapping[str, object]
Row = tuple[Any, ...]
# Rows whose columns wait for each other: the database then has the processor's cache to itself for a while.
_WAITING = 2_000


class Answer(Protocol):
    """What a statement gave. One that gives many rows is asked with `each`."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Bulk(Protocol):
    """Rows for one table, by the thousand: written when enough of them wait, and at `flush`."""

    # Handed in and flushed; and how many of these were not there before.
    rows: int
    written: int

    def add(self, values: Iterable[object]) -> None:
        """Whole rows, one after another."""
        ...

    def flush(self) -> None: ...


class WaitingRows(ABC):
    """Values of rows that wait for each other, those of the first row first."""

    def __init__(self, width: int, same: Sequence[object], waiting: int) -> None:
        """`waiting`: as many rows are written together."""
        self._width = width
        self._same = list(same)
        self._most = waiting * width
        self._values: list[object] = []
        self.rows = 0
        self.written = 0

    def add(self, values: Iterable[object]) -> None:
        self._values += values
        if len(self._values) >= self._most:
            self.flush()

    @abstractmethod
    def flush(self) -> None:
        """Write them."""


class Database(Protocol):
    """A connection. Errors of its own kind are told by the `trouble` of the place that it leads to."""

    # What it raises at all, and what where a row is there already.
    error: type[Exception]
    conflict: type[Exception]
    # Among the runs of a database that keeps several; None where a run is alone, or only read.
    run_number: int | None
    # Values that are looked for in one statement: more bring little.
    together: int

    @property
    def in_transaction(self) -> bool: ...
    def execute(self, sql: str, values: Values = (), /) -> Answer: ...
    def executemany(self, sql: str, values: Iterable[Values], /) -> Answer: ...

    def execute_among(self, sql: str, among: list[object], before: Sequence[object] = (), /) -> Answer:
        """One that looks for many values: `IN ({})` in it stands for the list of them, and comes last."""
        ...

    def each(self, sql: str, values: Values = (), /) -> Iterator[Row]:
        """The rows of a large answer, which is never whole in memory."""
        ...

    def bulk(self, into: str, width: int, *, same: Sequence[object] = (), or_ignore: bool = False) -> Bulk:
        """`into` is a table, with the names of its columns where their order is another or not all are given.

        The first columns have the `same` values in every row; `width` is how many others there are, which rows are
        added with. `or_ignore`: rows that are there already stay as they are.
        """
        ...

    def go_on_counting(self, table: str) -> None:
        """Rows were put there with the numbers that they have: new ones get higher numbers."""
        ...

    def begin(self) -> None:
        """A transaction that writes, with a first fact in it."""
        ...

    def next_fact(self) -> None:
        """The fact at hand is told; another one begins."""
        ...

    def take_back(self) -> None:
        """What the fact at hand has told is not so; whatever comes next is another one."""
        ...

    def commit(self) -> None: ...
    def roll_back(self) -> None: ...

    def begin_reading(self) -> None:
        """Until `roll_back`, everything is as it is now."""
        ...

    def give_back(self) -> None:
        """Memory that only makes it faster goes back."""
        ...

    def torn_pages(self) -> Iterator[str]:
        """Whether what is on disk can be trusted at all. Each in one line."""
        ...

    def damaged_columns(self) -> Iterator[str]:
        """The tables and their values held against those that this version would make. Each in one line."""
        ...

    def close(self) -> None: ...


class Home(Protocol):
    """Where a ledger is kept: how it is found, opened and told of."""

    @property
    def where(self) -> str:
        """How people find it; never with a password."""
        ...

    @property
    def way_back(self) -> str:
        """What brings a lost one back, in words."""
        ...

    def missing(self) -> str | None:
        """Why there is no ledger with something in it ("is gone"); None where there is one."""
        ...

    def remove(self) -> None:
        """Take the whole ledger away; only by who holds the run."""
        ...

    def writer(self) -> Database:
        """For the one process that works on the run: founded where there was none, and of today's version."""
        ...

    def reader(self) -> Database: ...

    def readers(self) -> int | None:
        """How many threads that read share a connection each; None: each thread has its own."""
        ...

    def trouble(self, error: Exception) -> LedgerError | None:
        """An error of the database in words; None for one that is none of the database's."""
        ...

    def refuse_replaced(self) -> None:
        """LeaseLost once it is known that another process holds the run."""
        ...

    def refuse_strange(self) -> None:
        """LedgerError where something is there that whoever opened it might wait for for ever."""
        ...

    def to_diagnose(self) -> Database:
        """A connection that takes whatever is there, of whatever version."""
        ...


def found_among(db: Database, query: str, values: Iterable[object], *before: object) -> Iterator[Row]:
    """Rows about many values by a few statements: `IN ({})` in the query stands for the list of them."""
    waiting = iter(values)
    while some := list(islice(waiting, db.together)):
        yield from db.execute_among(query, some, before)


def tell_about(db: Database, statement: str, values: Iterable[object]) -> None:
    """The same for a statement that changes rows."""
    waiting = iter(values)
    while some := list(islice(waiting, db.together)):
        db.execute_among(statement, some)


def bring_rows(old: Database, new: Database, table: str, columns: Sequence[str]) -> int:
    """All of a table, into an empty one of another database; how many there were."""
    names = ", ".join(f'"{column}"' for column in columns)
    rows = new.bulk(f"{table}({names})", len(columns))
    for row in old.each(f"SELECT {names} FROM {table}"):
        rows.add(row)
    rows.flush()
    new.go_on_counting(table)
    (found,) = new.execute(f"SELECT count(*) FROM {table}").fetchone()
    if found != rows.rows:
        raise LedgerError(f"{table}: {rows.rows:,} rows were brought, and {found:,} arrived; nothing was changed")
    return rows.rows


def put_columns(db: Database, table: str, same: Mapping[str, object], columns: Mapping[str, Sequence[object]]) -> None:
    """Rows by their columns, the first of which tells them apart, and what all of them have in common.

    Others that say the same of every row are handed over once: above all None, which sqlite3 binds most slowly of all.
    """
    first, *others = columns
    common = {name: values[0] for name in others if _is_same(values := columns[name])}
    names = [*same, *common, first, *(name for name in others if name not in common)]
    differing = [columns[name] for name in names if name in columns and name not in common]
    into = f"{table}({', '.join(names)})"
    bulk = db.bulk(into, len(differing), same=(*same.values(), *common.values()))
    bulk.add(in_rows(differing))
    bulk.flush()


def in_rows(columns: Sequence[Sequence[object]]) -> list[object]:
    """The values of columns, those of the first row first. A tuple for each row would cost five times as much."""
    width = len(columns)
    values: list[object] = [None] * (width * len(columns[0]))
    for place, column in enumerate(columns):
        values[place::width] = column
    return values


class WaitingColumns:
    """Rows for one table, by their columns: written by `put_columns` when enough of them wait, and at `flush`."""

    def __init__(self, db: Database, table: str, names: Sequence[str]) -> None:
        """The first column is one that tells rows apart."""
        self._db = db
        self._table = table
        self._columns: dict[str, list[object]] = {name: [] for name in names}
        # Handed in and flushed.
        self.rows = 0

    def add(self, *columns: Sequence[object]) -> None:
        """More of each column, in the order of their names."""
        for held, more in zip(self._columns.values(), columns, strict=True):
            held.extend(more)
        if len(held) >= _WAITING:
            self.flush()

    def flush(self) -> None:
        count = len(next(iter(self._columns.values())))
        if count:
            put_columns(self._db, self._table, {}, self._columns)
            self._columns = {name: [] for name in self._columns}
            self.rows += count


def _is_same(values: Sequence[object]) -> bool:
    return values[0] == values[-1] and values.count(values[0]) == len(values)
