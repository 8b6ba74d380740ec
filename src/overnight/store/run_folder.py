"""A run's folder: its files behind their seam, its lock, and what has to be on a local disk by its nature."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from overnight.core.errors import FolderUnfit, LedgerError, RunBusy, RunMoved
from overnight.core.opening import PRIVATE_FOLDER, make_folders_above, open_to_read, open_to_write, refuse_strange
from overnight.core.surroundings import words_of
from overnight.store.contract import Store
from overnight.store.local import LocalStore
from overnight.store.lock import is_locked, take_lock
from overnight.store.names import CANCELLED, FILES, MOVED, PRICES, REPORT, SENT, TABLES

# On these, a lock taken here may not be seen by another machine, and an fsync may not be one.
NETWORK_FILE_SYSTEMS = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "9p", "ceph", "glusterfs", "lustre"),
        *("gpfs", "beegfs", "davfs", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone"),
    }
)
# A folder that vanishes between two steps is made anew; one that can never be made is not tried for ever.
_TRIES = 100
# Whoever only looks whether the run is held holds it for an instant: who wants it tries once more.
_LOOKS, _BETWEEN_LOOKS = 4, 0.05


class RunFolder:
    """Where one run lives: a folder, which can be moved and zipped.

    Its files and marks stand behind the seam of a store, so that these may be kept elsewhere one day. What is named
    here by a path has to be on a local disk by its nature: the lock, which the kernel lets go of when its process dies;
    the ledger's SQLite file; and what people open themselves, the tables, the report and the copy of their price file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: Store = LocalStore(path, folders=FILES)
        self.marks: Store = LocalStore(path, files=(SENT, CANCELLED, MOVED))
        self._tables = LocalStore(path, folders=(TABLES,))
        self._own = LocalStore(path, files=(PRICES, REPORT))

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def where(self) -> str:
        """How people find the run."""
        return str(self.path)

    @property
    def ledger(self) -> Path:
        return self.path / "ledger.db"

    @property
    def tables(self) -> Path:
        return self.path / TABLES

    def tables_to_read(self) -> Path:
        """The same for those who open tables by their paths: FileDamaged where one of them is a link."""
        for path in (self.tables, *self.tables.glob("*.parquet")):
            refuse_strange(path, f"overnight rebuild {self.name} makes it anew")
        return self.tables

    def table_names(self) -> list[str]:
        return self._tables.names(TABLES)

    @property
    def prices(self) -> Path:
        """The copy of the user's price file, whether it is there or not."""
        return self.path / PRICES

    def keep_prices(self, content: bytes | None) -> None:
        if content is None:
            self._own.remove(PRICES)
            return
        with self._own.put(PRICES) as copy:
            copy.write(content)

    @property
    def report(self) -> Path:
        """The page that people read, whether it is there or not."""
        return self.path / REPORT

    def keep_report(self, content: bytes) -> None:
        with self._own.put(REPORT) as page:
            page.write(content)

    def exists(self) -> bool:
        return self.ledger.exists()

    def make(self) -> None:
        """Its parts, by who holds it."""
        try:
            make_folder(self.path)
        except OSError as error:
            raise self._unfit("cannot make the run's folder", error) from error
        for store in (self.files, self._tables):
            store.prepare()

    @property
    def called_off(self) -> bool:
        return self.marks.exists(CANCELLED)

    def call_off(self) -> None:
        """Set the mark that stops every process from sending; one that is there already stays."""
        self.marks.append(CANCELLED).close()

    def go_on(self) -> None:
        """Take the mark away: a person has said `run`."""
        self.marks.remove(CANCELLED)

    def was_begun(self) -> bool:
        """Whether there is, or was, a run here."""
        return self.path.is_dir()

    def moved_to(self) -> str | None:
        """Where the run was brought; None where it is still here."""
        if not self.marks.exists(MOVED):
            return None
        with self.marks.stream(MOVED) as text:
            return text.read().decode(errors="replace").strip()

    def mark_moved(self, where: str | None) -> None:
        """From now on the run is elsewhere; None: it is here."""
        if where is None:
            self.marks.remove(MOVED)
            return
        with self.marks.put(MOVED) as mark:
            mark.write(f"{where}\n".encode())

    def refuse_moved(self) -> None:
        where = self.moved_to()
        if where is not None:
            raise RunMoved(f"run '{self.name}' was brought to {where}, and goes on there")

    def strangers(self) -> Iterator[str]:
        """What in the folder is neither a plain file nor a folder, in words."""
        for path in sorted(self.path.rglob("*")):
            try:
                refuse_strange(path)
            except LedgerError as error:
                yield str(error)

    @property
    def worked_on(self) -> bool:
        """Whether a process works on the run now."""
        return is_locked(self.path / "lock")

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Hold the run for this process's life; the kernel lets go of it when the process dies.

        True when its folder was made for this. Nothing but the lock is written before the lock is held.
        """
        refuse_network(self.path)
        for name in ("lock", "holder", CANCELLED, SENT, "ledger.db", "ledger.db-wal", "ledger.db-shm"):
            refuse_strange(self.path / name)
        made, lock = self._taken()
        try:
            with open(open_to_write(self.path / "holder"), "w") as holder:  # noqa: PTH123 - a handle
                holder.write(f"{os.getpid()}\n")
            yield made
        except OSError as error:
            if error.filename == str(self.path / "holder"):
                raise self._unfit("cannot write in the run's folder", error) from error
            raise
        finally:
            (self.path / "holder").unlink(missing_ok=True)
            os.close(lock)

    def _taken(self) -> tuple[bool, int]:
        """Whether the folder was made here, and the lock. Others may remove what they made and did not begin."""
        made = False
        for left in reversed(range(_TRIES)):
            try:
                made = make_folder(self.path) or made
                return made, take_lock(self.path / "lock")
            except BlockingIOError as error:
                if left > _TRIES - _LOOKS:
                    time.sleep(_BETWEEN_LOOKS)
                    continue
                text = f"run '{self.name}' is being worked on by another process{_holder(self.path / 'holder')}"
                raise RunBusy(f"{text}; wait for it, or stop it first") from error
            except OSError as error:
                if isinstance(error, FileNotFoundError) and left:
                    continue
                what = "cannot lock the run" if self.path.is_dir() else "cannot make the run's folder"
                raise self._unfit(what, error) from error
        raise AssertionError

    def clear(self, *, whole: bool) -> None:
        """Take away a run that did not begin; only by who holds it. The ledger goes last, so that no half is left."""
        for store in (self.files, self._tables):
            store.clear()
        with suppress(OSError):
            for path in self.path.glob("ledger.db*"):
                path.unlink()
            for name in ("holder", "lock"):
                (self.path / name).unlink(missing_ok=True)
            if whole:
                self.path.rmdir()

    def _unfit(self, what: str, error: OSError) -> FolderUnfit:
        return FolderUnfit(f"{self.path}: {what}: {words_of(error)}")


def make_folder(path: Path) -> bool:
    """Whether it was not there before. Nobody else may look into it."""
    make_folders_above(path)
    try:
        path.mkdir()
    except FileExistsError:
        if path.is_dir():
            return False
        raise
    path.chmod(PRIVATE_FOLDER)
    return True


def _holder(path: Path) -> str:
    try:
        with open(open_to_read(path)) as file:  # noqa: PTH123 - a handle
            return f" (process {int(file.read(20))})"
    except (OSError, ValueError, LedgerError):
        return ""


def refuse_network(path: Path) -> None:
    kind = file_system_of(path.resolve(), Path("/proc/self/mountinfo"))
    if kind in NETWORK_FILE_SYSTEMS:
        message = (
            f"{path} is on a network file system ({kind}), where locks and fsync cannot be trusted; "
            "keep runs on a local disk: --runs DIR or OVERNIGHT_RUNS"
        )
        raise FolderUnfit(message)


def file_system_of(path: Path, mountinfo: Path) -> str | None:
    """The type of the file system that holds `path`, where the system tells."""
    try:
        text = mountinfo.read_text()
    except OSError:
        return None
    best, kind = "", None
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), before.split()[4])
        inside = point == "/" or str(path) == point or str(path).startswith(point + "/")
        if inside and len(point) >= len(best):
            best, kind = point, after.split()[0]
    return kind
