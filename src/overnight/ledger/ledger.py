"""A run's ledger: verbs and transactions over a database that nobody else sees.

One thread writes. Everything handed in while a commit runs shares the next one.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import LedgerError
from overnight.ledger.checks import diagnosed
from overnight.ledger.connection import SqliteFile
from overnight.ledger.database import Database, Home
from overnight.ledger.homes import home_of
from overnight.ledger.traces import no_ledger, refuse_blank
from overnight.ledger.transaction import Transaction, View
from overnight.ledger.trouble import damaged
from overnight.store.run_folder import RunFolder

T = TypeVar("T")
Work = tuple[str, Callable[[Transaction], Any], "Future[Any]"]


@contextmanager
def open_ledger(folder: RunFolder) -> Iterator["Ledger"]:
    """For the one process that works on the run. Whatever is wrong with the ledger is said with its place."""
    home = home_of(folder)
    ledger = Ledger(home)
    try:
        with _told(home):
            yield ledger
    finally:
        ledger.close()


@contextmanager
def look_at(folder: RunFolder) -> Iterator[View]:
    """Read from outside: beside a process that works on the run, and without touching it.

    LedgerLost when the ledger was there and is no longer.
    """
    home = home_of(folder)
    with diagnosed(home):
        no_ledger(folder)
        with _told(home):
            db = home.reader()
            try:
                view = View(db)
                refuse_blank(folder, view.facts)
                yield view
            finally:
                db.close()


@contextmanager
def look_at_moved(folder: RunFolder) -> Iterator[View]:
    """The same for a run that is being brought elsewhere, and is closed to all others."""
    home = home_of(folder)
    with diagnosed(home), _told(home):
        db = home.reader()
        try:
            yield View(db)
        finally:
            db.close()


@contextmanager
def _told(home: Home) -> Iterator[None]:
    try:
        yield
    except msgspec.MsgspecError as error:
        raise damaged(home.where, error) from error
    except Exception as error:
        trouble = home.trouble(error)
        if trouble is None:
            raise
        raise trouble from error


class Ledger:
    """Durable writes through `commit` and `write`; reads through `view`, each thread its own."""

    def __init__(self, place: Path | Home) -> None:
        """`place` is where it is kept; a path is SQLite's file."""
        self._home = home = SqliteFile(place) if isinstance(place, Path) else place
        self._views = threading.local()
        self._readers: list[Database] = []
        self._shared_views: list[View] = []
        self._opening_reader = threading.Lock()
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        # Set once nothing more is written; held while something is handed in, so that nobody waits for a thread
        # that has gone.
        self._over: LedgerError | None = None
        self._handing_in = threading.Lock()
        try:
            self._db = home.writer()
        except Exception as error:
            trouble = home.trouble(error)
            if trouble is None:
                raise
            raise trouble from error
        self._transaction = Transaction(self._db)
        self._thread = threading.Thread(target=self._drain, name="ledger-writer", daemon=True)
        self._thread.start()

    @property
    def where(self) -> str:
        """How people find it."""
        return self._home.where

    def write(self, name: str, fact: Callable[[Transaction], T]) -> "Future[T]":
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

    def refuse_replaced(self) -> None:
        """LeaseLost once it is known that another process holds the run: who only waits would not hear of it."""
        self._home.refuse_replaced()

    async def commit(self, name: str, fact: Callable[[Transaction], T]) -> T:
        return await asyncio.wrap_future(self.write(name, fact))

    def view(self) -> View:
        """What is on record by now, for the thread that asks."""
        view: View | None = getattr(self._views, "view", None)
        if view is None:
            view = self._views.view = self._new_view()
        return view

    def _new_view(self) -> View:
        most = self._home.readers()
        with self._opening_reader:
            if most is not None and len(self._readers) >= most:
                self._shared_views.append(self._shared_views.pop(0))  # in turn
                return self._shared_views[0]
            db = self._home.reader()
            self._readers.append(db)
            view = View(db)
            self._shared_views.append(view)
            return view

    async def read(self, look: Callable[[View], T]) -> T:
        """The same in a worker thread."""
        return await asyncio.to_thread(lambda: look(self.view()))

    def give_back(self) -> None:
        """What its connections remember of it goes back, while nobody else reads or writes: it only makes them faster.

        Those of threads that have ended are open until the ledger is closed.
        """
        self.write("rest", lambda tx: tx.give_back()).result()
        for reader in self._readers:
            reader.give_back()

    def close(self) -> None:
        self._end(LedgerError(f"{self.where}: the ledger is closed"))
        self._thread.join()
        for reader in self._readers:
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
        trouble = LedgerError(f"{self.where}: the ledger's writer has ended: {type(error).__name__}: {error}")
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
            self._db.begin()
            for _, fact, done in together:
                outcomes.append((done, *self._attempted(fact)))
            checkpoint(f"commit {names}")
            self._db.commit()
        except _TransactionLost as lost:
            self._db.roll_back()
            outcomes = [(done, None, lost.trouble) for _, _, done in together]
        except Exception as error:
            trouble = self._home.trouble(error)
            if trouble is None:
                raise
            self._db.roll_back()
            outcomes = [(done, None, trouble) for _, _, done in together]
        else:
            checkpoint(f"committed {names}")
        for done, value, problem in outcomes:
            if problem is None:
                done.set_result(value)
            else:
                done.set_exception(problem)

    def _attempted(self, fact: Callable[[Transaction], Any]) -> tuple[Any, BaseException | None]:
        """One fact that fails takes back its own rows and nobody else's."""
        try:
            value = fact(self._transaction)
        except Exception as error:  # the worker's edge: whoever waits gets it
            trouble = self._told_as(error)
            if not self._db.in_transaction:
                # The database gave up the whole transaction (disk full, connection lost): so must we
                raise _TransactionLost(trouble) from error
            self._db.take_back()
            return None, trouble
        self._db.next_fact()
        return value, None

    def _told_as(self, error: Exception) -> Exception:
        """In words where the database or its disk is to blame, and not what was to be written."""
        trouble = None if isinstance(error, self._db.conflict) else self._home.trouble(error)
        return error if trouble is None else trouble


class _TransactionLost(Exception):
    """The database took back everything, not only the fact at hand."""

    def __init__(self, trouble: Exception) -> None:
        super().__init__(str(trouble))
        self.trouble = trouble
