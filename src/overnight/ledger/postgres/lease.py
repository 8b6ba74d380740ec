"""Who works on a run that a database keeps: a row with a holder, an epoch, and a time by the database's clock.

Taking a run raises its epoch. Whatever a holder commits is fenced: it lands only under the holder's own epoch. So one
that was suspended and has been replaced meanwhile can wake up, but writes nothing any more. Nor does it disturb the
next one: a connection that writes bears its holder's epoch, and is ended by nobody of an earlier one.
"""

from __future__ import annotations

import getpass
import os
import socket
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from overnight.core.clock import steady
from overnight.core.errors import LedgerError, RunBusy
from overnight.ledger.postgres.address import Address, connect
from overnight.ledger.postgres.dialect import SHARED
from overnight.ledger.postgres.registry import lost

if TYPE_CHECKING:
    import psycopg

    from overnight.ledger.database import Row
    from overnight.ledger.postgres.connection import PostgresDatabase
    from overnight.ledger.postgres.registry import KnownRun

# How long a run stays with a holder that is not heard of, and how often one tells that it is there.
SECONDS = 60.0
_TOLD_EVERY = 1 / 4
# How soon it is tried again where that failed, for as long as nobody else can have the run.
_TRIED_AGAIN = 1 / 60
_TAKE = (
    f"UPDATE {SHARED}.run SET holder=?1, epoch=epoch+1, until=clock_timestamp()+?2*interval '1 second' "
    "WHERE number=?3 AND (until IS NULL OR until<clock_timestamp() OR holder=?4) RETURNING epoch, commits"
)

# Of the names of connections that write; other names have no epoch, and are no match.
_END_EARLIER = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname=current_database() "
    "AND CAST(substring(application_name FROM %s) AS BIGINT)<=%s AND pid<>pg_backend_pid()"
)


class Lease:
    """One process's hold of a run, from `take` to `let_go`."""

    def __init__(self, address: Address, run: KnownRun) -> None:
        self.run = run
        self.epoch = 0
        self.commits = 0
        # By our own clock: until then nobody else can have the run.
        self.sure_until = 0.0
        # Known once it is told to nobody that we are there.
        self.replaced = False
        self._address = address
        self._seconds = SECONDS
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="lease", daemon=True)

    def take(self, db: PostgresDatabase) -> None:
        """RunBusy where another process has it."""
        for again in (True, False):
            held = db.execute(
                f"SELECT holder, extract(epoch FROM until-clock_timestamp()) FROM {SHARED}.run WHERE number=?",
                (self.run.number,),
            ).fetchone()
            holder, left = held or (None, None)
            gone = holder if holder and _is_gone(holder) else ""
            asked = steady()
            taken = db.execute(_TAKE, (holder_now(), self._seconds, self.run.number, gone)).fetchone()
            if taken is not None:
                self.epoch, self.commits = taken
                self.sure_until = asked + self._seconds
                self._thread.start()
                return
            if not again:
                raise busy(self.run.name, holder, left)

    def let_go(self) -> None:
        """Others may have the run at once."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        with suppress(LedgerError), closing(connect(self._address)) as db, suppress(db.error):
            db.execute(
                f"UPDATE {SHARED}.run SET holder=NULL, until=NULL WHERE number=? AND epoch=?",
                (self.run.number, self.epoch),
            )

    @property
    def connection_name(self) -> str:
        """What the server knows a connection by that writes under this lease."""
        return f"{SHARED} {self.run.schema} {self.epoch}"

    def begin(self, connection: psycopg.Connection[Row]) -> None:
        """A new connection that writes is the only one. LeaseLost where another process holds the run by now.

        One that broke in the middle of a transaction may still be there for the server, and hold what it has written
        against everybody who comes after it. It bears an earlier epoch, or our own: a later one is none of ours to end.
        """
        query = f"SELECT 1 FROM {SHARED}.run WHERE number=%s AND epoch=%s"
        if connection.execute(query, (self.run.number, self.epoch)).fetchone() is None:
            raise lost(self.run)
        connection.execute(_END_EARLIER, (f"^{SHARED} {self.run.schema} ([0-9]+)$", self.epoch))

    def prolong(self, db: PostgresDatabase) -> bool:
        """Whether the run is still ours, and from now on for the whole time of a lease."""
        asked = steady()
        told = db.execute(
            f"UPDATE {SHARED}.run SET until=clock_timestamp()+?1*interval '1 second' WHERE number=?2 AND epoch=?3",
            (self._seconds, self.run.number, self.epoch),
        )
        if told.rowcount > 0:
            self.sure_until = asked + self._seconds
        return told.rowcount > 0

    def _tell(self) -> None:
        """By a connection of its own: a long transaction does not keep the run from being held."""
        db: PostgresDatabase | None = None
        while not self._over.wait(self._pause()):
            try:
                db = db or connect(self._address)
                if not self.prolong(db):
                    self.replaced = True
                    break
            except LedgerError:
                db = None  # what is written next will tell; meanwhile it is tried again
            except Exception as error:
                if db is None or not isinstance(error, db.error):
                    raise
                db.close()
                db = None
        if db is not None:
            db.close()

    def _pause(self) -> float:
        """Until it is told again: soon, where it should have been told by now."""
        left = self.sure_until - steady()
        is_late = 0 < left < self._seconds * (1 - _TOLD_EVERY)
        return self._seconds * (_TRIED_AGAIN if is_late else _TOLD_EVERY)


def is_held(db: PostgresDatabase, name: str) -> bool:
    """Whether a process works on the run now."""
    row = db.execute(f"SELECT holder FROM {SHARED}.run WHERE name=? AND until>clock_timestamp()", (name,)).fetchone()
    return row is not None and row[0] is not None and not _is_gone(row[0])


def busy(name: str, holder: str | None, left: float | None) -> RunBusy:
    who = f" ({holder.partition(' [')[0]})" if holder else ""
    wait = "wait for it, or stop it first"
    if left is not None and left > 0:
        wait += f"; one that has died lets go in {left:.0f} s"
    return RunBusy(f"run '{name}' is being worked on by another process{who}; {wait}")


def holder_now() -> str:
    """For people, and for processes of the same machine, which can tell whether this one still lives."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = str(os.getuid())
    here, started = _this_machine(), _started(os.getpid())
    mark = f" [{here} {os.getpid()} {started}]" if here and started else ""
    return f"process {os.getpid()} of {user} on {socket.gethostname()}{mark}"


def _is_gone(holder: str) -> bool:
    """Whether the holder was a process of this machine that is no more: its run need not be waited for."""
    head, _, mark = holder.rpartition(" [")
    parts = mark.rstrip("]").split()
    if not head or len(parts) != 3 or parts[0] != _this_machine() or not parts[1].isdecimal():
        return False
    return _started(int(parts[1])) != parts[2]


def _this_machine() -> str:
    """This start of this machine, and the list of processes that this one can see."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink().name}"
    return ""


def _started(process: int) -> str:
    """When a process began, in the kernel's own count; nothing where there is none, or only what is left of one."""
    with suppress(OSError):
        state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
        return "" if state in "ZX" else fields[18]
    return ""
