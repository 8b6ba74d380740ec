"""One SQLite file: how it is opened and founded, and what keeps its connection to itself."""

import contextlib
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from overnight.core.errors import LedgerError
from overnight.core.opening import make_private, refuse_strange, sync_directory
from overnight.core.surroundings import disk_trouble
from overnight.ledger.bulk_insert import BulkInsert
from overnight.ledger.database import Database, Row, Values
from overnight.ledger.schema import is_older, migrate, version
from overnight.ledger.sqlite_damage import damages_of_columns, damages_of_pages
from overnight.ledger.trouble import ledger_trouble


class Records:
    """Some of a ledger's tables behind verbs. Nobody outside sees the connection."""

    def __init__(self, db: Database) -> None:
        self._db = db


class SqliteDatabase(sqlite3.Connection):
    """SQLite's own connection, with what the ledger wants of a database beside it."""

    error: type[Exception] = sqlite3.Error
    conflict: type[Exception] = sqlite3.IntegrityError
    run_number: int | None = None
    together: int = 500

    def execute_among(self, sql: str, among: list[object], before: Sequence[object] = ()) -> sqlite3.Cursor:
        return self.execute(sql.format(",".join("?" * len(among))), (*before, *among))

    def each(self, sql: str, values: Values = ()) -> Iterator[Row]:
        return self.execute(sql, values)

    def bulk(self, into: str, width: int, *, same: Sequence[object] = (), or_ignore: bool = False) -> BulkInsert:
        return BulkInsert(self, into, width, same=same, or_ignore=or_ignore)

    def go_on_counting(self, table: str) -> None:
        """SQLite looks at the highest number by itself."""

    def begin(self) -> None:
        self.execute("BEGIN IMMEDIATE")
        self.execute("SAVEPOINT fact")

    def next_fact(self) -> None:
        self.execute("RELEASE fact")
        self.execute("SAVEPOINT fact")

    def take_back(self) -> None:
        self.execute("ROLLBACK TO fact")

    def commit(self) -> None:
        self.execute("COMMIT")

    def roll_back(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")

    def begin_reading(self) -> None:
        self.execute("BEGIN")

    def give_back(self) -> None:
        self.execute("PRAGMA shrink_memory")

    def torn_pages(self) -> Iterator[str]:
        return damages_of_pages(self)

    def damaged_columns(self) -> Iterator[str]:
        return damages_of_columns(self)


class SqliteFile:
    """A ledger in a file of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def where(self) -> str:
        return str(self._path)

    @property
    def way_back(self) -> str:
        return "Put the newest ledger.db back from a backup (with its ledger.db-wal, where there is one)"

    def missing(self) -> str | None:
        try:
            return "is empty" if self._path.stat().st_size == 0 else None
        except FileNotFoundError:
            return "is gone"
        except OSError as error:
            raise disk_trouble(self._path, error, "cannot read") from error

    def remove(self) -> None:
        try:
            _remove(self._path)
        except OSError as error:
            raise disk_trouble(self._path, error) from error

    def writer(self) -> SqliteDatabase:
        if self.missing():
            found(self._path)
        db = connect(self._path)
        with contextlib.ExitStack() as stack:
            stack.callback(db.close)
            migrate(db, self._path)
            stack.pop_all()
        return db

    def reader(self) -> SqliteDatabase:
        return up_to_date(connect(self._path, read_only=True), self._path)

    def readers(self) -> int | None:
        return None

    def trouble(self, error: Exception) -> LedgerError | None:
        return ledger_trouble(self._path, error) if isinstance(error, sqlite3.Error) else None

    def refuse_replaced(self) -> None:
        """Its lock is the kernel's, which takes it from nobody who lives."""

    def refuse_strange(self) -> None:
        """Nothing in a run is a pipe, a socket or a device."""
        run = self._path.parent
        for path in (*run.glob("*"), *run.glob("*/*")):
            with contextlib.suppress(OSError):
                mode = path.stat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    raise LedgerError(f"{path}: this is no file; bring it back from a copy of the run")

    def to_diagnose(self) -> SqliteDatabase:
        check_file(self._path)
        return sqlite3.connect(f"{self._path.resolve().as_uri()}?mode=ro", uri=True, factory=SqliteDatabase)


def check_file(path: Path) -> None:
    """A ledger is a file: SQLite would wait for ever at a pipe."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise LedgerError(f"{path}: this is no file; bring ledger.db back from a copy of the run")


def connect(path: Path, *, read_only: bool = False) -> SqliteDatabase:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        refuse_strange(path.with_name(name))
    check_file(path)
    with contextlib.ExitStack() as stack:
        try:
            mode = "ro" if read_only else "rwc"
            db = sqlite3.connect(
                f"file:{_quoted(path)}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=30,
                factory=SqliteDatabase,
            )
            stack.callback(db.close)
            if not read_only:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=FULL")
                # 8 MB: the ledger is written in order, so that a larger cache is only memory.
                db.execute("PRAGMA cache_size=-8192")
            version(db, path)
        except sqlite3.Error as error:
            raise ledger_trouble(path, error) from error
        stack.pop_all()
    return db


def up_to_date(db: SqliteDatabase, path: Path) -> SqliteDatabase:
    """The same to be read: a ledger of an older version is copied into memory and brought up to date there."""
    if not is_older(db, path):
        return db
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=SqliteDatabase)
    with contextlib.ExitStack() as stack:
        stack.callback(copy.close)
        db.backup(copy)
        migrate(copy, path)
        copy.execute("PRAGMA query_only=ON")
        stack.pop_all()
    db.close()
    return copy


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def found(path: Path) -> None:
    """A ledger appears under its name with its tables in it, or not at all: a run that is there can be read."""
    part = path.with_name(path.name + ".part")
    try:
        _remove(part)
        make_private(part)
        db = connect(part)
        try:
            migrate(db, path)
        finally:
            db.close()
        part.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise disk_trouble(path, error) from error
    except sqlite3.Error as error:
        raise ledger_trouble(part, error) from error
    finally:
        with contextlib.suppress(OSError):
            _remove(part)


def _remove(part: Path) -> None:
    """What was begun, and what SQLite had beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        part.with_name(part.name + ending).unlink(missing_ok=True)
