"""`attempts.parquet`: every try of every question, with the times and names that differ from run to run."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from overnight.core.ask import key_text
from overnight.core.clock import time_text
from overnight.core.shard import custom_id
from overnight.ledger.answers import tries_of
from overnight.ledger.shards import attempts
from overnight.tables.parquet import write_parquet

COLUMNS: dict[str, type[pl.DataType]] = {
    "request_key": pl.String,
    "shard": pl.Int64,
    "attempt": pl.Int32,
    "batch_id": pl.String,
    "custom_id": pl.String,
    "submitted_at": pl.String,
    "received_at": pl.String,
    "outcome": pl.String,
    "cause": pl.String,
    "detail": pl.String,
    "raw_file": pl.String,
    "raw_offset": pl.Int64,
    "used": pl.Boolean,
}


def write_attempts(db: sqlite3.Connection, path: Path) -> int:
    def rows() -> Iterator[tuple[Any, ...]]:
        for attempt in attempts(db):
            token = attempt.token
            head = (attempt.shard, attempt.n, attempt.batch_id)
            submitted = time_text(attempt.submitted_at)
            for key, line, received, *rest, used in tries_of(db, attempt.id):
                yield (key_text(key), *head, custom_id(token, line), submitted, time_text(received), *rest, bool(used))

    return write_parquet(path, COLUMNS, rows)
