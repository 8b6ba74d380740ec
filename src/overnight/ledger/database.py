"""One SQLite file, one writer thread. Everything handed in while a commit runs shares the next one."""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import LedgerError
from overnight.ledger.folder import sync_directory
from overnight.ledger.schema import migrate, version

T = TypeVar("T")
Work = tuple[str, Callable[[sqlite3.Connection], Any], "Future[Any]"]


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    try:
        mode = "ro" if read_only else "rwc"
        db = sqlite3.connect(
            f"file:{_quoted(path)}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=30,
        )
        if not read_only:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            # 16 MB: the ledger is written in order, so that a larger cache is only memory.
            db.execute("PRAGMA cache_size=-16384")
        with contextlib.ExitStack() as stack:
            stack.callback(db.close)
            version(db, str(path))
            stack.pop_all()
    except sqlite3.Error as error:
        message = f"{path}: cannot open the ledger: {error}"
        raise LedgerError(message) from error
    return db


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _found(path: Path) -> None:
    """A ledger appears under its name with its tables in it, or not at all: a run that is there can be read."""
    part = path.with_name(path.name + ".part")
    for leftover in path.parent.glob(part.name + "*"):
        leftover.unlink()
    db = connect(part)
    try:
        migrate(db, str(path))
    finally:
        db.close()
    part.replace(path)
    sync_directory(path.parent)


class Database:
    """Durable writes through `write`; reads through `reader`, each thread its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._readers = threading.local()
        self._open_readers: list[sqlite3.Connection] = []
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        if not path.exists():
            _found(path)
        self._db = connect(path)
        try:
            migrate(self._db, str(path))
        except BaseException:
            self._db.close()
            raise
        self._thread = threading.Thread(target=self._drain, name="ledger-writer", daemon=True)
        self._thread.start()

    def write(self, name: str, fact: Callable[[sqlite3.Connection], T]) -> "Future[T]":
        """Run `fact` inside the next transaction; the future is done once it is on disk."""
        done: Future[T] = Future()
        self._work.put((name, fact, done))
        return done

    async def commit(self, name: str, fact: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.wrap_future(self.write(name, fact))

    def reader(self) -> sqlite3.Connection:
        db: sqlite3.Connection | None = getattr(self._readers, "db", None)
        if db is None:
            db = connect(self.path, read_only=True)
            self._readers.db = db
            self._open_readers.append(db)
        return db

    def close(self) -> None:
        self._work.put(None)
        self._thread.join()
        for reader in self._open_readers:
            reader.close()
        self._db.close()

    def _drain(self) -> None:
        while True:
            first = self._work.get()
            if first is None:
                return
            together, last = [first], False
            while not self._work.empty():
                more = self._work.get()
                if more is None:
                    last = True
                    break
                together.append(more)
            self._transact(together)
            if last:
                return

    def _transact(self, together: list[Work]) -> None:
        outcomes: list[tuple[Future[Any], Any, BaseException | None]] = []
        names = ", ".join(name for name, _, _ in together)
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for _, fact, done in together:
                outcomes.append((done, *self._attempted(fact)))
            checkpoint(f"commit {names}")
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            trouble = LedgerError(f"{self.path}: the ledger cannot be written: {error}; free some room and resume")
            outcomes = [(done, None, trouble) for _, _, done in together]
        else:
            checkpoint(f"committed {names}")
        for done, value, problem in outcomes:
            if problem is None:
                done.set_result(value)
            else:
                done.set_exception(problem)

    def _attempted(self, fact: Callable[[sqlite3.Connection], Any]) -> tuple[Any, BaseException | None]:
        """One fact that fails takes back its own rows and nobody else's."""
        self._db.execute("SAVEPOINT fact")
        try:
            value = fact(self._db)
        except Exception as error:  # the worker's edge: whoever waits gets it
            if not self._db.in_transaction:
                raise  # SQLite gave up the whole transaction (disk full): so must we
            self._db.execute("ROLLBACK TO fact")
            self._db.execute("RELEASE fact")
            return None, error
        self._db.execute("RELEASE fact")
        return value, None
