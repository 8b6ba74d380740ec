"""The verbs of a batch, with the faults that strike them; a dialect gives them paths, words and objects of its own."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from overnight_emulator.batches.batch import TERMINAL, Batch, status
from overnight_emulator.dialects.openai.errors import ApiError, from_fault, retry_headers
from overnight_emulator.faults.calls import suffer
from overnight_emulator.faults.kinds import Event, Fault
from overnight_emulator.store import StoredFile
from overnight_emulator.world import World

Show = Callable[[Batch], web.Response]


class Jobs:
    def __init__(
        self,
        world: World,
        dialect: str,
        missing: Callable[[str], Exception],
        refusal: Callable[[Fault], Exception] = from_fault,
    ) -> None:
        self.world = world
        self.dialect = dialect
        self._missing = missing
        self._refusal = refusal

    async def create(self, event: Event, make: Callable[[Fault | None], Batch], show: Show) -> web.StreamResponse:
        """`make` puts a batch together; a fault may let there be two of them."""
        self._check_rate()
        fault = self.world.faults.strike(event)

        async def made() -> web.Response:
            batch = make(fault)
            self.world.works.add(batch)
            second = make(None) if fault is not None and fault.do == "twice" else batch
            if second.id != batch.id:  # where clients choose ids, there cannot be two
                self.world.works.add(second)
            return show(batch)

        return await suffer(fault, self.world.clock, made, self._refusal)

    async def retrieve(self, batch_id: str, show: Show) -> web.StreamResponse:
        batch = self.find(batch_id)

        async def seen() -> web.Response:
            return show(self.find(batch_id))

        return await suffer(self.world.strike("retrieve", batch), self.world.clock, seen, self._refusal)

    async def cancel(self, batch_id: str, show: Show, ended: Callable[[str], Exception]) -> web.StreamResponse:
        """`ended` is what is said of a batch that has: its state is given."""
        batch = self.find(batch_id)

        async def stopped() -> web.Response:
            batch = self.find(batch_id)
            state = status(batch, self.world.clock.now())
            if state in TERMINAL:
                raise ended(state)
            return show(self.world.works.cancel(batch))

        return await suffer(self.world.strike("cancel", batch), self.world.clock, stopped, self._refusal)

    async def listing(self, event: Event, show: Callable[[], web.Response]) -> web.StreamResponse:
        async def listed() -> web.Response:
            return show()

        return await suffer(self.world.faults.strike(event), self.world.clock, listed, self._refusal)

    def newest_first(self, after: str | None = None, limit: int = 1_000_000) -> list[Batch]:
        return self.world.works.listing(self.dialect, limit, after)

    def find(self, batch_id: str) -> Batch:
        batch = self.world.works.find(batch_id)
        if batch is None or batch.dialect != self.dialect:
            raise self._missing(batch_id)
        return batch

    def file(self, file_id: str) -> StoredFile | None:
        return self.world.store.file(self.dialect, file_id, self.world.clock.now())

    def _check_rate(self) -> None:
        wait = self.world.creation_wait(self.dialect)
        if wait is not None:
            headers = retry_headers(self.world.clock.real_seconds(wait))
            raise ApiError(429, "Too many batches were created.", code="rate_limit_exceeded", headers=headers)
