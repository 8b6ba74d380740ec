"""The works: validates new batches, runs their rows when the time has come, and closes them when they end.

Reading and writing files happens in two worker threads, one for each kind of work, first come first served; what a
batch records is changed on the event loop only. One timer waits for the next moment at which something is to do.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from overnight_emulator.batches.batch import Batch, Check, Flaw, Timeline, status, timeline
from overnight_emulator.batches.execution import Execution
from overnight_emulator.batches.rows import Content, RowFormat
from overnight_emulator.chance import Chance
from overnight_emulator.clock import Clock
from overnight_emulator.faults.armed import ArmedFaults
from overnight_emulator.faults.kinds import Event, text_of
from overnight_emulator.patterns import value_for
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth

# JSON knows no infinity.
_NEVER = 1e15


class Works:
    def __init__(
        self, truth: Truth, clock: Clock, store: Store, faults: ArmedFaults, formats: Mapping[str, RowFormat]
    ) -> None:
        self._truth = truth
        self._clock = clock
        self._store = store
        self._faults = faults
        self._formats = formats
        self._chance = Chance(truth.seed)
        self._open: dict[str, Batch] = {}
        self._moments: list[tuple[float, str]] = []
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._validating = ThreadPoolExecutor(1, "validation")
        self._executing = ThreadPoolExecutor(1, "execution")
        self._stopping = threading.Event()
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Take up every batch that had not ended when the emulator was stopped."""
        for batch in self._store.open_batches():
            self._watch(batch)

    async def stop(self) -> None:
        self._stopping.set()
        if self._timer is not None:
            self._timer.cancel()
        jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        self._validating.shutdown(cancel_futures=True)
        self._executing.shutdown(cancel_futures=True)

    def add(self, batch: Batch) -> None:
        self._save(batch)
        self.settle()

    async def examine(self, batch: Batch) -> Content | Flaw:
        """What validation will find in a batch that is yet to be added: some providers say so at once."""
        rows = self._formats[batch.dialect]
        file = self._store.file(batch.reads_from, batch.input_file_id, self._clock.now())
        found: Content | Flaw = await self._in_thread(self._validating, lambda: self._validate(rows, batch, file))
        self.settle()
        if isinstance(found, Content):
            found = self._without_room(rows, found.model, found.tokens) or found
        if isinstance(found, Flaw):
            self._store.input_of(batch.id).unlink(missing_ok=True)
        return found

    def find(self, batch_id: str) -> Batch | None:
        """A batch that exists by now."""
        self.settle()
        batch = self._open.get(batch_id) or self._store.batch(batch_id)
        there = batch is not None and batch.created_at <= self._clock.now() and not batch.deleted
        return batch if there else None

    def listing(self, dialect: str, limit: int, after: str | None, before: str | None = None) -> list[Batch]:
        self.settle()
        return self._store.listed_batches(dialect, self._clock.now(), limit, after, before)

    def hide(self, batch: Batch) -> None:
        """Its record stays for the log, but nobody is shown it any more; what runs of it runs on."""
        gone = replace(batch, listed_from=_NEVER, deleted=True)
        if batch.id in self._open:
            self._save(gone)
        else:
            self._store.save_batch(gone, is_open=False)

    def cancel(self, batch: Batch) -> Batch:
        """The caller has seen that the batch has not ended."""
        if batch.cancel_at is None:
            batch = replace(batch, cancel_at=self._clock.now())
            self._save(batch)
            self.settle()
        return batch

    def enqueued(self) -> dict[str, int]:
        """Tokens waiting or running, by model."""
        totals: dict[str, int] = {}
        for batch in self._open.values():
            if batch.check is not None and batch.check.flaw is None and batch.check.model is not None:
                totals[batch.check.model] = totals.get(batch.check.model, 0) + batch.check.tokens
        return totals

    def settle(self) -> None:
        """Begin and end what is due by now."""
        now = self._clock.now()
        while self._moments and self._moments[0][0] <= now:
            _, batch_id = heapq.heappop(self._moments)
            batch = self._open.get(batch_id)
            if batch is not None and batch_id not in self._jobs:
                self._move_on(batch, now)

    async def settle_all(self) -> None:
        """The same, and wait until the worker threads have nothing left to do that is due."""
        self._wake()
        while self._jobs:
            await asyncio.gather(*self._jobs.values())
            self.settle()

    async def finish(self) -> int:
        """Every batch that has begun ends now, also one that is stuck; says how many did."""
        await self.settle_all()
        now = self._clock.now()
        begun = [batch for batch in self._open.values() if batch.check is not None]
        for batch in begun:
            self._save(replace(batch, hurried_at=now))
        await self.settle_all()
        return len(begun)

    def _move_on(self, batch: Batch, now: float) -> None:
        course = timeline(batch)
        if course is None:
            self._begin(batch, self._check(batch))
        elif batch.tally is None and course.work_at <= now:
            self._begin(batch, self._execute(batch, course))
        elif status(batch, now) == course.end:
            self._open.pop(batch.id)
            self._store.save_batch(batch, is_open=False)
            self._store.input_of(batch.id).unlink(missing_ok=True)
        else:
            self._watch(batch)

    def _begin(self, batch: Batch, job: Any) -> None:
        task = asyncio.create_task(job)
        self._jobs[batch.id] = task
        task.add_done_callback(lambda ended: self._end_job(batch.id, ended))

    def _end_job(self, batch_id: str, task: asyncio.Task[None]) -> None:
        self._jobs.pop(batch_id, None)
        if task.cancelled():
            return
        broken = task.exception()
        if broken is None:
            self._watch(self._open[batch_id])
        else:  # trying again would break again: its batch stays where it is
            task.get_loop().call_exception_handler({"message": f"work on {batch_id} broke", "exception": broken})

    def _save(self, batch: Batch) -> None:
        self._store.save_batch(batch, is_open=True)
        self._watch(batch)

    def _watch(self, batch: Batch) -> None:
        self._open[batch.id] = batch
        moment = _next_moment(batch)
        if math.isfinite(moment):
            heapq.heappush(self._moments, (moment, batch.id))
            if self._moments[0] == (moment, batch.id):
                self._set_timer()

    def _wake(self) -> None:
        self.settle()
        self._set_timer()

    def _set_timer(self) -> None:
        """Wake at the earliest moment; one that was dealt with in the meantime wakes it for nothing, once."""
        if self._timer is not None:
            self._timer.cancel()
        if self._moments:
            wait = self._clock.real_seconds(self._moments[0][0] - self._clock.now())
            self._timer = asyncio.get_running_loop().call_later(wait, self._wake)

    async def _check(self, batch: Batch) -> None:
        rows = self._formats[batch.dialect]
        file = self._store.file(batch.reads_from, batch.input_file_id, self._clock.now())
        found = await self._in_thread(self._validating, lambda: self._validate(rows, batch, file))
        digest = file.sha256 if file is not None else ""
        low, high = self._truth.latency.batch
        check = Check(self._chance.between(low, high, "duration", digest), digest=digest)
        if isinstance(found, Content):
            check = replace(check, total=found.total, model=found.model, tokens=found.tokens)
            self._accept(replace(self._open[batch.id], check=check), rows)
        else:
            self._save(replace(self._open[batch.id], check=replace(check, flaw=found)))

    def _validate(self, rows: RowFormat, batch: Batch, file: StoredFile | None) -> Content | Flaw:
        if file is None:
            return rows.validate(batch, None, ())
        held = self._store.input_of(batch.id)
        if not held.exists():
            try:
                held.hardlink_to(self._store.path(file.id))
            except FileNotFoundError:  # deleted since it was looked up: the batch finds no input
                return rows.validate(batch, None, ())
        return rows.validate(batch, file, _Lines(held))

    def _accept(self, batch: Batch, rows: RowFormat) -> None:
        """A valid batch still needs room in the queue, and may be struck by a fault."""
        self.settle()
        assert batch.check is not None
        assert batch.check.model is not None
        model, tokens = batch.check.model, batch.check.tokens
        flaw = self._without_room(rows, model, tokens)
        if flaw is not None:
            self._save(replace(batch, check=replace(batch.check, flaw=flaw)))
            return
        with self._store.together():
            self._store.note_peak(model, self.enqueued().get(model, 0) + tokens)
            self._save(self._struck(batch, model))

    def _without_room(self, rows: RowFormat, model: str, tokens: int) -> Flaw | None:
        limit = value_for(model, self._truth.limits.enqueued_tokens, otherwise=math.inf)
        full = self.enqueued().get(model, 0) + tokens > limit
        return rows.too_many_tokens(model, int(limit)) if full else None

    def _struck(self, batch: Batch, model: str) -> Batch:
        assert batch.check is not None
        text = text_of(batch.metadata or {}, batch.details.get("filename", ""))
        fault = self._faults.strike(Event("batch", text, batch.check.digest, model))
        if fault is None:
            return batch
        if fault.do == "fail":
            message = fault.message or "The batch could not be processed."
            flaw = Flaw(fault.code or "internal_error", message)
            return replace(batch, check=replace(batch.check, flaw=flaw))
        return replace(batch, fault=fault)

    async def _execute(self, batch: Batch, course: Timeline) -> None:
        rows = self._formats[batch.dialect]
        execution = Execution(batch, course, rows, self._store, self._faults, self._chance, self._stopping)
        tally = await self._in_thread(self._executing, execution.run)
        batch = self._open[batch.id]
        with self._store.together():
            fault = batch.fault
            now = self._clock.now()
            ended_at = min(course.ends_at, now)
            tally.output_file_id = rows.keep(self._store, batch, "output", execution.output, ended_at, now) or (
                fault.as_ if fault is not None and fault.do == "empty_output" else None
            )
            if rows.failed_apart:
                tally.error_file_id = rows.keep(self._store, batch, "errors", execution.errors, ended_at, now)
            self._faults.save()
            self._save(replace(batch, tally=tally))

    async def _in_thread(self, pool: ThreadPoolExecutor, job: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, job)


class _Lines:
    """The lines of a file, from the first one each time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as lines:
            yield from lines


def _next_moment(batch: Batch) -> float:
    """When this batch next needs attention."""
    course = timeline(batch)
    if course is None:
        return batch.created_at
    if batch.tally is None and course.end != "failed":
        return course.work_at
    return course.ends_at
