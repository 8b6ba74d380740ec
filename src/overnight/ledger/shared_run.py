"""A run that a database keeps, with its files in a place that several machines reach.

What people open themselves, tables and report, is made in a local folder: `path`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from overnight.core.errors import FolderUnfit, LedgerError
from overnight.core.surroundings import words_of
from overnight.ledger.postgres.address import Address, connect, told
from overnight.ledger.postgres.dialect import SHARED
from overnight.ledger.postgres.held_store import HeldStore
from overnight.ledger.postgres.home import PostgresHome
from overnight.ledger.postgres.lease import Lease, is_held
from overnight.ledger.postgres.registry import (
    KnownRun,
    drop_run,
    found_database,
    is_founded,
    keep_run,
    looking,
    lost,
    run_named,
)
from overnight.store.bucket import store_at
from overnight.store.names import CANCELLED, FILES, PRICES, SENT
from overnight.store.run_folder import RunFolder, make_folder

REHEARSAL = ".rehearsal"


class SharedRun(RunFolder):
    """Where one run lives: a schema of a database, and a place for files."""

    def __init__(self, address: Address, name: str, local: Path, *, rehearsal: bool = False) -> None:
        super().__init__(local / name)
        self.address = address
        self.rehearsal = rehearsal
        # Rehearsals lie in a place of their own among the runs.
        self._known_as = f"{REHEARSAL}/{name}" if rehearsal else name
        place = f"{address.files.rstrip('/')}/{self._known_as}"
        self.files = HeldStore(store_at(place, folders=FILES), lambda: self._lease)
        self.marks = HeldStore(store_at(place, files=(SENT, CANCELLED)), lambda: self._lease)
        self._shared_prices = HeldStore(store_at(place, files=(PRICES,)), lambda: self._lease)
        self._lease: Lease | None = None

    @property
    def home(self) -> PostgresHome:
        return PostgresHome(self.address, self._known_as, self._lease)

    @property
    def where(self) -> str:
        return self.home.where

    @property
    def ledger(self) -> Path:
        raise LedgerError(f"{self.where}: its ledger is no file")

    def table_names(self) -> list[str]:
        """Tables in a local folder prove nothing about a database."""
        return []

    @property
    def prices(self) -> Path:
        """A local copy of the copy that all who work on the run share."""
        if self._shared_prices.exists(PRICES):
            with self._shared_prices.stream(PRICES) as content:
                super().keep_prices(content.read())
        return super().prices

    def keep_prices(self, content: bytes | None) -> None:
        super().keep_prices(content)
        if content is None:
            self._shared_prices.remove(PRICES)
            return
        with self._shared_prices.put(PRICES) as copy:
            copy.write(content)

    def exists(self) -> bool:
        return self.home.missing() is None

    def make(self) -> None:
        super().make()
        for store in (self.marks, self._shared_prices):
            store.prepare()

    def strangers(self) -> Iterator[str]:
        """A database and a bucket hold nothing that could be waited for for ever."""
        return iter(())

    @property
    def worked_on(self) -> bool:
        with told(self.address):
            db = looking(self.address)
            return is_founded(db, self.address) and is_held(db, self._known_as)

    def sign(self) -> tuple[int, int, int]:
        """What is different when anything of the run has changed: its number, who holds it, and how many commits."""
        with told(self.address):
            row = looking(self.address).execute(
                f"SELECT number, epoch, commits FROM {SHARED}.run WHERE name=?", (self._known_as,)
            )
            number, epoch, commits = row.fetchone() or (0, 0, 0)
        return number, epoch, commits

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Hold the run under a lease for as long as this process is heard of.

        True when it is new. Nothing but its name is written before it is held.
        """
        with ExitStack() as stack:
            with told(self.address), closing(connect(self.address)) as db:
                found_database(db, self.address)
                run, made = keep_run(db, self._known_as)
                lease = Lease(self.address, run)
                lease.take(db)
            stack.callback(lease.let_go)
            self._lease = lease
            stack.callback(self._let_go)
            try:
                make_folder(self.path)
            except OSError as error:
                raise FolderUnfit(f"{self.path}: cannot make the folder for tables: {words_of(error)}") from error
            yield made

    def _let_go(self) -> None:
        self._lease = None

    def clear(self, *, whole: bool) -> None:
        """Take away a run that did not begin; only by who holds it, which is asked anew: others may have it by now."""
        lease = self._lease
        with told(self.address), closing(connect(self.address)) as db:
            if lease is None or not lease.prolong(db):
                return
            for store in (self.files, self.marks, self._shared_prices):
                store.clear()
            super().clear(whole=True)
            drop_run(db, lease.run, lease.epoch, whole=whole)

    def was_begun(self) -> bool:
        return self._known() is not None

    def moved_to(self) -> str | None:
        run = self._known()
        return None if run is None else run.moved_to

    def _known(self) -> KnownRun | None:
        with told(self.address):
            db = looking(self.address)
            return run_named(db, self._known_as) if is_founded(db, self.address) else None

    def mark_moved(self, where: str | None) -> None:
        """Only by who holds it: another process that has it by now goes on with it here."""
        lease = self._lease
        if lease is None:
            raise LedgerError(f"{self.where}: nobody brings a run elsewhere who does not hold it")
        with told(self.address), closing(connect(self.address)) as db:
            marked = db.execute(
                f"UPDATE {SHARED}.run SET moved_to=? WHERE number=? AND epoch=?",
                (where, lease.run.number, lease.epoch),
            )
            if marked.rowcount == 0:
                raise lost(lease.run)
