"""A run's folder: its paths, its lock, and files that are whole or absent."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from filelock import FileLock, Timeout

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import FolderUnfit, LedgerError, RunBusy

# On these, a lock taken here may not be seen by another machine, and an fsync may not be one.
NETWORK_FILE_SYSTEMS = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "9p", "ceph", "glusterfs", "lustre"),
        *("gpfs", "beegfs", "davfs", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone"),
    }
)
# What a durable file holds before it goes on: more would fall out of the processor's cache meanwhile.
_PIECE = 64 * 1024


class RunFolder:
    """Where one run lives. Paths in the ledger are relative to it, so that a run can be moved and zipped."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def ledger(self) -> Path:
        return self.path / "ledger.db"

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    @property
    def cancel_mark(self) -> Path:
        """There while the run is called off: any process that works on it sees this and sends no more."""
        return self.path / "cancelled"

    def exists(self) -> bool:
        return self.ledger.exists()

    def make(self) -> None:
        for part in ("requests", "items", "outbox", "raw", "tables"):
            try:
                (self.path / part).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                message = f"{self.path}: cannot make the run's folder: {error.strerror}"
                raise FolderUnfit(message) from error

    def file(self, relative: str) -> Path:
        return self.path / relative

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process's life; the kernel lets go of it when the process dies."""
        refuse_network(self.path)
        lock = FileLock(self.path / "lock", timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            holder = _holder(self.path / "holder")
            message = f"run '{self.name}' is being worked on by another process{holder}; wait for it, or stop it first"
            raise RunBusy(message) from error
        except OSError as error:
            message = f"{self.path}: cannot lock the run: {error.strerror}"
            raise FolderUnfit(message) from error
        try:
            (self.path / "holder").write_text(f"{os.getpid()}\n")
            yield
        finally:
            (self.path / "holder").unlink(missing_ok=True)
            lock.release()


def _holder(path: Path) -> str:
    try:
        return f" (process {path.read_text().strip()})"
    except OSError:
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


def sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class DurableFile:
    """A file that appears under its name only when it is whole and on disk; its hash comes for free.

    What is written is held until there is a good deal of it: a million lines are hashed and handed to the system in a
    few thousand pieces.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(path.name + ".part")
        self._hash = hashlib.sha256()
        self._handle: BinaryIO = self._part.open("wb")
        self._held: list[bytes] = []
        self._handed_over = 0
        self.bytes = 0

    def write(self, data: bytes) -> None:
        self._held.append(data)
        self.bytes += len(data)
        if self.bytes - self._handed_over >= _PIECE:
            self._hand_over()

    def write_lines(self, lines: list[bytes]) -> None:
        """Each gets its newline; the list is empty afterwards."""
        if lines:
            lines.append(b"")
            self.write(b"\n".join(lines))
            lines.clear()

    def _hand_over(self) -> None:
        if not self._held:
            return
        piece = b"".join(self._held)
        self._held.clear()
        self._handed_over = self.bytes
        try:
            self._handle.write(piece)
        except OSError as error:
            raise disk_trouble(self.path, error) from error
        self._hash.update(piece)

    def so_far(self) -> Path:
        """Where what was written can be read before it is kept."""
        self._hand_over()
        self._handle.flush()
        return self._part

    @property
    def sha256(self) -> str:
        self._hand_over()
        return self._hash.hexdigest()

    def keep(self) -> None:
        self._hand_over()
        try:
            self._handle.flush()
            checkpoint(f"fsync {self.path.parent.name}")
            os.fsync(self._handle.fileno())
            self._handle.close()
            self._part.replace(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise disk_trouble(self.path, error) from error
        checkpoint(f"kept {self.path.parent.name}")

    def drop(self) -> None:
        with suppress(OSError):  # a full disk has been told already
            self._handle.close()
        self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.keep()
        else:
            self.drop()


def disk_trouble(path: Path, error: OSError) -> LedgerError:
    return LedgerError(f"{path}: cannot write: {error.strerror}; free some room, then `overnight resume` goes on")
