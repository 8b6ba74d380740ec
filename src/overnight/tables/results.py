"""`results.parquet`: one row for every address, in the study's order, with nothing in it that varies by run."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

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

Decode = Callable[[bytes], Line]


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
        self._arms = arms(db)
        self._stages = {row.id: row.name for row in stages(db)}
        self._tasks = {number: tasks[name] for number, name in self._stages.items()}
        self._decoders = decoders
        self._own: dict[str, ColumnKind] = {}
        for task in self._tasks.values():
            self._own.update(task.columns)

    def write(self, path: Path) -> int:
        schema = COLUMNS | {name: _KINDS[kind] for name, kind in self._own.items()}
        return write_parquet(path, schema, self._rows)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        with RawFiles(self._folder, paths(self._db)) as raw:
            threads = groupby(table_rows(self._db), key=lambda row: (row.stage, row.arm, row.item, row.replicate))
            for (stage, arm_number, item, replicate), rows in threads:
                yield from self._thread(raw, stage, self._arms[arm_number], item, replicate, list(rows))

    def _thread(
        self, raw: RawFiles, stage: int, arm: Arm, item: str, replicate: int, rows: list[TableRow]
    ) -> Iterator[tuple[Any, ...]]:
        task = self._tasks[stage]
        decode = self._decoders[arm.model.provider]
        results = [_result(row, raw, decode) for row in rows]
        fields = item_fields(self._db, raw.read, stage, item) if task.reads_items else {}
        settled = tuple(result for result in results if result is not None)
        thread = Thread(arm=arm, item=Item(item, fields), replicate=replicate, turns=settled)
        own = list(task.read(thread))
        for number, (row, result) in enumerate(zip(rows, results, strict=True)):
            mine = own[number] if number < len(own) and result is not None else {}
            yield (*self._common(stage, arm, row, result), *(mine.get(name) for name in self._own))

    def _common(self, stage: int, arm: Arm, row: TableRow, result: Result | None) -> tuple[Any, ...]:
        head = (self._stages[stage], arm.name, row.item, row.replicate, row.turn, arm.model.provider, arm.model.name)
        key = key_text(row.key)
        if result is None:
            return (*head, "pending", None, None, None, None, None, None, None, None, key)
        usage = result.usage
        return (
            *head, result.outcome, result.cause, result.answer, result.thoughts,
            usage.input, usage.cached, usage.output, usage.reasoning,
            None if row.cost is None else row.cost / DOLLAR, key,
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
