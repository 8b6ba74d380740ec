"""The Message Batches of the Anthropic dialect: create, retrieve, list, cancel, delete, results."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web
from msgspec.structs import replace

from overnight_emulator.batches.batch import TERMINAL, Batch, Flaw, birth, output_of, status
from overnight_emulator.dialects.anthropic.accounts import check_credit, version_of
from overnight_emulator.dialects.anthropic.errors import ApiError, from_fault, no_such_batch, retry_headers
from overnight_emulator.dialects.anthropic.lines import FULL, RETENTION_SECONDS, AnthropicRows
from overnight_emulator.dialects.anthropic.objects import archived_at, batch_object
from overnight_emulator.dialects.anthropic.requests import Received, receive
from overnight_emulator.faults.calls import send_file, suffer
from overnight_emulator.faults.kinds import Event, Fault
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import json_reply
from overnight_emulator.world import World

_PATH = "/v1/messages/batches"
_DEFAULT_PAGE = 20
_LARGEST_PAGE = 1_000
# What the provider advises between two looks at a batch that runs, in seconds.
_POLL_SECONDS = "10"


class BatchRoutes:
    def __init__(self, world: World, dialect: str, prefix: str) -> None:
        self._world = world
        self._dialect = dialect
        self._prefix = prefix
        self._rows = AnthropicRows(world.truth)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(_PATH, self.create),
            web.get(_PATH, self.listing),
            web.get(_PATH + "/{id}", self.retrieve),
            web.delete(_PATH + "/{id}", self.delete),
            web.post(_PATH + "/{id}/cancel", self.cancel),
            web.get(_PATH + "/{id}/results", self.results),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        check_credit(request, self._world.truth)
        self._check_rate()
        file_id = new_id("requests-")
        path = self._world.store.path(file_id)
        part = path.with_suffix(".part")
        try:
            received = await receive(request, part, self._world.truth.limits)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        self._keep(file_id, received)
        batch = self._batch(request, file_id, received)
        made = False
        try:
            fault = await self._admit(batch, received)

            async def make() -> web.Response:
                nonlocal made
                made = True
                shown = self._make(batch, fault)
                if fault is not None and fault.do == "twice":
                    self._make(replace(batch, id=new_id("msgbatch_")), None)
                return self._show(request, shown)

            return await suffer(fault, self._world.clock, make, from_fault)
        finally:
            if not made:
                self._world.store.remove_file(file_id)
                self._world.store.input_of(batch.id).unlink(missing_ok=True)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        batch = self._find(request)

        async def show() -> web.Response:
            return self._show(request, self._find(request))

        return await suffer(self._world.strike("retrieve", batch), self._world.clock, show, from_fault)

    async def listing(self, request: web.Request) -> web.StreamResponse:
        limit = _page_size(request)
        after, before = request.query.get("after_id"), request.query.get("before_id")
        for cursor in (after, before):
            if cursor is not None and self._world.works.find(cursor) is None:
                raise no_such_batch(cursor)
        later = after is not None or before is not None
        event = Event("list", request.query_string, later_page=later)

        async def show() -> web.Response:
            found = self._world.works.listing(self._dialect, limit + 1, after, before)
            shown = found[:limit] if before is None else found[-limit:]
            now = self._world.clock.now()
            data = [batch_object(batch, now, self._address(request)) for batch in shown]
            ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
            page = {"data": data, "first_id": None, "last_id": None, "has_more": len(found) > limit}
            return json_reply(page | ends)

        return await suffer(self._world.faults.strike(event), self._world.clock, show, from_fault)

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self._find(request)

        async def stop() -> web.Response:
            batch = self._find(request)
            if self._ended(batch):
                raise ApiError(400, f"Message Batch {batch.id} has ended and cannot be canceled.")
            return self._show(request, self._world.works.cancel(batch))

        return await suffer(self._world.strike("cancel", batch), self._world.clock, stop, from_fault)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        batch = self._find(request)

        async def remove() -> web.Response:
            batch = self._find(request)
            if not self._ended(batch):
                raise ApiError(400, "In progress batches cannot be deleted. Cancel the batch first.")
            self._world.works.hide(batch)
            return json_reply({"id": batch.id, "type": "message_batch_deleted"})

        return await suffer(self._world.strike("delete", batch), self._world.clock, remove, from_fault)

    async def results(self, request: web.Request) -> web.StreamResponse:
        batch = self._find(request)
        if not self._ended(batch) or archived_at(batch) <= self._world.clock.now():
            raise ApiError(404, f"Message Batch {batch.id} has no available results.")
        fault = self._world.strike("content", batch)

        async def send() -> web.StreamResponse:
            return await send_file(request, self._results(batch), fault, "application/x-jsonl")

        return await suffer(fault, self._world.clock, send, from_fault)

    async def _admit(self, batch: Batch, received: Received) -> Fault | None:
        """The fault that strikes a create that could be obeyed; one that could not is refused whole."""
        found = await self._world.works.examine(batch)
        if isinstance(found, Flaw):
            raise ApiError(429 if found.code == FULL else 400, found.message)
        return self._world.faults.strike(Event("create", received.first_id, received.sha256, received.model))

    def _make(self, batch: Batch, fault: Fault | None) -> Batch:
        created_at, listed_from = birth(fault, self._world.clock.now())
        batch = replace(batch, created_at=created_at, listed_from=listed_from)
        self._world.works.add(batch)
        return batch

    def _batch(self, request: web.Request, file_id: str, received: Received) -> Batch:
        now = self._world.clock.now()
        return Batch(
            id=new_id("msgbatch_"),
            dialect=self._dialect,
            endpoint="/v1/messages",
            input_file_id=file_id,
            created_at=now,
            listed_from=now,
            details={"total": received.total, "filename": received.first_id, "version": version_of(request)},
        )

    def _keep(self, file_id: str, received: Received) -> None:
        now = self._world.clock.now()
        file = StoredFile(
            id=file_id,
            dialect=self._dialect,
            filename=received.first_id,
            purpose="batch",
            bytes=received.size,
            sha256=received.sha256,
            created_at=now,
            expires_at=now + RETENTION_SECONDS,
        )
        self._world.store.add_file(file)

    def _results(self, batch: Batch) -> Path:
        """Where the lines are. A batch that a fault failed as a whole has an error for every request."""
        store, tally, check = self._world.store, batch.tally, batch.check
        shown = output_of(batch, self._world.clock.now())
        if tally is not None and shown:
            return store.path(shown)
        path = store.path(f"{batch.id}.results")
        if not path.exists():
            if not store.path(batch.input_file_id).exists():  # somebody else's
                raise ApiError(404, f"Message Batch {batch.id} has no available results.")
            failed = check.flaw if check is not None else None
            reply = self._rows.error(400, None, None, failed.message if failed is not None else None)
            with path.open("wb") as lines, store.path(batch.input_file_id).open("rb") as requests:
                for line in requests if failed is not None else ():
                    lines.write(self._rows.render(self._rows.read(line, batch), reply, ""))
        return path

    def _check_rate(self) -> None:
        wait = self._world.creation_wait(self._dialect)
        if wait is not None:
            message = "This request would exceed the rate limit of batch creations. Please try again later."
            raise ApiError(429, message, headers=retry_headers(self._world.clock.real_seconds(wait)))

    def _find(self, request: web.Request) -> Batch:
        batch_id = request.match_info["id"]
        batch = self._world.works.find(batch_id)
        if batch is None or batch.dialect != self._dialect:
            raise no_such_batch(batch_id)
        return batch

    def _ended(self, batch: Batch) -> bool:
        return status(batch, self._world.clock.now()) in TERMINAL

    def _show(self, request: web.Request, batch: Batch) -> web.Response:
        headers = {} if self._ended(batch) else {"retry-after": _POLL_SECONDS}
        return json_reply(batch_object(batch, self._world.clock.now(), self._address(request)), headers=headers)

    def _address(self, request: web.Request) -> str:
        return f"{request.url.origin()}{self._prefix}{_PATH}"


def _page_size(request: web.Request) -> int:
    given = request.query.get("limit", str(_DEFAULT_PAGE))
    if not given.isdecimal() or not 1 <= int(given) <= _LARGEST_PAGE:
        raise ApiError(400, f"limit: wanted a whole number from 1 to {_LARGEST_PAGE}, got '{given}'")
    return int(given)
