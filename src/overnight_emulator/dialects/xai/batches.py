"""xAI's batches: made empty, and run when something is added. They have no word for their state, only counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import Any

import msgspec
from aiohttp import web
from msgspec.structs import replace

from overnight_emulator.batches.batch import TERMINAL, Batch, birth, output_of, progress, status, timeline
from overnight_emulator.dialects.lookalike.bare_lines import write
from overnight_emulator.dialects.lookalike.jobs import Jobs
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.errors import ApiError, bad_json, from_fault
from overnight_emulator.dialects.openai.rules import CHAT, exists
from overnight_emulator.dialects.xai.results import request_of
from overnight_emulator.faults.calls import send_file, suffer
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_LIFE = 30 * 86_400
_LARGEST_PAGE = 1_000
_CONTAINER = "container"
# So long after a cancel everything counts as cancelled, also what turns out to be answered.
_UNSETTLED = 20.0


class BatchRoutes:
    """A container is a stored file; as soon as it is filled, there is a batch of its id too."""

    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._jobs = Jobs(world, dialect, _no_batch)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/batches", self.create),
            web.get("/batches", self.listing),
            web.get("/batches/{id}", self.retrieve),
            web.post("/batches/{id}/requests", self.add),
            web.get("/batches/{id}/results", self.results),
            web.post("/batches/{id}:cancel", self.cancel),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        name = body.get("name")
        if not isinstance(name, str) or not name or body.get("input_file_id"):
            raise ApiError(400, "Wanted a name; batches of files are not simulated.", code="invalid-argument")
        fault = self._world.faults.strike(Event("upload", text_of(name), name))

        async def made() -> web.Response:
            file = StoredFile(
                id=new_id("batch_"),
                dialect=self._jobs.dialect,
                filename=name,
                purpose=_CONTAINER,
                created_at=self._world.clock.now(),
                expires_at=None,
            )
            self._world.store.path(file.id).write_bytes(b"")
            self._world.store.add_file(file)
            return json_reply(self._shown(self._world.keep(file, fault)))

        return await suffer(fault, self._world.clock, made, from_fault)

    async def add(self, request: web.Request) -> web.StreamResponse:
        """Whole or not at all. What was added before is not added again."""
        container = self._container(request)
        body = await json_body(request, bad_json)
        requests = [request_of(one) for one in body["batch_requests"]]
        check_credit(request, self._world.truth)
        self._check(container, requests)
        content = b"".join(write(one) + b"\n" for one in body["batch_requests"])
        model, digest = str(requests[0][1].get("model")), sha256(content).hexdigest()

        def make(fault: Fault | None) -> Batch:
            self._world.store.path(container.id).write_bytes(content)
            self._world.store.add_file(replace(container, bytes=len(content), sha256=digest))
            created_at, listed_from = birth(fault, self._world.clock.now())
            return Batch(
                id=container.id,
                dialect=self._jobs.dialect,
                endpoint=CHAT,
                input_file_id=container.id,
                created_at=created_at,
                listed_from=listed_from,
                details={"filename": container.filename, "total": len(requests)},
                window_seconds=_LIFE,
            )

        if self._filled(container.id) is not None:
            return self._added_again(container, requests)
        event = Event("create", text_of(container.filename), digest, model)
        return await self._jobs.create(event, make, lambda _: json_reply({}))

    def _added_again(self, container: StoredFile, requests: list[tuple[str, dict[str, Any]]]) -> web.Response:
        lines = self._world.store.path(container.id).read_bytes().splitlines()
        known = {request_of(msgspec.json.decode(line))[0] for line in lines}
        if not known.issuperset(custom_id for custom_id, _ in requests):
            raise ApiError(400, "Adding more to a batch that runs is not simulated.", code="invalid-argument")
        return json_reply({})

    def _check(self, container: StoredFile, requests: list[tuple[str, dict[str, Any]]]) -> None:
        if container.details.get("cancelled"):
            raise ApiError(412, "The batch takes no more requests.", code="failed-precondition")
        ids = [custom_id for custom_id, _ in requests]
        if not ids or len(set(ids)) < len(ids) or not all(ids):
            raise ApiError(400, "Every request needs an id of its own.", code="invalid-argument")
        for _, body in requests:
            if not exists(str(body.get("model")), self._world.truth):
                raise ApiError(400, f"The model {body.get('model')} does not exist.", code="invalid-argument")

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        container = self._container(request)
        batch = self._filled(container.id)
        event = Event("retrieve", text_of(container.id, container.filename), container.id)
        fault = self._world.strike("retrieve", batch) if batch is not None else self._world.faults.strike(event)

        async def show() -> web.Response:
            return json_reply(self._shown(container))

        return await suffer(fault, self._world.clock, show, from_fault)

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        container = self._container(request)
        if self._filled(container.id) is None:
            return await self._close(container)
        return await self._jobs.cancel(
            container.id,
            lambda _: json_reply(self._shown(container)),
            lambda _: ApiError(400, "The batch has ended.", code="failed-precondition"),
        )

    async def _close(self, container: StoredFile) -> web.StreamResponse:
        async def closed() -> web.Response:
            shut = replace(container, details={"cancelled": self._world.clock.now()})
            self._world.store.add_file(shut)
            return json_reply(self._shown(shut))

        fault = self._world.faults.strike(Event("delete", text_of(container.filename), container.id))
        return await suffer(fault, self._world.clock, closed, from_fault)

    async def listing(self, request: web.Request) -> web.StreamResponse:
        limit, start = _page(request)

        def show() -> web.Response:
            now = self._world.clock.now()
            files = self._world.store.all_files(self._jobs.dialect, now)
            made = [file for file in reversed(files) if file.purpose == _CONTAINER and file.created_at <= now]
            page = [self._shown(file, listed=True) for file in made[start : start + limit]]
            more = str(start + limit) if start + limit < len(made) else None
            return json_reply({"batches": page, "pagination_token": more})

        return await self._jobs.listing(Event("list", request.query_string, later_page=start > 0), show)

    async def results(self, request: web.Request) -> web.StreamResponse:
        container = self._container(request)
        batch = self._filled(container.id)
        limit, start = _page(request)
        page = self._world.store.path(f"{container.id}.results")
        page.write_bytes(write(self._results(batch, start, limit)))
        model = None if batch is None or batch.check is None else batch.check.model
        text = text_of(container.id, container.filename)
        fault = self._world.faults.strike(Event("content", text, container.filename, model))

        async def send() -> web.StreamResponse:
            return await send_file(request, page, fault, "application/json")

        return await suffer(fault, self._world.clock, send, from_fault)

    def _results(self, batch: Batch | None, start: int, limit: int) -> dict[str, Any]:
        now = self._world.clock.now()
        ended = batch is not None and status(batch, now) in TERMINAL
        shown = output_of(batch, now) if batch is not None and ended else None
        found: list[bytes] = []
        if shown:
            with self._world.store.path(shown).open("rb") as lines:
                found = list(islice(lines, start, start + limit + 1))
        results = [_raw(line.rstrip(b"\n")) for line in found[:limit]]
        return {"results": results, "pagination_token": str(start + limit) if len(found) > limit else None}

    def _container(self, request: web.Request) -> StoredFile:
        file = self._jobs.file(request.match_info["id"])
        if file is None or file.purpose != _CONTAINER:
            raise _no_batch(request.match_info["id"])
        return file

    def _filled(self, batch_id: str) -> Batch | None:
        batch = self._world.works.find(batch_id)
        return batch if batch is not None and batch.dialect == self._jobs.dialect else None

    def _shown(self, container: StoredFile, *, listed: bool = False) -> dict[str, Any]:
        now = self._world.clock.now()
        batch = self._filled(container.id)
        if listed and batch is not None and batch.listed_from > now:
            batch = None
        counts = _counts(batch, now)
        state = "" if batch is None else status(batch, now)
        flaw = batch.check.flaw if batch is not None and batch.check is not None and state == "failed" else None
        cancelled = container.details.get("cancelled") if batch is None else batch.cancel_at
        if cancelled is None and batch is not None and state == "cancelled":
            # By the provider itself: when it ended.
            course = timeline(batch)
            cancelled = now if course is None else course.ends_at
        return {
            "batch_id": container.id,
            "name": container.filename,
            "create_time": _time(container.created_at),
            "expire_time": _time(now - 1) if state == "expired" else _time(container.created_at + _LIFE)[:10],
            "create_api_key_id": "emulator",
            "cancel_time": None if cancelled is None else _time(cancelled),
            "cancel_by_xai_message": None if flaw is None else flaw.message,
            "state": counts,
        }


def _page(request: web.Request) -> tuple[int, int]:
    """How many at once, and from where on."""
    limit, start = int(request.query.get("limit") or 100), int(request.query.get("pagination_token") or 0)
    if limit < 1 or start < 0:
        raise ApiError(
            400, "The limit must be above 0, and the pagination token one that was given.", code="invalid-argument"
        )
    return min(limit, _LARGEST_PAGE), start


def _raw(line: bytes) -> Any:
    """A line that a fault has damaged stays a text: a page is JSON whatever is in it."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return line.decode("utf-8", "replace")


def _counts(batch: Batch | None, now: float) -> Mapping[str, int]:
    names = ("num_requests", "num_pending", "num_success", "num_error", "num_cancelled")
    if batch is None:
        return dict.fromkeys(names, 0)
    total, course, state = batch.details["total"], timeline(batch), status(batch, now)
    if state == "cancelling" and batch.cancel_at is not None and now < batch.cancel_at + _UNSETTLED:
        return dict(zip(names, (total, 0, 0, 0, total), strict=True))
    tally = batch.tally if state in TERMINAL else None
    if tally is None:
        done = 0 if course is None or state == "failed" else int(total * progress(course, now))
        # As long as it has not ended, something is pending.
        done = min(done, total - 1)
        return dict(zip(names, (total, total - done, done, 0, 0), strict=True))
    left = total - tally.completed - tally.failed
    unrun = total - tally.executed if state in {"cancelled", "expired"} else left
    failed = total - tally.completed - unrun
    pending, cancelled = (0, unrun) if state != "expired" else (unrun, 0)
    return dict(zip(names, (total, pending, tally.completed, failed, cancelled), strict=True))


def _no_batch(batch_id: str) -> ApiError:
    return ApiError(404, f"Batch {batch_id} not found.", code="not-found")


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()
