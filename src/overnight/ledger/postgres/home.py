"""A run's ledger in a schema of its own, under the lease of who works on it."""

from __future__ import annotations

from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import LeaseLost, LedgerError, LedgerTooNew, OutOfReach
from overnight.ledger.postgres.address import Address, connect, driver, refused, told
from overnight.ledger.postgres.dialect import SHARED
from overnight.ledger.postgres.registry import LEASE_LOST, drop_run, has_table, is_founded, looking, run_named
from overnight.ledger.postgres.tables import VERSION, statements
from overnight.ledger.postgres.upgrade import bring_up_to_date, up_to_date_copy

if TYPE_CHECKING:
    from overnight.ledger.database import Database
    from overnight.ledger.postgres.connection import PostgresDatabase
    from overnight.ledger.postgres.lease import Lease
    from overnight.ledger.postgres.registry import KnownRun

# Threads that read share these connections: a server has not many.
_READERS = 2


class PostgresHome:
    """Where one run's ledger is kept. Only who holds the run's lease may write."""

    def __init__(self, address: Address, name: str, lease: Lease | None = None) -> None:
        self._address = address
        self._name = name
        self._lease = lease

    @property
    def where(self) -> str:
        return f"{self._address.shown} (run '{self._name}')"

    @property
    def way_back(self) -> str:
        return "Put the database back from a newer backup"

    def missing(self) -> str | None:
        with told(self._address):
            db = looking(self._address)
            run = self._run(db)
            return None if run is not None and self._has_tables(db, run) else "is gone"

    def _run(self, db: PostgresDatabase) -> KnownRun | None:
        return run_named(db, self._name) if is_founded(db, self._address) else None

    def _has_tables(self, db: PostgresDatabase, run: KnownRun) -> bool:
        return has_table(db, run.schema, "fact")

    def remove(self) -> None:
        if self._lease is not None:
            with told(self._address), closing(connect(self._address)) as db:
                drop_run(db, self._lease.run, self._lease.epoch, whole=False)

    def writer(self) -> PostgresDatabase:
        if self._lease is None:
            raise LedgerError(f"{self.where}: nobody writes who does not hold the run")
        lease = self._lease
        run, fence = lease.run, _Fence(self._address, lease)
        db = connect(
            self._address, schema=run.schema, name=lease.connection_name, begin=lease.begin, finish=fence.finish
        )
        with ExitStack() as stack:
            stack.callback(db.close)
            if not self._has_tables(db, run):
                self._found(db, run)
            found = self._version(db, run)
            if found < VERSION:
                bring_up_to_date(db, run.number, found)
            stack.pop_all()
        db.run_number = run.number
        return db

    def _found(self, db: PostgresDatabase, run: KnownRun) -> None:
        """Its tables are there whole, or not at all."""
        db.begin()
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {run.schema}")
        for statement in statements():
            db.execute(statement)
        db.execute(f"UPDATE {SHARED}.run SET version=? WHERE number=?", (VERSION, run.number))
        db.commit()

    def _version(self, db: PostgresDatabase, run: KnownRun) -> int:
        """Of the run's tables; one that is newer than ours is refused."""
        (found,) = db.execute(f"SELECT version FROM {SHARED}.run WHERE number=?", (run.number,)).fetchone() or (0,)
        if found > VERSION:
            raise LedgerTooNew(
                f"{self.where}: the ledger has version {found}, written by a newer Overnight; this one reads up to "
                f"{VERSION}. Update Overnight, or go on with the version that made it"
            )
        return int(found)

    def reader(self) -> Database:
        """One of an older version is read from a copy, and left as it is."""
        db = looking(self._address)
        run = self._run(db)
        if run is None or not self._has_tables(db, run):
            raise LedgerError(f"{self.where}: there is no such run")
        found = self._version(db, run)
        own = connect(self._address, schema=run.schema, read_only=True)
        if found == VERSION:
            return own
        with closing(own):
            return up_to_date_copy(own, found)

    def readers(self) -> int | None:
        return _READERS

    def trouble(self, error: Exception) -> LedgerError | None:
        psycopg = driver()
        if isinstance(error, (OutOfReach, LeaseLost)):
            return error  # a connection could not be made anew, or finds that the run is another's
        if not isinstance(error, psycopg.Error):
            return None
        if error.sqlstate == LEASE_LOST or (error.sqlstate == _ENDED and self._is_replaced()):
            return self._lost()
        return refused(self.where, error)

    def _lost(self) -> LeaseLost:
        return LeaseLost(
            f"{self.where}: another process has taken this run over, while this one was not heard of; "
            "nothing more is written or sent from here"
        )

    def _is_replaced(self) -> bool:
        """Who takes a run over ends what the one before has left open on the server."""
        if self._lease is None:
            return False
        with suppress(LedgerError, driver().Error), closing(connect(self._address)) as db:
            query = f"SELECT epoch FROM {SHARED}.run WHERE number=?"
            (epoch,) = db.execute(query, (self._lease.run.number,)).fetchone() or (None,)
            return bool(epoch != self._lease.epoch)
        return False

    def refuse_replaced(self) -> None:
        if self._lease is not None and self._lease.replaced:
            raise self._lost()

    def refuse_strange(self) -> None:
        """Nothing in a database can be waited for for ever."""

    def to_diagnose(self) -> Database:
        return self.reader()


# Somebody has ended the connection.
_ENDED = "57P01"


class _Fence:
    """The end of every transaction: it lands under the holder's epoch, or not at all, and who asked gets to know."""

    def __init__(self, address: Address, lease: Lease) -> None:
        self._address = address
        self._lease = lease

    def finish(self, db: PostgresDatabase) -> None:
        lease = self._lease
        # A number of its own also after one of which nobody could be asked: it may have landed.
        lease.commits += 1
        nth = lease.commits
        fence = f"SELECT {SHARED}.fence({lease.run.number}, {lease.epoch}, {nth})"
        try:
            # One turn. The fence is last, so that no transaction outlives its epoch.
            db.connection.execute(f"RELEASE fact; {fence}; COMMIT")
            checkpoint("answer of commit")
        except db.error:
            if not db.connection.closed or not self._has_landed(db, nth):
                raise

    def _has_landed(self, db: PostgresDatabase, nth: int) -> bool:
        """After a connection that broke before the answer came: asked anew, and gone on with where it has."""
        new = connect(self._address, schema=self._lease.run.schema, name=self._lease.connection_name)
        with ExitStack() as stack:
            stack.callback(new.close)
            # Where the old connection's server still works on it, its row is waited for.
            row = new.execute(
                f"SELECT commits FROM {SHARED}.run WHERE number=? AND epoch=? FOR UPDATE",
                (self._lease.run.number, self._lease.epoch),
            ).fetchone()
            if row is None or row[0] != nth:
                return False
            stack.pop_all()
        db.connection = new.connection
        return True
