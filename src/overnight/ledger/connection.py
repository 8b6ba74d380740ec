"""One SQLite file: how it is opened and founded, and what keeps its connection to itself."""

import contextlib
import sqlite3
import stat
from pathlib import Path

from overnight.core.errors import LedgerError
from overnight.core.opening import make_private, refuse_strange, sync_directory
from overnight.core.surroundings import disk_trouble
from overnight.ledger.schema import is_older, migrate, version
from overnight.ledger.trouble import ledger_trouble


class Records:
    """Some of a ledger's tables behind verbs. Nobody outside sees the connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db


def check_file(path: Path) -> None:
    """A ledger is a file: SQLite would wait for ever at a pipe."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise LedgerError(f"{path}: this is no file; bring ledger.db back from a copy of the run")


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
            version(db, path)
        except sqlite3.Error as error:
            raise ledger_trouble(path, error) from error
        stack.pop_all()
    return db


def up_to_date(db: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The same to be read: a ledger of an older version is copied into memory and brought up to date there."""
    if not is_older(db, path):
        return db
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    with contextlib.ExitStack() as stack:
        stack.callback(copy.close)
        db.backup(copy)
        migrate(copy, path)
        copy.execute("PRAGMA query_only=ON")
        stack.pop_all()
    db.close()
    return copy


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def found(path: Path) -> None:
    """A ledger appears under its name with its tables in it, or not at all: a run that is there can be read."""
    part = path.with_name(path.name + ".part")
    try:
        _remove(part)
        make_private(part)
        db = connect(part)
        try:
            migrate(db, path)
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
