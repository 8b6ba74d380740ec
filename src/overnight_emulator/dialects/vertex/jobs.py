"""Batch prediction jobs: create, get, list, cancel, delete."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

from aiohttp import web

from overnight_emulator.batches.batch import TERMINAL, Batch, birth, status
from overnight_emulator.dialects.google.accounts import check_credit
from overnight_emulator.dialects.google.errors import GoogleError, bad_json, from_fault
from overnight_emulator.dialects.google.paging import page, page_size
from overnight_emulator.dialects.google.rules import exists
from overnight_emulator.dialects.google.spelling import camel
from overnight_emulator.dialects.storage.objects import NAME as STORAGE
from overnight_emulator.dialects.storage.objects import object_id, split_uri
from overnight_emulator.dialects.vertex.filters import fits
from overnight_emulator.dialects.vertex.objects import job_object, name_of
from overnight_emulator.faults.calls import suffer
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_PAGE = 50
_LARGEST_PAGE = 100
_ALL = 1_000_000
# Up to three days in the queue, then a day of work.
_WINDOW = 4 * 86_400
_LABEL = re.compile(r"[\w-]{0,63}")
_ID_DIGITS = 10**18


class JobRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._dialect = dialect

    def routes(self, parent: str) -> list[web.RouteDef]:
        jobs = f"{parent}/batchPredictionJobs"
        one = f"{jobs}/{{id:[^/:]+}}"
        return [
            web.post(jobs, self.create),
            web.get(jobs, self.listing),
            web.get(one, self.retrieve),
            web.post(f"{one}:cancel", self.cancel),
            web.delete(one, self.delete),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        asked = camel(await json_body(request, bad_json))
        check_credit(request, self._world.truth)
        self._check_rate()
        details = self._details(asked, request)
        file = self._world.store.file(STORAGE, details["input_id"], self._world.clock.now())
        text = text_of(details["display_name"], details["labels"], details["input_uri"])
        content = details["input_uri"] if file is None else file.sha256
        fault = self._world.faults.strike(Event("create", text, content, details["model"]))

        async def make() -> web.Response:
            batch = self._make(details, fault)
            if fault is not None and fault.do == "twice":
                self._make(details, None)
            return self._show(batch)

        return await suffer(fault, self._world.clock, make, from_fault)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        batch = self._find(request)

        async def show() -> web.Response:
            return self._show(self._find(request))

        return await suffer(self._world.strike("retrieve", batch), self._world.clock, show, from_fault)

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self._find(request)

        async def stop() -> web.Response:
            batch = self._find(request)
            if status(batch, self._world.clock.now()) in TERMINAL:
                raise GoogleError(400, f"The job {name_of(batch)} has ended.", word="FAILED_PRECONDITION")
            self._world.works.cancel(batch)
            return json_reply({})

        return await suffer(self._world.strike("cancel", batch), self._world.clock, stop, from_fault)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        batch = self._find(request)

        async def remove() -> web.Response:
            if status(batch, self._world.clock.now()) not in TERMINAL:
                raise GoogleError(400, f"The job {name_of(batch)} has not ended.", word="FAILED_PRECONDITION")
            self._world.works.hide(batch)
            return json_reply(
                {"name": f"{batch.details['parent']}/operations/{batch.id}", "done": True, "response": {}}
            )

        return await suffer(self._world.strike("delete", batch), self._world.clock, remove, from_fault)

    async def listing(self, request: web.Request) -> web.StreamResponse:
        limit, token = page_size(request, _PAGE, _LARGEST_PAGE), request.query.get("pageToken") or None
        wanted = request.query.get("filter", "")
        event = Event("list", request.query_string, later_page=token is not None)

        async def show() -> web.Response:
            now, parent = self._world.clock.now(), _parent(request)
            batches = self._world.works.listing(self._dialect, _ALL, token)
            jobs = [job_object(one, now) for one in batches if one.details["parent"] == parent]
            found = [job for job in jobs if fits(job, wanted)]
            return json_reply(page("batchPredictionJobs", found, limit, lambda job: job, _id))

        return await suffer(self._world.faults.strike(event), self._world.clock, show, from_fault)

    def _details(self, asked: dict[str, Any], request: web.Request) -> dict[str, Any]:
        """What a job is told, checked as far as a create is refused for it."""
        model_name = asked.get("model")
        if not isinstance(model_name, str) or not model_name:
            raise GoogleError(400, "Field: model; Message: Required field is not set.")
        model = model_name.rsplit("/", 1)[-1]
        if not exists(model, self._world.truth):
            raise GoogleError(404, f"Publisher Model `{model_name}` was not found.")
        source = (asked.get("inputConfig") or {}).get("gcsSource") or {}
        uris = source.get("uris") or []
        given = [uris] if isinstance(uris, str) else uris
        prefix = ((asked.get("outputConfig") or {}).get("gcsDestination") or {}).get("outputUriPrefix")
        place = split_uri(given[0]) if len(given) == 1 and isinstance(given[0], str) else None
        if place is None or not isinstance(prefix, str) or split_uri(prefix) is None:
            raise GoogleError(
                400, "Wanted one gs:// file in input_config.gcs_source.uris, and a gs:// prefix for output."
            )
        labels = asked.get("labels") or {}
        _check_labels(labels)
        return {
            "parent": _parent(request),
            "display_name": str(asked.get("displayName") or "batch"),
            "model": model,
            "model_name": model_name,
            "labels": labels,
            "input_config": asked["inputConfig"],
            "output_config": asked["outputConfig"],
            "input_uri": given[0],
            "filename": given[0],
            "input_id": object_id(*place),
            "output_prefix": prefix,
        }

    def _make(self, details: dict[str, Any], fault: Fault | None) -> Batch:
        created_at, listed_from = birth(fault, self._world.clock.now())
        batch = Batch(
            id=str(_ID_DIGITS + uuid4().int % _ID_DIGITS),
            dialect=self._dialect,
            endpoint="batchPredictionJobs",
            input_file_id=details["input_id"],
            created_at=created_at,
            listed_from=listed_from,
            metadata={"displayName": details["display_name"], **details["labels"]},
            details=details,
            window_seconds=_WINDOW,
            input_dialect=STORAGE,
        )
        self._world.works.add(batch)
        return batch

    def _check_rate(self) -> None:
        wait = self._world.creation_wait(self._dialect)
        if wait is not None:
            message = "Quota exceeded for aiplatform.googleapis.com/batch_prediction_requests."
            raise GoogleError(429, message, retry_after=self._world.clock.real_seconds(wait))

    def _find(self, request: web.Request) -> Batch:
        batch = self._world.works.find(request.match_info["id"])
        if batch is None or batch.dialect != self._dialect or batch.details["parent"] != _parent(request):
            raise GoogleError(404, f"The BatchPredictionJob {request.match_info['id']} does not exist.")
        return batch

    def _show(self, batch: Batch) -> web.Response:
        return json_reply(job_object(batch, self._world.clock.now()))


def _parent(request: web.Request) -> str:
    """Whose jobs: callers with an API key of their own have one place only."""
    project, location = request.match_info.get("project", "express"), request.match_info.get("location", "global")
    return f"projects/{project}/locations/{location}"


def _id(job: dict[str, Any]) -> str:
    return str(job["name"]).rsplit("/", 1)[-1]


def _check_labels(labels: Any) -> None:
    if not isinstance(labels, dict):
        raise GoogleError(400, "Invalid value at 'batch_prediction_job.labels': expected an object.")
    for key, value in labels.items():
        fit = (
            isinstance(value, str)
            and key
            and all(_LABEL.fullmatch(word) and word == word.lower() for word in (key, value))
        )
        if not fit:
            raise GoogleError(400, f"Invalid label '{key}': lower-case letters, digits, _ and -, at most 63.")
