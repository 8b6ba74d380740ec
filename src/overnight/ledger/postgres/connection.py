"""A connection to PostgreSQL with what the ledger wants of a database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, cast

from overnight.ledger.database import WaitingRows
from overnight.ledger.postgres.dialect import bound, translated
from overnight.ledger.sqlite_damage import LAST_TIME, is_time, tables_of_today

if TYPE_CHECKING:
    import psycopg

    from overnight.ledger.database import Row, Values

T = TypeVar("T")
# Rows of a large answer that are fetched at once.
_AT_ONCE = 5_000
# Rows that wait for each other before they are copied.
_WAITING = 5_000
# As many go in by one statement: a copy costs more turns.
_FEW = 300
# Values that are looked for in one statement: each is a turn, and the database may be far away.
_TOGETHER = 5_000
# A table is measured when it has got so many rows, and each time it has doubled: the planner knows nothing of rows that
# came at once.
_WORTH_MEASURING = 1_000
# A table from which so many rows were taken at once is cleaned up: what they leave behind is read each time that
# somebody looks at all of it, and while that goes on, the server itself does not give it back.
_WORTH_CLEANING = 50_000


class PostgresDatabase:
    """One connection, which is made anew where it broke and nothing is lost with it.

    `finish` is what a transaction ends with, in one turn: it may refuse.
    """

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[Row]],
        kinds: tuple[type[Exception], type[Exception]],
        finish: Callable[[PostgresDatabase], None] | None = None,
    ) -> None:
        self._connect = connect
        # Of the run that is written to by this connection.
        self.run_number: int | None = None
        self.connection = connect()
        self.error, self.conflict = kinds
        self.together = _TOGETHER
        self._finish = finish
        # Whether this side has begun a transaction: what the server says is also of others who ask at the same time.
        self._in_block = False
        self._mending = threading.Lock()
        self._cursors = count()
        self._grown: dict[str, int] = {}
        self._measured: dict[str, int] = {}
        self._waiting_tables: set[str] = set()
        self._emptied: set[str] = set()

    @property
    def in_transaction(self) -> bool:
        connection = self.connection
        # 0: idle, 4: the connection is gone
        return not connection.closed and connection.info.transaction_status not in (0, 4)

    def execute(self, sql: str, values: Values = ()) -> psycopg.Cursor[Row]:
        statement = translated(sql)
        given = bound(statement, values) if values else None
        text = statement.text if given else statement.text.replace("%%", "%")
        answer = self._patiently(lambda: self.connection.execute(cast("Any", text), given))
        if statement.into is not None:
            self._count(statement.into, answer.rowcount)
        if statement.out_of is not None and answer.rowcount >= _WORTH_CLEANING:
            self._emptied.add(statement.out_of)
        return answer

    def execute_among(self, sql: str, among: list[object], before: Sequence[object] = ()) -> psycopg.Cursor[Row]:
        """As one value, so that there is one statement for however many."""
        return self.execute(sql.replace("IN ({})", "= ANY(?)"), (*before, among))

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Once more by a new connection, where the old one broke outside a transaction."""
        try:
            return ask()
        except self.error:
            if self._in_block or not self.connection.closed:
                raise
        with self._mending:  # several threads may read by one connection
            if self.connection.closed:
                self.connection = self._connect()
        return ask()

    def executemany(self, sql: str, values: Iterable[Values]) -> psycopg.Cursor[Row]:
        statement = translated(sql)
        cursor = self.connection.cursor()
        cursor.executemany(cast("Any", statement.text), (bound(statement, each) for each in values))
        if statement.into is not None:
            self._count(statement.into, cursor.rowcount)
        return cursor

    def each(self, sql: str, values: Values = ()) -> Iterator[Row]:
        statement = translated(sql)
        # Outside a transaction, the server keeps what was found until it is fetched.
        given = bound(statement, values) if values else None
        text = statement.text if given else statement.text.replace("%%", "%")

        def asked() -> psycopg.ServerCursor[Row]:
            cursor = self.connection.cursor(f"each_{next(self._cursors)}", withhold=not self._in_block)
            cursor.itersize = _AT_ONCE
            return cursor.execute(cast("Any", text), given)

        with self._patiently(asked) as cursor:
            yield from cursor

    def bulk(self, into: str, width: int, *, same: Sequence[object] = (), or_ignore: bool = False) -> PostgresBulk:
        return PostgresBulk(self, into, width, same=same, or_ignore=or_ignore)

    def go_on_counting(self, table: str) -> None:
        if any(column.name == "id" and column.key for column in tables_of_today()[table]):
            highest = f"(SELECT coalesce(max(id), 0) + 1 FROM {table})"
            self.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {highest}, false)")

    def give_back(self) -> None:
        """What it has is the server's."""

    def begin(self) -> None:
        self._waiting_tables.clear()
        self._patiently(lambda: self.connection.execute("BEGIN; SAVEPOINT fact"))
        self._in_block = True

    def next_fact(self) -> None:
        self.connection.execute("RELEASE fact; SAVEPOINT fact")

    def take_back(self) -> None:
        self._waiting_tables.clear()
        self.connection.execute("ROLLBACK TO fact")

    def commit(self) -> None:
        self.measure()
        if self._finish is None:
            self.connection.execute("COMMIT")
        else:
            self._finish(self)
        self._in_block = False
        self._clean_up()

    def _clean_up(self) -> None:
        """What was told is on disk by now, whatever comes of this."""
        emptied, self._emptied = sorted(self._emptied), set()
        if emptied:
            with suppress(self.error):
                self.connection.execute(cast("Any", f"VACUUM (SKIP_LOCKED) {', '.join(emptied)}"))

    def roll_back(self) -> None:
        self._in_block = False
        self._emptied.clear()
        if self.in_transaction:
            with suppress(self.error):  # a connection that breaks takes it back, too
                self.connection.execute("ROLLBACK")

    def begin_reading(self) -> None:
        self._patiently(lambda: self.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        self._in_block = True

    def torn_pages(self) -> Iterator[str]:
        """The server looks after its pages."""
        return iter(())

    def damaged_columns(self) -> Iterator[str]:
        rows = self.connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema=current_schema()"
        )
        there: dict[str, set[str]] = {}
        for table, column in rows:
            there.setdefault(table, set()).add(column)
        for table, columns in tables_of_today().items():
            if table not in there:
                yield f"the table {table} is missing"
                continue
            for column in columns:
                if column.name not in there[table]:
                    yield f"the column {table}.{column.name} is missing"
                elif is_time(column.name):
                    yield from self._strange_times(table, column.name)

    def _strange_times(self, table: str, column: str) -> Iterator[str]:
        found = self.execute(f"SELECT count(*) FROM {table} WHERE {column} NOT BETWEEN 0 AND {LAST_TIME}").fetchone()
        if found and found[0]:
            yield f"{table}.{column} is no time in {found[0]:,} {'row' if found[0] == 1 else 'rows'}"

    def close(self) -> None:
        self.connection.close()

    def copy(self, into: str, rows: Iterable[Iterable[object]]) -> None:
        with self.connection.cursor() as cursor, cursor.copy(cast("Any", f"COPY {into} FROM STDIN")) as copy:
            for row in rows:
                copy.write_row(cast("Any", row))

    def copied(self, table: str, rows: int) -> None:
        self._count(table, rows)

    def waiting_table(self, table: str) -> str:
        """An empty table beside that one, for rows of which some may be there already."""
        name = f"waiting_{table}"
        if table not in self._waiting_tables:
            self.connection.execute(
                cast("Any", f"CREATE TEMP TABLE IF NOT EXISTS {name} (LIKE {table}) ON COMMIT DELETE ROWS")
            )
            self._waiting_tables.add(table)
        return name

    def _count(self, table: str, rows: int) -> None:
        if rows > 0:
            self._grown[table] = self._grown.get(table, 0) + rows

    def measure(self) -> None:
        """So that what is asked next finds its way: also in the middle of a transaction.

        Only tables of this run: all of a database's would be more than a server has locks for.
        """
        due = [
            table
            for table, rows in self._grown.items()
            if rows >= _WORTH_MEASURING and rows >= 2 * self._measured.get(table, 0)
        ]
        if due:
            self.connection.execute(cast("Any", f"ANALYZE {', '.join(sorted(due))}"))
            self._measured |= {table: self._grown[table] for table in due}


class PostgresBulk(WaitingRows):
    """Rows for one table: a few in one statement, more of them by a copy."""

    def __init__(self, db: PostgresDatabase, into: str, width: int, *, same: Sequence[object], or_ignore: bool) -> None:
        super().__init__(width, same, _WAITING)
        self._db = db
        self._into = into
        self._table = into.partition("(")[0]
        self._or_ignore = or_ignore

    def flush(self) -> None:
        values, width, same = self._values, self._width, self._same
        self._values = []
        rows = (same + values[start : start + width] for start in range(0, len(values), width))
        number = len(values) // width
        if number:
            self.written += self._write(rows, number)
            self._db.measure()
        self.rows += number

    def _write(self, rows: Iterable[list[object]], number: int) -> int:
        db, into = self._db, self._into
        ending = " ON CONFLICT DO NOTHING" if self._or_ignore else ""
        if number <= _FEW:
            marks = ",".join([f"({','.join(['?'] * (len(self._same) + self._width))})"] * number)
            answer = db.execute(f"INSERT INTO {into} VALUES {marks}{ending}", [value for row in rows for value in row])
            return answer.rowcount
        if not self._or_ignore:
            db.copy(into, rows)
            db.copied(self._table, number)
            return number
        waiting = db.waiting_table(self._table)
        db.copy(into.replace(self._table, waiting, 1), rows)
        written = db.execute(f"INSERT INTO {self._table} SELECT * FROM {waiting}{ending}").rowcount
        db.execute(f"DELETE FROM {waiting}")
        return written
