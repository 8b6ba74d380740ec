"""Mistral's batch jobs: one model, files or requests in place, pages with numbers."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
from aiohttp import web

from overnight_emulator.batches.batch import TERMINAL, Batch, birth, output_of, progress, status, timeline
from overnight_emulator.dialects.lookalike.bare_lines import write
from overnight_emulator.dialects.lookalike.jobs import Jobs
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.errors import ApiError, bad_json
from overnight_emulator.dialects.openai.rules import CHAT, exists
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_WORDS = {
    "validating": "QUEUED",
    "in_progress": "RUNNING",
    "finalizing": "RUNNING",
    "cancelling": "CANCELLATION_REQUESTED",
    "completed": "SUCCESS",
    "failed": "FAILED",
    "expired": "TIMEOUT_EXCEEDED",
    "cancelled": "CANCELLED",
}
_MOST_HOURS = 168
_LARGEST_PAGE = 100
_MOST_INLINE = 10_000


class JobRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._jobs = Jobs(world, dialect, lambda job: ApiError(404, f"Job not found: {job}"))

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/batch/jobs", self.create),
            web.get("/batch/jobs", self.listing),
            web.get("/batch/jobs/{id}", self.retrieve),
            web.post("/batch/jobs/{id}/cancel", self.cancel),
            web.delete("/batch/jobs/{id}", self.delete),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        self._check(body)
        check_credit(request, self._world.truth)
        file = self._input(body)
        event = Event("create", text_of(body.get("metadata") or {}, file.filename), file.sha256, body["model"])

        def make(fault: Fault | None) -> Batch:
            created_at, listed_from = birth(fault, self._world.clock.now())
            return Batch(
                id=new_id(""),
                dialect=self._jobs.dialect,
                endpoint=body["endpoint"],
                input_file_id=file.id,
                created_at=created_at,
                listed_from=listed_from,
                metadata=body.get("metadata"),
                details={"filename": file.filename, "model": body["model"]},
                window_seconds=body.get("timeout_hours", 24) * 3_600,
            )

        return await self._jobs.create(event, make, self._show)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        inline = request.query.get("inline") == "true"
        return await self._jobs.retrieve(request.match_info["id"], lambda batch: self._show(batch, inline=inline))

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        return await self._jobs.cancel(
            request.match_info["id"],
            self._show,
            lambda state: ApiError(400, f"A job that is {_WORDS[state]} cannot be cancelled."),
        )

    async def delete(self, request: web.Request) -> web.Response:
        batch = self._jobs.find(request.match_info["id"])
        self._world.works.hide(batch)
        return json_reply({"id": batch.id, "object": "batch", "deleted": True})

    async def listing(self, request: web.Request) -> web.StreamResponse:
        number, size = int(request.query.get("page", 0)), int(request.query.get("page_size", _LARGEST_PAGE))
        size = min(size, _LARGEST_PAGE)

        def show() -> web.Response:
            found = self._jobs.newest_first()
            if request.query.get("order_by") == "created":
                found.reverse()
            now = self._world.clock.now()
            data = [_job(batch, now) for batch in found[number * size : (number + 1) * size]]
            return json_reply({"data": data, "object": "list", "total": len(found)})

        return await self._jobs.listing(Event("list", request.query_string, later_page=number > 0), show)

    def _check(self, body: dict[str, Any]) -> None:
        model, hours = body.get("model"), body.get("timeout_hours", 24)
        if body.get("endpoint") != CHAT:
            raise ApiError(422, f"The endpoint {body.get('endpoint')!r} is not simulated here.")
        if not isinstance(model, str) or not exists(model, self._world.truth):
            raise ApiError(422, f"Invalid model: {model}")
        if not isinstance(hours, int) or not 1 <= hours <= _MOST_HOURS:
            raise ApiError(422, f"timeout_hours must be from 1 to {_MOST_HOURS}")

    def _input(self, body: dict[str, Any]) -> StoredFile:
        if body.get("requests"):
            return self._inline(body["requests"])
        names = body.get("input_files")
        if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0], str):
            raise ApiError(422, "input_files: this emulator takes one file")
        file = self._jobs.file(names[0])
        if file is None:
            raise ApiError(404, f"File not found: {names[0]}")
        return file

    def _inline(self, requests: list[dict[str, Any]]) -> StoredFile:
        if len(requests) > _MOST_INLINE:
            raise ApiError(422, f"At most {_MOST_INLINE} requests can be sent in place.")
        content = b"".join(write({"custom_id": one.get("custom_id"), "body": one["body"]}) + b"\n" for one in requests)
        file = StoredFile(
            id=new_id("file-"),
            dialect=self._jobs.dialect,
            filename="inline.jsonl",
            purpose="batch",
            bytes=len(content),
            sha256=sha256(content).hexdigest(),
            created_at=self._world.clock.now(),
            expires_at=None,
        )
        self._world.store.path(file.id).write_bytes(content)
        self._world.store.add_file(file)
        return file

    def _show(self, batch: Batch, *, inline: bool = False) -> web.Response:
        shown = _job(batch, self._world.clock.now())
        if inline and shown["output_file"]:
            path = self._world.store.path(shown["output_file"])
            shown["outputs"] = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
        return json_reply(shown)


def _job(batch: Batch, now: float) -> dict[str, Any]:
    state, course, check = status(batch, now), timeline(batch), batch.check
    tally = batch.tally if state in TERMINAL else None
    total = 0 if check is None else check.total
    done = int(total * progress(course, now)) if course is not None and tally is None else 0
    flaw = check.flaw if check is not None and state == "failed" else None
    return {
        "id": batch.id,
        "object": "batch",
        "input_files": [batch.input_file_id],
        "endpoint": batch.endpoint,
        "model": batch.details["model"],
        "agent_id": None,
        "metadata": batch.metadata,
        "status": _WORDS.get(state, state),
        "created_at": int(batch.created_at),
        "started_at": None,
        "completed_at": int(course.ends_at) if course is not None and state in TERMINAL else None,
        "total_requests": total,
        "succeeded_requests": done if tally is None else tally.completed,
        "failed_requests": 0 if tally is None else tally.failed,
        "completed_requests": done if tally is None else tally.completed + tally.failed,
        "output_file": None if tally is None else output_of(batch, now),
        "error_file": None if tally is None else tally.error_file_id,
        "errors": [] if flaw is None else [{"message": flaw.message, "count": 1}],
    }
