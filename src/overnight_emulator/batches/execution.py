"""Running the rows of a batch: streamed from the input to the output and the error file, in a seeded order.

Only the places of the lines are held in memory, twelve bytes for each. Every finished row leaves a record of its body,
so that a body that was run twice shows in the log.
"""

from __future__ import annotations

import os
import random
import threading
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

import msgspec

from overnight_emulator.batches.batch import Batch, Tally, Timeline
from overnight_emulator.batches.rows import Reply, Row, RowFormat
from overnight_emulator.batches.stencils import Stencils
from overnight_emulator.chance import Chance
from overnight_emulator.faults.armed import ArmedFaults
from overnight_emulator.faults.kinds import Event, Fault
from overnight_emulator.store import Run, Store

_RUNS_PER_COMMIT = 1_000
_WRITTEN_AT_ONCE = 1 << 18
_UNREADABLE: dict[str, object] = {}
# More than any ledger holds of a million of them.
_ODD_COUNT = 2**62


class Abandoned(Exception):
    """The run was given up; it will be repeated from the start."""


class Execution:
    """One batch's run, from its input to the two files beside it."""

    def __init__(
        self,
        batch: Batch,
        course: Timeline,
        rows: RowFormat,
        store: Store,
        faults: ArmedFaults,
        chance: Chance,
        stopping: threading.Event,
    ) -> None:
        self._batch = batch
        self._course = course
        self._rows = rows
        self._store = store
        self._faults = faults
        self._chance = chance
        self._runs: list[Run] = []
        self._tally = Tally()
        self._stopping = stopping
        self._stencils = Stencils(rows, batch, course.in_progress_at)
        self.output = store.files / f"{batch.id}.output.part"
        self.errors = store.files / f"{batch.id}.errors.part"

    def run(self) -> Tally:
        self._store.forget_runs(self._batch.id)
        with ExitStack() as stack:
            source = stack.enter_context(self._store.input_of(self._batch.id).open("rb"))
            output = stack.enter_context(self.output.open("wb", _WRITTEN_AT_ONCE))
            errors = (
                stack.enter_context(self.errors.open("wb", _WRITTEN_AT_ONCE)) if self._rows.failed_apart else output
            )
            starts = array("Q", _line_starts(source))
            order = self._order(len(starts) - 1)
            finished = int(len(order) * self._course.share + 1e-9)
            handle = source.fileno()
            for ordinal, place in enumerate(order):
                if self._stopping.is_set():
                    raise Abandoned
                line = os.pread(handle, starts[place + 1] - starts[place], starts[place])
                row = self._rows.read(line, self._batch)
                if ordinal >= finished:
                    self._leave_row(row, errors)
                elif not self._run_by_stencil(row, output):
                    self._run_row(row, line, output, errors)
        self._flush()
        self._faults.end_rows()
        return self._tally

    def _order(self, count: int) -> array[int]:
        """The lines by their places, in the order in which they will finish."""
        places = array("I", range(count))
        assert self._batch.check is not None
        fault = self._batch.fault
        if self._batch.details.get("in_order") and (fault is None or fault.do != "shuffle"):
            return places  # its provider documents that answers keep the order of the requests
        random.Random(self._chance.number("order", self._batch.check.digest)).shuffle(places)
        return places

    def _run_by_stencil(self, row: Row, output: IO[bytes]) -> bool:
        """Whether the row could be run so: no fault can strike it, and it is like others."""
        if self._faults.watches("row") or self._batch.fault is not None:
            return False
        written = self._stencils.written(row, self._row_id(row))
        if written is None:
            return False
        line, answer = written
        output.write(line)
        self._tally.completed += 1
        self._tally.executed += 1
        self._tally.usage.add(answer)
        self._note(Run(row.digest, row.custom_id, billed=True))
        return True

    def _run_row(self, row: Row, line: bytes, output: IO[bytes], errors: IO[bytes]) -> None:
        fault = self._row_fault(row, line)
        reply = self._reply(row, fault)
        row_id = self._row_id(row)
        rendered = self._rows.render(row, reply, row_id)
        if fault is not None and fault.do == "omit":
            pass  # never run, and counted as neither
        elif reply.status == 200:
            output.writelines(self._faulty_lines(row, reply, row_id, rendered, fault))
            self._tally.completed += 1
        else:
            errors.write(rendered)
            self._tally.failed += 1
        self._record(row, reply, fault)

    def _leave_row(self, row: Row, errors: IO[bytes]) -> None:
        fault = self._batch.fault
        self._tally.failed += 1
        if fault is None or not (fault.do == "expire" and fault.silent):
            errors.write(self._rows.render_unfinished(row, self._course.end, self._row_id(row)))

    def _row_fault(self, row: Row, line: bytes) -> Fault | None:
        whole = self._batch.fault
        if whole is not None and whole.do == "empty_output" and whole.seconds is None:
            return Fault("row", "lose")
        if not self._faults.watches("row"):
            return None
        before = self._store.times_run(row.digest, besides=self._batch.id)
        text = line.decode("utf-8", "replace")
        return self._faults.strike_row(
            Event("row", text, row.digest, row.body.get("model"), run_before=before, row=row.custom_id)
        )

    def _reply(self, row: Row, fault: Fault | None) -> Reply:
        if fault is not None and fault.do == "error":
            return self._rows.error(fault.http_status, fault.code, fault.type, fault.message)
        reply = self._rows.answer(row, self._batch, self._course.in_progress_at)
        if reply.status != 200 or fault is None:
            return reply
        if fault.do == "empty_body":
            return msgspec.structs.replace(reply, body=_UNREADABLE)
        counted = self._rows.usage_key
        if fault.do == "odd_usage":
            odd = _ODD_COUNT if fault.count is None else fault.count
            said = reply.body.get(counted)
            counts = {k: odd if isinstance(v, int) else v for k, v in said.items()} if isinstance(said, dict) else said
            return msgspec.structs.replace(reply, body={**reply.body, counted: counts})
        if fault.do == "no_usage":
            return msgspec.structs.replace(reply, body={k: v for k, v in reply.body.items() if k != counted})
        return reply

    def _faulty_lines(self, row: Row, reply: Reply, row_id: str, line: bytes, fault: Fault | None) -> list[bytes]:
        match fault.do if fault is not None else None:
            case "lose":
                return []
            case "duplicate":
                return [line, line]
            case "contradict":
                error = self._rows.error(500, None, None, "The server had an error while processing your request.")
                return [self._rows.render(row, error, f"{row_id}x"), line]
            case "malformed":
                return [line[: len(line) // 2] + b"\n"]
            case "nameless":
                return [self._rows.render(msgspec.structs.replace(row, custom_id="", beside={}), reply, row_id)]
            case "unknown_id":
                stranger = msgspec.structs.replace(row, custom_id=f"stranger-{row_id[-8:]}")
                return [self._rows.render(stranger, reply, f"{row_id}x"), line]
        return [line]

    def _record(self, row: Row, reply: Reply, fault: Fault | None) -> None:
        billed = reply.usage is not None and (fault is None or fault.do != "omit")
        if billed and reply.usage is not None:
            self._tally.usage.add(reply.usage)
            self._tally.executed += 1
        self._note(Run(row.digest, row.custom_id, billed))

    def _note(self, run: Run) -> None:
        self._runs.append(run)
        if len(self._runs) >= _RUNS_PER_COMMIT:
            self._flush()

    def _flush(self) -> None:
        self._store.add_runs(self._batch.id, self._runs)
        self._runs.clear()

    def _row_id(self, row: Row) -> str:
        return self._chance.hexadecimal(24, "row id", self._batch.id, row.custom_id)


def _line_starts(source: IO[bytes]) -> Iterator[int]:
    """The start of every line that holds something, then the end of the last one."""
    place = end = 0
    for line in source:
        if not line.isspace():
            yield place
            end = place + len(line)
        place += len(line)
    yield end
