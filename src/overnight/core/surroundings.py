"""What the system says when it refuses a file or a folder, and what the user can do about it.

Everything here is of the surroundings: a full disk, a missing right, a limit on open files. It is never a fault of
ours, and it gets one line: the path, the cause, the way out.
"""

import errno
import os
import resource
import sqlite3
from pathlib import Path

from overnight.core.errors import LedgerError

GO_ON = "then the same command goes on from here"
_ELSEWHERE = "or keep runs in another folder: --runs DIR"
_ROOM = f"free some room there, {GO_ON}"
_RIGHT = f"give yourself the right to, {_ELSEWHERE}"
_IN_THE_WAY = f"move what is in the way, {_ELSEWHERE}"
_BACKUP = "put ledger.db back from a backup, or start anew under another name: --as NAME"

# By errno: the cause in plain words, and the way out.
_KNOWN: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", _ROOM),
    errno.EDQUOT: ("your quota on that disk is used up", _ROOM),
    errno.EFBIG: ("the file would pass the limit on file sizes", f"raise it (`ulimit -f unlimited`), {GO_ON}"),
    errno.EMFILE: ("this process may not open more files", f"raise the limit (`ulimit -n 1024`), {GO_ON}"),
    errno.ENFILE: ("the system may not open more files", f"close other programs, {GO_ON}"),
    errno.EACCES: ("no permission", _RIGHT),
    errno.EPERM: ("not permitted", _RIGHT),
    errno.EROFS: ("the file system is read-only", f"make it writable, {_ELSEWHERE}"),
    errno.EIO: ("the disk reports an error", "check the disk; copy the run to another one before going on"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one, for a run with --as NAME"),
    errno.ENOTDIR: ("a file is in the place of a folder", _IN_THE_WAY),
    errno.EISDIR: ("a folder is in the place of a file", _IN_THE_WAY),
    errno.EEXIST: ("something else has that name", _IN_THE_WAY),
    errno.ELOOP: ("a symbolic link is in the place of a file", "put the real file there"),
    errno.ENOENT: ("it is not there", "check the path, and whether somebody has removed it"),
    errno.ENOMEM: ("the machine is out of memory", f"close other programs, {GO_ON}"),
}


def words_of(error: OSError) -> str:
    """`the disk is full; free some room there, ...`."""
    if error.errno is None or error.errno not in _KNOWN:
        return error.strerror or str(error)
    return "; ".join(_KNOWN[error.errno])


def file_words(error: OSError) -> str:
    """The same with the path, for an error that nobody nearer has put into words."""
    where = error.filename2 or error.filename
    text = where.decode(errors="replace") if isinstance(where, bytes) else where
    return f"{text}: {words_of(error)}" if text is not None else words_of(error)


def disk_trouble(path: Path, error: OSError, what: str = "cannot write") -> LedgerError:
    return LedgerError(f"{path}: {what}: {words_of(error)}")


def ledger_trouble(path: Path, error: sqlite3.Error) -> LedgerError:
    """SQLite's own words say little of the cause: a file that it cannot open is tried once more by hand."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            words = "; ".join(_KNOWN[errno.ENOSPC])
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            words = _tried(path) or f"{error}; check the disk and its rights, {GO_ON}"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            words = f"another program holds it; close that, {GO_ON}"
        case sqlite3.SQLITE_NOMEM:
            words = "; ".join(_KNOWN[errno.ENOMEM])
        case _:
            return damaged(path, error)
    return LedgerError(f"{path}: cannot use this file: {words}")


def damaged(path: Path, error: Exception) -> LedgerError:
    return LedgerError(f"{path}: it is damaged ({error}); {_BACKUP}")


def _tried(path: Path) -> str | None:
    """Why SQLite cannot read or write the file, as the system tells; None when it can be opened after all."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        probe = path.with_name(path.name + ".room")
        try:
            # Beside it: SQLite needs its journal there, and room for it.
            handle = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, bytes(64 * 1024))
            finally:
                os.close(handle)
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        return words_of(error)
    # SQLite files are larger than what was tried: it fails where a small file does not.
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    return "; ".join(_KNOWN[errno.EFBIG]) if limited else None
