"""`results.parquet`: one row for every address, in the study's order, with nothing in it that varies by run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import polars as pl

from overnight.core.ask import Arm, Item, key_text
from overnight.core.money import DOLLAR
from overnight.core.result import Cause, Line, Outcome, Result
from overnight.core.task import ColumnKind, LooksAtParts, PartsOfItems, Rounds, Row, Task, Thread, alike_in, wider
from overnight.ledger.raw import Place, RawFiles, ReadAhead
from overnight.ledger.rows import Addresses
from overnight.ledger.transaction import View
from overnight.store.contract import Store
from overnight.tables.parquet import CHUNK, frame_of, write_parquet

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

# Where a stage asks in rounds: the one in which a row was asked, from 1. A task that has such a column itself keeps
# its own.
_ROUND = "round"

_TEXT = frozenset({str, type(None)})

# What a row without a result says of itself, but for its status.
_NOTHING = Result(outcome="failed")

Decode = Callable[[bytes], Line]
Columns = Mapping[str, Sequence[Any]]


class _ArmView(NamedTuple):
    """What all rows of an arm have in common, looked up once."""

    arm: Arm
    stage: int
    task: Task | Rounds
    decode: Decode
    # The task's own columns that are alike in all rows of the arm, and whether there are others.
    alike: Row
    reads: bool
    # The id of the item that an address is about, and what is read of the item.
    item_of: Callable[[str], str] = str
    decode_item: Callable[[bytes], dict[str, Any]] = msgspec.json.decode


def _arm_view(arm: Arm, stage: int, task: Task | Rounds, decode: Decode) -> _ArmView:
    alike = alike_in(task)(arm)
    view = _ArmView(arm, stage, task, decode, alike, not task.columns.keys() <= alike.keys())
    view = view._replace(item_of=task.item_of) if isinstance(task, PartsOfItems) else view
    return view._replace(decode_item=task.decode_item) if isinstance(task, LooksAtParts) else view


class ResultsTable:
    """Reads addresses from the ledger and answers from the raw files."""

    def __init__(
        self,
        view: View,
        files: Store,
        tasks: Mapping[str, Task | Rounds],
        decoders: Mapping[str, Decode],
    ) -> None:
        self._db = view
        self._files = files
        numbers = {row.name: row.id for row in view.stages.everything()}
        self._views = {
            number: _arm_view(arm, numbers[arm.stage], tasks[arm.stage], decoders[arm.model.provider])
            for number, arm in view.stages.arms().items()
        }
        self._last: tuple[tuple[int, str], dict[str, Any]] = (0, ""), {}
        self._own: dict[str, ColumnKind] = {}
        self._in_rounds = {stage for stage in numbers if isinstance(tasks[stage], Rounds)}
        for stage in numbers:
            for name, kind in tasks[stage].columns.items():
                self._own[name] = wider(self._own.get(name, kind), kind)
        rounds = {_ROUND: pl.Int64} if self._in_rounds and _ROUND not in self._own else {}
        self._schema = COLUMNS | rounds | {name: _KINDS[kind] for name, kind in self._own.items()}

    def of_item(self, item: str) -> pl.DataFrame:
        """The rows about one item, as the whole table has them."""
        with RawFiles(self._files, self._db.files.paths()) as raw:
            return self._frame([self._columns(rows, ReadAhead(raw)) for rows in self._db.rows.of_item(item)])

    def write(self, path: Path) -> int:
        return write_parquet(path, self._schema, self._frames)

    def _frames(self) -> Iterator[pl.DataFrame]:
        """Of about so many rows each: those of small arms come together."""
        waiting: list[Columns] = []
        with RawFiles(self._files, self._db.files.paths()) as raw:
            ahead = ReadAhead(raw)
            for rows in self._db.rows.addresses(CHUNK):
                waiting.append(self._columns(rows, ahead))
                if sum(len(columns["turn"]) for columns in waiting) >= CHUNK:
                    yield self._frame(waiting)
                    waiting = []
            yield self._frame(waiting)

    def _frame(self, parts: Sequence[Columns]) -> pl.DataFrame:
        if len(parts) == 1:
            return frame_of(self._schema, parts[0])
        joined = {name: list(chain.from_iterable(part[name] for part in parts)) for name in self._schema}
        return frame_of(self._schema, joined)

    def _columns(self, rows: Addresses, ahead: ReadAhead) -> Columns:
        arm, count = self._views[rows.arm].arm, len(rows.item)
        results = self._results(rows, ahead)
        return {
            "stage": [arm.stage] * count,
            "arm": [arm.name] * count,
            "item_id": rows.item,
            "replicate": rows.replicate,
            "turn": rows.turn,
            "provider": [arm.model.provider] * count,
            "model": [arm.model.name] * count,
            **_said(results),
            "cost": [None if cost is None else cost / DOLLAR for cost in rows.cost],
            "request_key": list(map(key_text, rows.key)),
            _ROUND: [number + 1 for number in rows.round] if arm.stage in self._in_rounds else [None] * count,
            **self._own_columns(rows, results, ahead),
        }

    def _results(self, rows: Addresses, ahead: ReadAhead) -> list[Result | None]:
        """What the raw lines say to today's reader; the ledger's word for rows that no file holds."""
        decode = self._views[rows.arm].decode
        # Looked at one by one, and never held: each place is a tuple, and these are many.
        places = zip(rows.file, rows.offset, rows.length, rows.digest, strict=True)
        in_files = places if None not in rows.file else (place for place in places if place[0] is not None)
        said = [line.result for line in map(decode, ahead.lines(cast("Iterator[Place]", in_files)))]
        if len(said) == len(rows.file) and None not in said:
            return said  # nearly always: all have come, and each says something
        return list(self._told_by_ledger(rows, said, ahead))

    def _told_by_ledger(
        self, rows: Addresses, said: Iterable[Result | None], ahead: ReadAhead
    ) -> Iterator[Result | None]:
        """`said` by the lines of those rows that a file holds, and what is on record where these say nothing."""
        coming = iter(said)
        places = zip(rows.file, rows.offset, rows.length, rows.digest, strict=True)
        for place, outcome, cause in zip(places, rows.outcome, rows.cause, strict=True):
            told = None if outcome is None else _told(outcome, cause)
            read = None if place[0] is None else next(coming)
            if read is None and place[0] is not None and outcome != "failed":
                raise ahead.unread(cast("Place", place))
            yield read or told

    def _own_columns(self, rows: Addresses, results: Sequence[Result | None], ahead: ReadAhead) -> Columns:
        """The task's own columns; nothing for rows that are still open."""
        view = self._views[rows.arm]
        names = [name for name in self._own if name not in view.alike] if view.reads else []
        # Only values are kept: thousands of dictionaries are much for the garbage collector to look at.
        values: list[Any] = []
        for row in self._read(rows, results, ahead) if names else ():
            values += map(row.get, names)
        read = {name: values[at :: len(names)] for at, name in enumerate(names)}
        settled = None not in results
        columns: dict[str, Sequence[Any]] = {}
        for name, kind in self._own.items():
            if name in read:
                columns[name] = _fitted(read[name], kind)
                continue
            (value,) = _fitted([view.alike.get(name)], kind)
            columns[name] = (
                [value] * len(results) if settled else [None if result is None else value for result in results]
            )
        return columns

    def _read(self, rows: Addresses, results: Sequence[Result | None], ahead: ReadAhead) -> Iterator[Row]:
        """What the task reads, thread by thread; nothing for rows that are still open."""
        task, arm = self._views[rows.arm].task, self._views[rows.arm].arm
        fields_of = self._fields(rows, ahead) if task.reads_items else lambda _: {}

        def own_rows(begin: int, settled: tuple[Result, ...]) -> Iterator[Row]:
            item = Item(rows.item[begin], fields_of(begin))
            return task.read(Thread(arm=arm, item=item, replicate=rows.replicate[begin], turns=settled))

        if not any(rows.turn):  # one answer each, as most studies have it
            for number, result in enumerate(results):
                yield {} if result is None else next(own_rows(number, (result,)), {})
            return
        starts = [number for number, turn in enumerate(rows.turn) if turn == 0]
        for begin, end in pairwise((*starts, len(results))):
            turns = results[begin:end]
            own = own_rows(begin, tuple(filter(None, turns)))
            for result in turns:
                yield {} if result is None else next(own, {})

    def _fields(self, rows: Addresses, ahead: ReadAhead) -> Callable[[int], dict[str, Any]]:
        """By row, its item's fields. Rows about the same item follow each other: it is read once for all of them."""
        view = self._views[rows.arm]
        names = list(map(view.item_of, rows.item))
        places = self._db.items.places(view.stage, dict.fromkeys(names))

        def fields_of(row: int) -> dict[str, Any]:
            name = names[row]
            item = (view.stage, name)
            if self._last[0] != item:
                place = places.get(name)
                self._last = item, {} if place is None else view.decode_item(ahead.read(*place))
            return self._last[1]

        return fields_of


@lru_cache  # there are few outcomes and causes, and millions of rows
def _told(outcome: Outcome, cause: Cause | None) -> Result:
    return Result(outcome=outcome, cause=cause)


def _fitted(values: list[Any], kind: ColumnKind) -> list[Any]:
    """Stages and arms may call columns of two kinds by one name: what is no text is then JSON among texts."""
    if kind != "text" or _TEXT.issuperset(map(type, values)):
        return values
    return [value if type(value) in _TEXT else msgspec.json.encode(value).decode() for value in values]


def _said(results: Sequence[Result | None]) -> dict[str, Sequence[Any]]:
    told = [result or _NOTHING for result in results]
    usages = [result.usage for result in told]
    return {
        "status": ["pending" if result is None else result.outcome for result in results],
        "cause": [result.cause for result in told],
        "answer": [result.answer for result in told],
        "thoughts": [result.thoughts for result in told],
        "input_tokens": [usage.input for usage in usages],
        "cached_tokens": [usage.cached for usage in usages],
        "output_tokens": [usage.output for usage in usages],
        "reasoning_tokens": [usage.reasoning for usage in usages],
    }
