"""Fireworks' batch inference jobs: whoever makes one gives it its id."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from overnight_emulator.batches.batch import TERMINAL, Batch, birth, progress, status, timeline
from overnight_emulator.dialects.fireworks.datasets import check_id, uploading
from overnight_emulator.dialects.lookalike.jobs import Jobs
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.errors import ApiError, bad_json
from overnight_emulator.dialects.openai.rules import CHAT, exists
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_WORDS = {
    "validating": "VALIDATING",
    "in_progress": "RUNNING",
    "finalizing": "WRITING_RESULTS",
    "cancelling": "CANCELLING",
    "completed": "COMPLETED",
    "failed": "FAILED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
}
_USUAL_PAGE = 50
_LARGEST_PAGE = 200


class JobRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._jobs = Jobs(world, dialect, lambda job: ApiError(404, f"job not found: {job}", code="NOT_FOUND"))

    def routes(self) -> list[web.RouteDef]:
        below = "/v1/accounts/{account}/batchInferenceJobs"
        return [
            web.post(below, self.create),
            web.get(below, self.listing),
            web.get(below + "/{id}", self.retrieve),
            web.delete(below + "/{id}", self.delete),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        model, dataset = str(body.get("model") or ""), str(body.get("inputDatasetId") or "").rsplit("/", 1)[-1]
        job_id = request.query.get("batchInferenceJobId") or new_id("job")
        check_id(job_id, "batchInferenceJobId")
        if not model or not dataset:
            raise ApiError(400, "model and inputDatasetId are required", code="INVALID_ARGUMENT")
        if not exists(model, self._world.truth):
            raise ApiError(404, f"model {model} not found", code="NOT_FOUND")
        check_credit(request, self._world.truth)
        if self._world.store.batch(job_id) is not None:
            raise ApiError(409, f"job {job_id} already exists", code="ALREADY_EXISTS")
        file = self._jobs.file(dataset)
        if file is None and self._world.store.fact(uploading(dataset)) is not None:
            raise ApiError(400, f"dataset {dataset} is not ready: its state is UPLOADING", code="FAILED_PRECONDITION")
        name, content = ("", dataset) if file is None else (file.filename, file.sha256)
        account = request.match_info["account"]

        def make(fault: Fault | None) -> Batch:
            created_at, listed_from = birth(fault, self._world.clock.now())
            return Batch(
                id=job_id,
                dialect=self._jobs.dialect,
                endpoint=CHAT,
                input_file_id=dataset,
                created_at=created_at,
                listed_from=listed_from,
                details={
                    "filename": name,
                    "model": model,
                    "account": account,
                    "display_name": body.get("displayName") or "",
                    "output": body.get("outputDatasetId") or f"accounts/{account}/datasets/{job_id}-out",
                },
            )

        about = text_of(body.get("displayName") or "", name)
        return await self._jobs.create(Event("create", about, content, model), make, self._show)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        return await self._jobs.retrieve(request.match_info["id"], self._show)

    async def delete(self, request: web.Request) -> web.Response:
        batch = self._jobs.find(request.match_info["id"])
        self._world.works.hide(batch)
        return json_reply({})

    async def listing(self, request: web.Request) -> web.StreamResponse:
        """Oldest first, if nothing else is asked for."""
        size = min(int(request.query.get("pageSize") or _USUAL_PAGE), _LARGEST_PAGE)
        start = int(request.query.get("pageToken") or 0)

        def show() -> web.Response:
            found = self._jobs.newest_first()
            if not request.query.get("orderBy", "").endswith(" desc"):
                found.reverse()
            now = self._world.clock.now()
            jobs = [_job(batch, now) for batch in found[start : start + size]]
            more = str(start + size) if start + size < len(found) else ""
            return json_reply({"batchInferenceJobs": jobs, "nextPageToken": more, "totalSize": len(found)})

        return await self._jobs.listing(Event("list", request.query_string, later_page=start > 0), show)

    def _show(self, batch: Batch) -> web.Response:
        return json_reply(_job(batch, self._world.clock.now()))


def _job(batch: Batch, now: float) -> dict[str, Any]:
    state, course, check = status(batch, now), timeline(batch), batch.check
    tally = batch.tally if state in TERMINAL else None
    total = 0 if check is None else check.total
    done = int(total * progress(course, now)) if course is not None and tally is None else 0
    flaw = check.flaw if check is not None and state == "failed" else None
    account = batch.details.get("account", "emulator")
    succeeded, failed = (done, 0) if tally is None else (tally.completed, tally.failed)
    word = _WORDS.get(state)
    return {
        "name": f"accounts/{account}/batchInferenceJobs/{batch.id}",
        "displayName": batch.details["display_name"],
        "createTime": datetime.fromtimestamp(batch.created_at, UTC).isoformat().replace("+00:00", "Z"),
        "model": batch.details["model"],
        "inputDatasetId": f"accounts/{account}/datasets/{batch.input_file_id}",
        "outputDatasetId": batch.details.get("output", ""),
        "state": f"JOB_STATE_{word}" if word else state,
        "status": {"code": "INVALID_ARGUMENT", "message": flaw.message} if flaw is not None else {"code": "OK"},
        "jobProgress": {
            "percent": 0 if course is None else int(100 * progress(course, now)),
            "totalInputRequests": total,
            "totalProcessedRequests": succeeded + failed,
            "successfullyProcessedRequests": succeeded,
            "failedRequests": failed,
        },
    }
