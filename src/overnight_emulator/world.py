"""The emulated world: one truth, one clock, one state, shared by every dialect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from overnight_emulator.batches.batch import Batch, Check, Flaw
from overnight_emulator.batches.rows import RowFormat
from overnight_emulator.batches.works import Works
from overnight_emulator.chance import Chance
from overnight_emulator.clock import Clock
from overnight_emulator.faults.armed import ArmedFaults
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.rates import RateLimits
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth

_HOUR = 3_600
# What the dialects want to know of a batch, said of one that nobody here has asked for.
_FOREIGN = {
    "filename": "foreign.jsonl",
    "completion_window": "24h",
    "model": "foreign",
    "inline": False,
    "embeds": False,
    "version": "",
    "display_name": "foreign",
    "model_name": "publishers/google/models/foreign",
    "labels": {},
    "input_config": {},
    "output_config": {},
}


class World:
    def __init__(self, truth: Truth, folder: Path, formats: Mapping[str, RowFormat]) -> None:
        self.truth = truth
        self.formats = formats
        self.chance = Chance(truth.seed)
        self.store = Store(folder)
        self.clock = Clock(truth.time_scale, self._first_moment())
        # What a dialect keeps in memory, and drops when all is forgotten.
        self.on_reset: list[Callable[[], None]] = []
        self._begin()

    async def reset(self) -> None:
        """Forget all that was sent and done. Time goes on, and the faults are again those of the truth."""
        await self.works.stop()
        self.store.clear()
        self.note_time()
        self._begin()
        await self.works.start()
        for forget in self.on_reset:
            forget()

    def _begin(self) -> None:
        self.rates = RateLimits(self.truth, self.clock)
        self.faults = ArmedFaults(self.truth.faults, self.store, self.chance, self.clock)
        self.works = Works(self.truth, self.clock, self.store, self.faults, self.formats)

    async def close(self) -> None:
        await self.works.stop()
        self.note_time()
        self.store.close()

    def note_time(self) -> None:
        self.store.set_fact("moment", self.clock.now())

    def strike(self, on: str, batch: Batch) -> Fault | None:
        """The fault that fires at a call about one batch, if any."""
        text = text_of(batch.id, batch.metadata or {}, batch.details.get("filename", ""))
        known = (batch.id, None) if batch.check is None else (batch.check.digest, batch.check.model)
        return self.faults.strike(Event(on, text, *known))

    def keep(self, file: StoredFile, fault: Fault | None) -> StoredFile:
        """A file that was uploaded; one that a fault lets vanish is there for so many seconds."""
        if fault is not None and fault.do == "vanish":
            self.store.add_file(replace(file, expires_at=self.clock.now() + (fault.seconds or 0)))
        return file

    def add_foreign(self, dialect: str, count: int, age: float, rows: int, parent: str) -> None:
        """Batches that somebody else has made and that have ended: they are listed, and nothing more."""
        made_at = self.clock.now() - age
        check = Check(0.0, total=rows, model="foreign", flaw=Flaw("foreign", "This batch is somebody else's."))
        with self.store.together():
            for number in range(count):
                at = made_at - (count - number) * 1e-3
                foreign = Batch(
                    id=new_id("batch_"),
                    dialect=dialect,
                    endpoint="/v1/chat/completions",
                    input_file_id="file-foreign",
                    created_at=at,
                    listed_from=at,
                    details={**_FOREIGN, "total": rows, "parent": parent},
                    check=check,
                )
                self.store.save_batch(foreign, is_open=False)

    def creation_wait(self, dialect: str) -> float | None:
        """How long until another batch may be made, when too many were in the last hour."""
        limit, now = self.truth.limits.creates_per_hour, self.clock.now()
        recent = self.store.batches_since(dialect, now - _HOUR)
        if len(recent) < limit:
            return None
        return recent[-limit] + _HOUR - now if limit else _HOUR

    def _first_moment(self) -> float:
        latest = self.store.latest_moment()
        return time.time() if latest is None else latest
