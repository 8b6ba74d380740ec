"""`results.parquet`: one row for every address, in the study's order, with nothing in it that varies by run."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from overnight.core.ask import Arm, Item, key_text
from overnight.core.money import DOLLAR
from overnight.core.result import Line, Result
from overnight.ledger.answers import TableRow, item_fields, paths, table_rows
from overnight.ledger.folder import RunFolder
from overnight.ledger.identity import arms, stages
from overnight.ledger.raw import RawFiles
from overnight.tables.parquet import write_parquet
from overnight.tasks._contract import ColumnKind, Rounds, Task, Thread

COLUMNS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "arm": pl.String,
    "item_id": pl.String,
    "replicate": pl.Int32,
    "turn": pl.Int32,
    "provider": pl.String,
    "model": pl.String,
    "status": pl.String,
    "cause": pl.String,
    "answer": pl.String,
    "thoughts": pl.String,
    "input_tokens": pl.Int64,
    "cached_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "reasoning_tokens": pl.Int64,
    "cost": pl.Float64,
    "request_key": pl.String,
}
_KINDS: dict[ColumnKind, type[pl.DataType]] = {
    "text": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "boolean": pl.Boolean,
}

# What a row without a result says, from `status` to `cost`.
_PENDING = ("pending", *(None,) * 8)
# The fields of a TableRow by which rows are one thread: stage, arm, item, replicate.
_THREAD = itemgetter(0, 1, 2, 3)

Decode = Callable[[bytes], Line]


class _ArmView(NamedTuple):
    """What all rows of an arm have in common, looked up once."""

    arm: Arm
    stage: int
    task: Task | Rounds
    decode: Decode
    # Columns before and after the address.
    head: tuple[str, str]
    asked: tuple[str, str]


class ResultsTable:
    """Reads addresses from the ledger and answers from the raw files."""

    def __init__(
        self,
        db: sqlite3.Connection,
        folder: RunFolder,
        tasks: Mapping[str, Task | Rounds],
        decoders: Mapping[str, Decode],
    ) -> None:
        self._db = db
        self._folder = folder
        numbers = {row.name: row.id for row in stages(db)}
        self._views = {
            number: _ArmView(
                arm=arm,
                stage=numbers[arm.stage],
                task=tasks[arm.stage],
                decode=decoders[arm.model.provider],
                head=(arm.stage, arm.name),
                asked=(arm.model.provider, arm.model.name),
            )
            for number, arm in arms(db).items()
        }
        self._own: dict[str, ColumnKind] = {}
        for name in numbers:
            self._own.update(tasks[name].columns)

    def write(self, path: Path) -> int:
        schema = COLUMNS | {name: _KINDS[kind] for name, kind in self._own.items()}
        return write_parquet(path, schema, self._rows)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        with RawFiles(self._folder, paths(self._db)) as raw:
            for _, rows in groupby(table_rows(self._db), key=_THREAD):
                yield from self._thread(raw, list(rows))

    def _thread(self, raw: RawFiles, rows: list[TableRow]) -> Iterator[tuple[Any, ...]]:
        first = rows[0]
        view = self._views[first.arm]
        results = [_result(row, raw, view.decode) for row in rows]
        fields = item_fields(self._db, raw.read, view.stage, first.item) if view.task.reads_items else {}
        settled = tuple(filter(None, results))
        thread = Thread(arm=view.arm, item=Item(first.item, fields), replicate=first.replicate, turns=settled)
        own = list(view.task.read(thread))
        for number, (row, result) in enumerate(zip(rows, results, strict=True)):
            mine = own[number] if number < len(own) and result is not None else {}
            address = (row.item, row.replicate, row.turn)
            yield (*view.head, *address, *view.asked, *_said(row, result), key_text(row.key), *map(mine.get, self._own))


def _said(row: TableRow, result: Result | None) -> tuple[Any, ...]:
    if result is None:
        return _PENDING
    usage = result.usage
    return (
        result.outcome, result.cause, result.answer, result.thoughts,
        usage.input, usage.cached, usage.output, usage.reasoning,
        None if row.cost is None else row.cost / DOLLAR,
    )  # fmt: skip


def _result(row: TableRow, raw: RawFiles, decode: Decode) -> Result | None:
    """What the raw line says to today's reader; the ledger's word for rows that no file holds."""
    if row.outcome is None:
        return None
    if row.file is not None and row.offset is not None and row.length is not None:
        result = decode(raw.read(row.file, row.offset, row.length).strip()).result
        if result is not None:
            return result
    return Result(outcome=row.outcome, cause=row.cause)  # type: ignore[arg-type]
