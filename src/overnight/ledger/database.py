"""One SQLite file, one writer thread. Everything handed in while a commit runs shares the next one."""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import LedgerError
from overnight.core.opening import make_private, refuse_strange, sync_directory
from overnight.core.surroundings import disk_trouble, ledger_trouble
from overnight.ledger.diagnosis import check_file
from overnight.ledger.schema import migrate, version

T = TypeVar("T")
Work = tuple[str, Callable[[sqlite3.Connection], Any], "Future[Any]"]


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
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
            )
            stack.callback(db.close)
            if not read_only:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=FULL")
                # 16 MB: the ledger is written in order, so that a larger cache is only memory.
                db.execute("PRAGMA cache_size=-16384")
            version(db, str(path))
        except sqlite3.Error as error:
            raise ledger_trouble(path, error) from error
        stack.pop_all()
    return db


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _found(path: Path) -> None:
    """A ledger appears under its name with its tables in it, or not at all: a run that is there can be read."""
    part = path.with_name(path.name + ".part")
    try:
        _remove(part)
        make_private(part)
        db = connect(part)
        try:
            migrate(db, str(path))
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


class Database:
    """Durable writes through `write`; reads through `reader`, each thread its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._readers = threading.local()
        self._open_readers: list[sqlite3.Connection] = []
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        # Set once nothing more is written; held while something is handed in, so that nobody waits for a thread
        # that has gone.
        self._over: LedgerError | None = None
        self._handing_in = threading.Lock()
        if not path.exists() or path.stat().st_size == 0:
            _found(path)
        self._db = connect(path)
        try:
            migrate(self._db, str(path))
        except sqlite3.Error as error:
            self._db.close()
            raise ledger_trouble(path, error) from error
        except BaseException:
            self._db.close()
            raise
        self._thread = threading.Thread(target=self._drain, name="ledger-writer", daemon=True)
        self._thread.start()

    def write(self, name: str, fact: Callable[[sqlite3.Connection], T]) -> "Future[T]":
        """Run `fact` inside the next transaction; the future is done once it is on disk.

        One that is cancelled before its turn is not run; later than that, it is too late to cancel it.
        """
        done: Future[T] = Future()
        with self._handing_in:
            if self._over is not None:
                done.set_exception(self._over)
            else:
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
        self._end(LedgerError(f"{self.path}: the ledger is closed"))
        self._thread.join()
        for reader in self._open_readers:
            reader.close()
        self._db.close()

    def _end(self, why: LedgerError) -> None:
        with self._handing_in:
            self._over = self._over or why
            self._work.put(None)

    def _drain(self) -> None:
        together: list[Work] = []
        try:
            while (first := self._work.get()) is not None:
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
        except BaseException as error:  # noqa: BLE001 - the worker's edge: nobody may wait for a thread that has gone
            self._give_up(together, error)

    def _give_up(self, together: list[Work], error: BaseException) -> None:
        """Whatever it was: all who wait are told, and so are all who come later."""
        trouble = LedgerError(f"{self.path}: the ledger's writer has ended: {type(error).__name__}: {error}")
        trouble.__cause__ = error
        self._end(trouble)
        while (more := self._work.get()) is not None:
            together.append(more)
        for _, _, done in together:
            if not done.done():
                done.set_exception(trouble)

    def _transact(self, together: list[Work]) -> None:
        outcomes: list[tuple[Future[Any], Any, BaseException | None]] = []
        # From here on they cannot be cancelled any more: what is on disk is also told.
        together = [work for work in together if work[2].set_running_or_notify_cancel()]
        names = ", ".join(name for name, _, _ in together)
        if not together:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for _, fact, done in together:
                outcomes.append((done, *self._attempted(fact)))
            checkpoint(f"commit {names}")
            self._db.execute("COMMIT")
        except _TransactionLost as lost:
            outcomes = [(done, None, lost.trouble) for _, _, done in together]
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            trouble = ledger_trouble(self.path, error)
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
            trouble = ledger_trouble(self.path, error) if _of_the_file(error) else error
            if not self._db.in_transaction:
                # SQLite gave up the whole transaction (disk full): so must we
                raise _TransactionLost(trouble) from error
            self._db.execute("ROLLBACK TO fact")
            self._db.execute("RELEASE fact")
            return None, trouble
        self._db.execute("RELEASE fact")
        return value, None


def _of_the_file(error: Exception) -> TypeGuard[sqlite3.Error]:
    """Whether the file or the disk is to blame, and not what was to be written."""
    return type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError)


class _TransactionLost(Exception):
    """SQLite took back everything, not only the fact at hand."""

    def __init__(self, trouble: Exception) -> None:
        super().__init__(str(trouble))
        self.trouble = trouble
