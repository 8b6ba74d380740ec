"""Bedrock's model invocation jobs. A token makes two creates one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from aiohttp import web

from overnight_emulator.batches.batch import TERMINAL, Batch, birth, progress, status, timeline
from overnight_emulator.dialects.bedrock.errors import AwsError, check_credit, from_fault
from overnight_emulator.dialects.lookalike.jobs import Jobs
from overnight_emulator.dialects.openai.accounts import KEY
from overnight_emulator.dialects.openai.rules import exists
from overnight_emulator.dialects.s3 import NAME as S3
from overnight_emulator.dialects.s3.accounts import access_key
from overnight_emulator.dialects.storage.objects import object_id
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_WORDS = {
    "validating": "Validating",
    "in_progress": "InProgress",
    "finalizing": "InProgress",
    "cancelling": "Stopping",
    "completed": "Completed",
    "failed": "Failed",
    "expired": "Expired",
    "cancelled": "Stopped",
}
_ARN = "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/"
_LARGEST_PAGE = 1_000


class JobRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        missing = "The job {} does not exist."
        self._jobs = Jobs(
            world, dialect, lambda job: AwsError(404, "ResourceNotFoundException", missing.format(job)), from_fault
        )

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/model-invocation-job", self.create),
            web.get("/model-invocation-jobs", self.listing),
            web.get("/model-invocation-job/{id}", self.retrieve),
            web.post("/model-invocation-job/{id}/stop", self.stop),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        asked = await json_body(request, lambda: AwsError(400, "ValidationException", "The body is no JSON object."))
        details = self._details(asked)
        request[KEY] = access_key(request)
        check_credit(request, self._world.truth)
        known = self._known(details["token"])
        if known is not None:
            return json_reply({"jobArn": _ARN + known.id})
        file = self._world.store.file(S3, details["input_id"], self._world.clock.now())
        content = details["input_id"] if file is None else file.sha256

        def make(fault: Fault | None) -> Batch:
            created_at, listed_from = birth(fault, self._world.clock.now())
            return Batch(
                id=uuid4().hex[:12],
                dialect=self._jobs.dialect,
                endpoint="model-invocation-job",
                input_file_id=details["input_id"],
                created_at=created_at,
                listed_from=listed_from,
                metadata={"jobName": details["name"]},
                details={**details, "in_order": True},
                window_seconds=details["hours"] * 3_600,
                input_dialect=S3,
            )

        event = Event("create", text_of(details["name"], details["input_uri"]), content, details["model"])
        return await self._jobs.create(event, make, lambda batch: json_reply({"jobArn": _ARN + batch.id}))

    def _known(self, token: str) -> Batch | None:
        return next((batch for batch in self._jobs.newest_first() if batch.details.get("token") == token), None)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        return await self._jobs.retrieve(_id(request), lambda batch: json_reply(self._job(batch)))

    async def stop(self, request: web.Request) -> web.StreamResponse:
        return await self._jobs.cancel(
            _id(request),
            lambda _: json_reply({}),
            lambda state: AwsError(400, "ConflictException", f"The job is {_WORDS[state]}."),
        )

    async def listing(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        size = min(int(query.get("maxResults") or _LARGEST_PAGE), _LARGEST_PAGE)
        start = int(query.get("nextToken") or 0)

        def show() -> web.Response:
            found = [job for job in map(self._job, self._jobs.newest_first()) if _fits(job, query)]
            if query.get("sortOrder") == "Ascending":
                found.reverse()
            more = {"nextToken": str(start + size)} if start + size < len(found) else {}
            return json_reply({"invocationJobSummaries": found[start : start + size], **more})

        return await self._jobs.listing(Event("list", request.query_string, later_page=start > 0), show)

    def _details(self, asked: dict[str, Any]) -> dict[str, Any]:
        source = ((asked.get("inputDataConfig") or {}).get("s3InputDataConfig") or {}).get("s3Uri")
        target = ((asked.get("outputDataConfig") or {}).get("s3OutputDataConfig") or {}).get("s3Uri")
        wanted = {"jobName": asked.get("jobName"), "roleArn": asked.get("roleArn"), "modelId": asked.get("modelId")}
        for name, value in {**wanted, "inputDataConfig": source, "outputDataConfig": target}.items():
            if not isinstance(value, str) or not value:
                raise AwsError(400, "ValidationException", f"Value at '{name}' failed to satisfy constraint.")
        if asked.get("modelInvocationType") != "Converse":
            raise AwsError(400, "ValidationException", "This emulator simulates jobs of the type Converse.")
        if not exists(asked["modelId"], self._world.truth):
            raise AwsError(404, "ResourceNotFoundException", f"Could not resolve the model {asked['modelId']}.")
        bucket, _, name = str(source).removeprefix("s3://").partition("/")
        return {
            "name": asked["jobName"],
            "role": asked["roleArn"],
            "model": asked["modelId"],
            "token": asked.get("clientRequestToken") or uuid4().hex,
            "input_uri": source,
            "output_uri": target,
            "input_id": object_id(f"s3:{bucket}", name),
            "filename": source,
            "hours": asked.get("timeoutDurationInHours") or 24,
            # Answers come in the order of the requests.
            "inline": True,
        }

    def _job(self, batch: Batch) -> dict[str, Any]:
        now, details = self._world.clock.now(), batch.details
        state, course, check = status(batch, now), timeline(batch), batch.check
        tally = batch.tally if state in TERMINAL else None
        flaw = check.flaw if check is not None and state == "failed" else None
        total = 0 if check is None else check.total
        done = int(total * progress(course, now)) if course is not None and tally is None else 0
        succeeded, failed = (done, 0) if tally is None else (tally.completed, tally.failed)
        return {
            "jobArn": _ARN + batch.id,
            "jobName": details.get("name", "foreign"),
            "modelId": details["model"],
            "clientRequestToken": details.get("token", ""),
            "roleArn": details.get("role", ""),
            "status": _WORDS.get(state, state),
            "message": "" if flaw is None else flaw.message,
            "submitTime": _time(batch.created_at),
            "lastModifiedTime": _time(batch.created_at),
            "jobExpirationTime": _time(batch.expires_at),
            "inputDataConfig": {"s3InputDataConfig": {"s3Uri": details.get("input_uri", "s3://foreign/in")}},
            "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": details.get("output_uri", "s3://foreign/out")}},
            "timeoutDurationInHours": details.get("hours", 24),
            "modelInvocationType": "Converse",
            "totalRecordCount": total,
            "processedRecordCount": succeeded + failed,
            "successRecordCount": succeeded,
            "errorRecordCount": failed,
        }


def _fits(job: dict[str, Any], query: Any) -> bool:
    named = query.get("nameContains", "") in job["jobName"]
    return named and query.get("statusEquals", job["status"]) == job["status"]


def _id(request: web.Request) -> str:
    return unquote(request.match_info["id"]).rsplit("/", 1)[-1]


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
