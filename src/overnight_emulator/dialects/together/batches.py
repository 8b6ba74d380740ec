"""Together's batches: a bare list of jobs that tell no counts, and rows whose failures have a word of their own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from aiohttp import web

from overnight_emulator.batches.batch import TERMINAL, Batch, Flaw, birth, output_of, progress, status, timeline
from overnight_emulator.batches.rows import Content, Reply, Row
from overnight_emulator.dialects.lookalike.bare_lines import BareRows, write
from overnight_emulator.dialects.lookalike.jobs import Jobs
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.errors import ApiError, bad_json
from overnight_emulator.dialects.openai.lines import peek_model
from overnight_emulator.dialects.openai.rules import CHAT, exists
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_WORDS = {
    "validating": "VALIDATING",
    "in_progress": "IN_PROGRESS",
    "finalizing": "IN_PROGRESS",
    "cancelling": "CANCELING",
    "completed": "COMPLETED",
    "failed": "FAILED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
}


class TogetherRows(BareRows):
    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        found = super().validate(batch, file, lines)
        if isinstance(found, Content) and not exists(found.model, self._truth):
            return Flaw("model_not_found", f"Model {found.model} does not exist, or takes no batches.")
        return found

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:
        line: dict[str, Any] = {"id": f"br_{row_id}", "custom_id": row.custom_id}
        if reply.status == 200:
            return write({**line, "response": {"status_code": 200, "body": reply.body}}) + b"\n"
        said = reply.body.get("error") or {}
        otherwise = "batch_client_error" if reply.status < 500 else "batch_server_error"
        error = {"code": said.get("code") or otherwise, "message": said.get("message")}
        return write({**line, "error": error}) + b"\n"


class BatchRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._jobs = Jobs(world, dialect, lambda _: ApiError(404, "Job not found"))

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/batches", self.create),
            web.get("/v1/batches", self.listing),
            web.get("/v1/batches/{id}", self.retrieve),
            web.post("/v1/batches/{id}/cancel", self.cancel),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        """What is in the file, or whether there is one, shows when the job has failed."""
        body = await json_body(request, bad_json)
        if body.get("endpoint") != CHAT or not isinstance(body.get("input_file_id"), str):
            raise ApiError(400, "Wanted an input_file_id, and the endpoint /v1/chat/completions.")
        check_credit(request, self._world.truth)
        file = self._jobs.file(body["input_file_id"])
        name, content = ("", body["input_file_id"]) if file is None else (file.filename, file.sha256)
        model = None if file is None else peek_model(self._world.store.path(file.id))

        def make(fault: Fault | None) -> Batch:
            created_at, listed_from = birth(fault, self._world.clock.now())
            return Batch(
                id=str(uuid4()),
                dialect=self._jobs.dialect,
                endpoint=CHAT,
                input_file_id=body["input_file_id"],
                created_at=created_at,
                listed_from=listed_from,
                details={"filename": name},
            )

        def show(batch: Batch) -> web.Response:
            return json_reply({"job": _job(batch, self._world.clock.now())}, 201)

        return await self._jobs.create(Event("create", text_of(name), content, model), make, show)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        return await self._jobs.retrieve(request.match_info["id"], self._show)

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        return await self._jobs.cancel(
            request.match_info["id"], self._show, lambda state: ApiError(409, f"The job is {_WORDS[state]} already.")
        )

    async def listing(self, request: web.Request) -> web.StreamResponse:
        def show() -> web.Response:
            now = self._world.clock.now()
            return json_reply([_job(batch, now) for batch in self._jobs.newest_first()])

        return await self._jobs.listing(Event("list", request.query_string), show)

    def _show(self, batch: Batch) -> web.Response:
        return json_reply(_job(batch, self._world.clock.now()))


def _job(batch: Batch, now: float) -> dict[str, Any]:
    state, course = status(batch, now), timeline(batch)
    tally = batch.tally if state in TERMINAL else None
    shown: dict[str, Any] = {
        "id": batch.id,
        "user_id": "emulator",
        "input_file_id": batch.input_file_id,
        "file_size_bytes": 0,
        "status": _WORDS.get(state, state),
        "job_deadline": _time(batch.expires_at),
        "created_at": _time(batch.created_at),
        "endpoint": batch.endpoint,
        "progress": 0.0 if course is None else round(100 * progress(course, now), 1),
        "model_id": None if batch.check is None else batch.check.model,
        "completed_at": _time(course.ends_at) if course is not None and state in TERMINAL else None,
    }
    if tally is not None:
        shown |= {"output_file_id": output_of(batch, now), "error_file_id": tally.error_file_id}
    if state == "failed" and batch.check is not None and batch.check.flaw is not None:
        shown["error"] = batch.check.flaw.message
    return shown


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
