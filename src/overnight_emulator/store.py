"""The state on disk: one SQLite file for what is known, a folder for what was uploaded and answered.

All SQL of the emulator is here. Every change is committed before its reply is sent, so that `kill -9` loses nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from overnight_emulator.batches.batch import Batch, Usage
from overnight_emulator.faults.kinds import Counter, Fault

_SCHEMA = """
create table if not exists fact (name text primary key, value blob) without rowid;
create table if not exists file (
  seq integer primary key, id text unique, dialect text, purpose text, created_at real, expires_at real, record blob);
create table if not exists batch (
  seq integer primary key, id text unique, dialect text, created_at real, listed_from real, open integer, record blob);
create index if not exists batch_by_age on batch (dialect, created_at, seq);
create index if not exists batch_open on batch (open) where open = 1;
create table if not exists ran (seq integer primary key, body blob, batch integer, custom_id text, billed integer);
create table if not exists call (
  seq integer primary key, at real, method text, path text, route text, status integer, key text);
create table if not exists live_bill (
  model text primary key, rows integer, input integer, cached integer, output integer) without rowid;
create table if not exists peak (model text primary key, tokens integer) without rowid;
"""

_TABLES = ("fact", "file", "batch", "ran", "call", "live_bill", "peak")


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file at the provider. Its bytes lie in the state's `files` folder under its id."""

    id: str
    dialect: str
    filename: str
    purpose: str
    bytes: int = 0
    sha256: str = ""
    created_at: float
    expires_at: float | None
    batch_id: str | None = None
    details: dict[str, Any] = {}


class Run(NamedTuple):
    """One execution of one body. `billed` says whether it was run to an answer, which has to be paid for."""

    body: bytes
    custom_id: str | None
    billed: bool


class Call(msgspec.Struct, frozen=True):
    method: str
    path: str
    route: str
    status: int
    at: float
    key: str


class Store:
    def __init__(self, folder: Path) -> None:
        self.files = folder / "files"
        self.files.mkdir(parents=True, exist_ok=True)
        for half_written in self.files.glob("*.part"):
            half_written.unlink()
        self._lock = threading.RLock()
        self._finds_bodies = False
        self._connection = sqlite3.connect(folder / "state.db", check_same_thread=False, isolation_level=None)
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = normal")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def clear(self) -> None:
        """Forget everything."""
        with self.together():
            for table in _TABLES:
                self._do(f"delete from {table}")  # noqa: S608 - constants
        for file in self.files.iterdir():
            file.unlink()

    @contextmanager
    def together(self) -> Iterator[None]:
        """All writes inside are committed together, or not at all."""
        with self._lock:
            self._connection.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._connection.execute("rollback")
                raise
            self._connection.execute("commit")

    def path(self, file_id: str) -> Path:
        return self.files / file_id

    def input_of(self, batch_id: str) -> Path:
        """A batch's own hold on its input: it outlives the deletion of the file while the batch runs."""
        return self.files / f"{batch_id}.input"

    # facts

    def fact(self, name: str, kind: type[Any] = object) -> Any:
        rows = self._all("select value from fact where name = ?", name)
        return msgspec.json.decode(rows[0][0], type=kind) if rows else None

    def set_fact(self, name: str, value: Any) -> None:
        self._do("insert or replace into fact values (?, ?)", name, msgspec.json.encode(value))

    def forget_fact(self, name: str) -> None:
        self._do("delete from fact where name = ?", name)

    def latest_moment(self) -> float | None:
        """The latest virtual time that a reply can have shown."""
        rows = self._all("select max(at) from call")
        noted = self.fact("moment", float)
        moments = [moment for moment in (rows[0][0], noted) if moment is not None]
        return max(moments, default=None)

    # files

    def add_file(self, file: StoredFile) -> None:
        """In place of one that has its id."""
        self._do(
            "insert or replace into file (id, dialect, purpose, created_at, expires_at, record)"
            " values (?, ?, ?, ?, ?, ?)",
            file.id,
            file.dialect,
            file.purpose,
            file.created_at,
            file.expires_at,
            msgspec.json.encode(file),
        )

    def file(self, dialect: str, file_id: str, now: float) -> StoredFile | None:
        rows = self._all(
            "select record from file where id = ? and dialect = ? and (expires_at is null or expires_at > ?)",
            file_id,
            dialect,
            now,
        )
        return _file(rows[0][0]) if rows else None

    def all_files(self, dialect: str, now: float) -> list[StoredFile]:
        """Oldest first."""
        rows = self._all(
            "select record from file where dialect = ? and (expires_at is null or expires_at > ?)"
            " order by created_at, seq",
            dialect,
            now,
        )
        return [_file(row[0]) for row in rows]

    def every_file(self, now: float) -> list[StoredFile]:
        """Of all dialects, oldest first."""
        rows = self._all(
            "select record from file where expires_at is null or expires_at > ? order by created_at, seq", now
        )
        return [_file(row[0]) for row in rows]

    def take_file(self, part: Path, file: StoredFile) -> str | None:
        """Take in a written file under its id; an empty one is thrown away, and there is no such file."""
        size = part.stat().st_size
        if not size:
            part.unlink()
            return None
        part.replace(self.path(file.id))
        self.add_file(msgspec.structs.replace(file, bytes=size))
        return file.id

    def remove_file(self, file_id: str) -> None:
        self._do("delete from file where id = ?", file_id)
        self.path(file_id).unlink(missing_ok=True)

    # batches

    def save_batch(self, batch: Batch, *, is_open: bool) -> None:
        self._do(
            "insert into batch (id, dialect, created_at, listed_from, open, record) values (?, ?, ?, ?, ?, ?)"
            " on conflict (id) do update set open = excluded.open, listed_from = excluded.listed_from,"
            " record = excluded.record",
            batch.id,
            batch.dialect,
            batch.created_at,
            batch.listed_from,
            is_open,
            msgspec.json.encode(batch),
        )

    def batch(self, batch_id: str) -> Batch | None:
        rows = self._all("select record from batch where id = ?", batch_id)
        return _batch(rows[0][0]) if rows else None

    def open_batches(self) -> list[Batch]:
        return [_batch(row[0]) for row in self._all("select record from batch where open = 1 order by seq")]

    def all_batches(self) -> list[Batch]:
        return [_batch(row[0]) for row in self._all("select record from batch order by created_at, seq")]

    def listed_batches(
        self, dialect: str, now: float, limit: int, after: str | None, before: str | None = None
    ) -> list[Batch]:
        """Newest first: from behind the batch `after`, or up to the batch `before`."""
        where, order = ("<", "desc") if before is None else (">", "asc")
        place = self._all("select created_at, seq from batch where id = ?", before or after)
        created_at, seq = place[0] if place else (float("inf"), 0)
        rows = self._all(
            f"select record from batch where dialect = ? and (created_at, seq) {where} (?, ?)"  # noqa: S608 - constants
            f" and created_at <= ? and listed_from <= ? order by created_at {order}, seq {order} limit ?",
            dialect,
            created_at,
            seq,
            now,
            now,
            limit,
        )
        return [_batch(row[0]) for row in (rows if before is None else reversed(rows))]

    def batches_since(self, dialect: str, moment: float) -> list[float]:
        rows = self._all(
            "select created_at from batch where dialect = ? and created_at > ? order by created_at", dialect, moment
        )
        return [row[0] for row in rows]

    # runs

    def add_runs(self, batch_id: str, runs: Iterable[Run]) -> None:
        """Without an index, which would take longer than all the rest."""
        with self.together():
            place = self._place(batch_id)
            self._connection.executemany(
                f"insert into ran (body, custom_id, billed, batch) values (?, ?, ?, {place:d})",  # noqa: S608 - a number
                runs,
            )

    def forget_runs(self, batch_id: str) -> None:
        """Before a batch's rows are run again from the start, after a crash in the middle."""
        self._do("delete from ran where batch = ?", self._place(batch_id))

    def times_run(self, body: bytes, besides: str) -> int:
        """How often this body was run, outside the batch `besides`. Who asks row by row needs an index from then on."""
        if not self._finds_bodies:
            self._do("create index if not exists ran_by_body on ran (body)")
            self._finds_bodies = True
        rows = self._all(
            "select count(*) from ran where body = ? and batch is not (select seq from batch where id = ?)",
            body,
            besides,
        )
        return int(rows[0][0])

    def rows_run(self) -> int:
        return int(self._all("select count(*) from ran where billed")[0][0])

    def rows_run_twice(self) -> list[dict[str, Any]]:
        """Two dialects may be asked in the same words, once each: those are two questions."""
        rows = self._all(
            "select body, count(*), json_group_array(custom_id) from ran left join batch on batch.seq = ran.batch"
            " where billed group by body having count(*) > max(1, count(distinct dialect)) order by min(ran.seq)"
        )
        return [
            {"body": body.hex(), "times": times, "custom_ids": msgspec.json.decode(custom_ids)}
            for body, times, custom_ids in rows
        ]

    def _place(self, batch_id: str) -> int:
        """How runs name their batch."""
        return int(self._all("select seq from batch where id = ?", batch_id)[0][0])

    def note_call(self, model: str, run: Run, usage: Usage | None) -> None:
        """A live call that was run has to be paid for, whether or not its answer arrives."""
        with self.together():
            self._do(
                "insert into ran (body, batch, custom_id, billed) values (?, null, ?, ?)",
                run.body,
                run.custom_id,
                run.billed,
            )
            if usage is not None:
                self._do(
                    "insert into live_bill values (?, 1, ?, ?, ?) on conflict (model) do update set rows = rows + 1,"
                    " input = input + excluded.input, cached = cached + excluded.cached,"
                    " output = output + excluded.output",
                    model,
                    usage.input_tokens,
                    usage.cached_tokens,
                    usage.output_tokens,
                )

    def live_bill(self) -> dict[str, tuple[int, int, int, int]]:
        """By model: rows, input tokens, cached ones among them, and output tokens."""
        return {row[0]: row[1:] for row in self._all("select * from live_bill order by model")}

    # calls

    def add_call(self, call: Call) -> None:
        self._do(
            "insert into call (at, method, path, route, status, key) values (?, ?, ?, ?, ?, ?)",
            call.at,
            call.method,
            call.path,
            call.route,
            call.status,
            call.key,
        )

    def calls(self) -> list[Call]:
        rows = self._all("select method, path, route, status, at, key from call order by seq")
        return [Call(*row) for row in rows]

    def call_counts(self) -> dict[str, int]:
        rows = self._all("select method || ' ' || route, count(*) from call group by 1 order by 1")
        return dict(rows)

    # enqueued tokens and faults

    def note_peak(self, model: str, tokens: int) -> None:
        self._do(
            "insert into peak values (?, ?) on conflict (model) do update set tokens = max(tokens, excluded.tokens)",
            model,
            tokens,
        )

    def peaks(self) -> dict[str, int]:
        return dict(self._all("select model, tokens from peak order by model"))

    def save_faults(self, replaced: Sequence[Fault], faults: Sequence[Fault], counters: Sequence[Counter]) -> None:
        """`replaced` is the list of the truth file in force: another truth file starts with its own list."""
        self.set_fact("faults", {"replaced": list(replaced), "armed": list(faults), "counters": list(counters)})

    def armed_faults(self, given: Sequence[Fault]) -> tuple[list[Fault], list[Counter]]:
        kept = self.fact("faults", _ArmedFaults)
        if kept is None or kept.replaced != list(given):
            return list(given), []
        return kept.armed, kept.counters

    def _do(self, statement: str, *values: Any) -> None:
        with self._lock:
            self._connection.execute(statement, values)

    def _all(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()


class _ArmedFaults(msgspec.Struct):
    replaced: list[Fault]
    armed: list[Fault]
    counters: list[Counter]


def _file(record: bytes) -> StoredFile:
    return msgspec.json.decode(record, type=StoredFile)


def _batch(record: bytes) -> Batch:
    return msgspec.json.decode(record, type=Batch)
