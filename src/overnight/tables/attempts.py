"""`attempts.parquet`: every try of every question, with the times and names that differ from run to run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from overnight.core.ask import key_text
from overnight.core.attempt import Attempt
from overnight.core.clock import time_text
from overnight.core.shard import custom_id
from overnight.ledger.rows import Tries
from overnight.ledger.transaction import View
from overnight.tables.parquet import CHUNK, frame_of, write_parquet

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


def write_attempts(view: View, path: Path) -> int:
    sent = {attempt.id: attempt for attempt in view.attempts.everything()}
    files = view.files.paths()

    def frames() -> Iterator[pl.DataFrame]:
        for chunk in view.rows.tries(CHUNK):
            yield frame_of(COLUMNS, _columns(chunk, sent, files))

    return write_parquet(path, COLUMNS, frames)


def _columns(told: Tries, sent: Mapping[int, Attempt], files: Mapping[int, str]) -> dict[str, Sequence[Any]]:
    """Each column at once: a million rows are made of few attempts, times and files."""
    of = [sent[number] for number in told.attempt]
    return {
        "request_key": list(map(key_text, told.key)),
        "shard": [attempt.shard for attempt in of],
        "attempt": [attempt.n for attempt in of],
        "batch_id": [attempt.batch_id for attempt in of],
        "custom_id": [custom_id(attempt.token, line) for attempt, line in zip(of, told.line, strict=True)],
        "submitted_at": [time_text(attempt.submitted_at) for attempt in of],
        "received_at": list(map(time_text, told.received_at)),
        "outcome": told.outcome,
        "cause": told.cause,
        "detail": told.detail,
        "raw_file": [None if file is None else files[file] for file in told.file],
        "raw_offset": told.offset,
        "used": list(map(bool, told.used)),
    }
