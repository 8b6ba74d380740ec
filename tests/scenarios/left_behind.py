"""Where a secret was left: files of all kinds, tables of a database, objects of a bucket."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl
import psycopg
from psycopg import sql

import postgres_server

_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"


def _texts(data: bytes) -> Iterator[bytes]:
    """As it is, and as it is read: what is compressed hides what it says."""
    yield data
    if data.startswith(_GZIP):
        yield gzip.decompress(data)
    if data.startswith(_PARQUET):
        yield repr(pl.read_parquet(io.BytesIO(data)).to_dicts()).encode()


def _tells(data: bytes, secrets: Sequence[str]) -> bool:
    return any(secret.encode() in text for text in _texts(data) for secret in secrets)


def in_files(secrets: Sequence[str], folders: Iterable[Path]) -> list[str]:
    """The emulator's own state does not count: a provider has the key."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [str(path) for path in files if "state" not in path.parts and _tells(path.read_bytes(), secrets)]


def in_database(secrets: Sequence[str], name: str, *, fewest_tables: int = 20) -> list[str]:
    """Every column of every table that is not the server's own, and what the server itself has written down."""
    found: list[str] = []
    with psycopg.connect(postgres_server.url(name)) as db:
        tables = db.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        assert len(tables) >= fewest_tables, tables
        for table in tables:
            rows = db.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(*table))).fetchall()
            if any(secret in str(rows) for secret in secrets):
                found.append(".".join(table))
        asked = str(db.execute("SELECT query FROM pg_stat_activity").fetchall())
    logs = [path for path in postgres_server.folder().glob("*log*") if path.is_file()]
    assert logs
    found += [str(path) for path in logs if _tells(path.read_bytes(), secrets)]
    return found + (["pg_stat_activity"] if any(secret in asked for secret in secrets) else [])


def in_bucket(secrets: Sequence[str], url: str, *, fewest_objects: int = 3) -> list[str]:
    """Every object and its name; the surroundings say where the bucket is."""
    import obstore
    from obstore.store import from_url

    store = from_url(url, client_options={"allow_http": True})
    names = [one["path"] for page in obstore.list(store) for one in page]
    assert len(names) >= fewest_objects, names
    told = [name for name in names if _tells(obstore.get(store, name).bytes().to_bytes(), secrets)]
    return told + [name for name in names if _tells(name.encode(), secrets)]
