"""What SQLite says when it refuses a file, in words that help: the path, the cause, the way out."""

import errno
import os
import resource
import sqlite3
from pathlib import Path

from overnight.core.errors import LedgerError
from overnight.core.surroundings import GO_ON, words_of

_BACKUP = (
    "put ledger.db back from a backup; without one, `overnight adopt PROVIDER --token TOKEN` brings in a batch that "
    "the provider still lists (tokens are in the file `sent` beside it), and `--as NAME` starts anew under "
    "another name, which asks and pays again"
)


def ledger_trouble(path: Path, error: sqlite3.Error) -> LedgerError:
    """SQLite's own words say little of the cause: a file that it cannot open is tried once more by hand."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            words = _words(errno.ENOSPC)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            words = _tried(path) or f"{error}; check the disk and its rights, {GO_ON}"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            words = f"another program holds it; close that, {GO_ON}"
        case sqlite3.SQLITE_NOMEM:
            words = _words(errno.ENOMEM)
        case _:
            return damaged(path, error)
    return LedgerError(f"{path}: cannot use this file: {words}")


def damaged(where: Path | str, error: Exception) -> LedgerError:
    return LedgerError(f"{where}: it is damaged ({error}); {_BACKUP}")


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
    return _words(errno.EFBIG) if limited else None


def _words(number: int) -> str:
    return words_of(OSError(number, os.strerror(number)))
