"""Frames in, one Parquet file out: in constant memory, whole or not at all, the same bytes for the same rows."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import LedgerError
from overnight.core.opening import make_private, sync_directory

# So many rows are turned into columns at once.
CHUNK = 2_500
# Fixed: the file's bytes must not depend on how fast rows came. Small: a few of these are in memory at a time.
_ROW_GROUP = 5_000
# Tables of answers are no larger by it than by the default, and cost a third less.
_LEVEL = 1

Schema = Mapping[str, "pl.DataType | type[pl.DataType]"]


def write_parquet(path: Path, schema: Schema, frames: Callable[[], Iterable[pl.DataFrame]]) -> int:
    """Stream `frames` into `path`; returns how many rows there were."""
    counted = 0
    trouble: list[LedgerError] = []

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        nonlocal counted
        del with_columns, predicate, n_rows, batch_size  # everything is wanted, in our own chunks
        try:
            for frame in frames():
                counted += frame.height
                yield frame
        except LedgerError as error:  # Polars would keep its words only, and go on writing for a moment
            trouble.append(error)

    part = _part(path)
    _sink(register_io_source(source, schema=pl.Schema(schema), is_pure=True), part)
    if trouble:
        part.unlink()
        raise trouble[0]
    _keep(part, path)
    return counted


def keep_parquet(frame: pl.LazyFrame, path: Path) -> None:
    """Write a frame as it streams by; `path` is there when it is whole."""
    part = _part(path)
    _sink(frame, part)
    _keep(part, path)


def in_portions(path: Path, choose: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.LazyFrame:
    """What `choose` takes of a table, row by row, for `keep_parquet`: read and held a few rows at a time."""
    rows = pl.scan_parquet(path, glob=False)
    height: int = rows.select(pl.len()).collect().item()

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del batch_size
        for start in range(0, height, _ROW_GROUP):
            part = choose(rows.slice(start, _ROW_GROUP))
            part = part if predicate is None else part.filter(predicate)
            frame = (part if with_columns is None else part.select(with_columns)).collect()
            if n_rows is not None:
                frame, n_rows = frame.head(n_rows), max(0, n_rows - frame.height)
            yield frame

    return register_io_source(source, schema=choose(rows).collect_schema(), is_pure=True)


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _sink(frame: pl.LazyFrame, part: Path) -> None:
    # A leftover may be a link to somewhere else.
    part.unlink(missing_ok=True)
    make_private(part)
    frame.sink_parquet(
        part,
        compression="zstd",
        compression_level=_LEVEL,
        row_group_size=_ROW_GROUP,
        maintain_order=True,
        statistics=True,
    )


def frame_of(schema: Schema, columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """Polars takes a column at once in a third of the time that it takes rows one by one."""
    return pl.DataFrame([_series(name, columns[name], kind) for name, kind in schema.items()])


def _series(name: str, values: Sequence[Any], kind: "pl.DataType | type[pl.DataType]") -> pl.Series:
    """What all rows say alike, as they do in many columns, is told to polars once."""
    # Numbers that are equal may be 0.0 and -0.0, which are other bytes.
    alike = len(values) > 1 and values[0] == values[-1] and (values[0] is None or kind != pl.Float64)
    if alike and values.count(values[0]) == len(values):
        return pl.Series(name, values[:1], dtype=kind).new_from_index(0, len(values))
    return pl.Series(name, values, dtype=kind)


def _keep(part: Path, path: Path) -> None:
    with part.open("rb") as handle:
        checkpoint("fsync tables")
        os.fsync(handle.fileno())
    try:
        part.replace(path)
    except IsADirectoryError as error:
        part.unlink()
        raise LedgerError(f"{path}: this is a folder, and a table belongs there; take it away") from error
    sync_directory(path.parent)
    checkpoint("kept tables")
