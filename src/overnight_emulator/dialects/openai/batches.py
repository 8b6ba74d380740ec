"""The batches of the OpenAI dialect: create, retrieve, list, cancel."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from overnight_emulator.batches.batch import TERMINAL, Batch, birth, status
from overnight_emulator.dialects.openai.accounts import check_credit
from overnight_emulator.dialects.openai.errors import ApiError, bad_json, from_fault, no_such_batch, retry_headers
from overnight_emulator.dialects.openai.files import check_seconds
from overnight_emulator.dialects.openai.lines import peek_model
from overnight_emulator.dialects.openai.paging import page_size
from overnight_emulator.dialects.openai.terms import OPENAI_TERMS, Terms
from overnight_emulator.faults.calls import suffer
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_NOT_SIMULATED = (
    "/v1/completions",
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/videos",
)
_DEFAULT_PAGE = 20
_LARGEST_PAGE = 100
_MOST_TAGS = 16
_LONGEST_TAG = 64
_LONGEST_VALUE = 512


class BatchRoutes:
    def __init__(self, world: World, dialect: str, terms: Terms = OPENAI_TERMS) -> None:
        self._world = world
        self._dialect = dialect
        self._terms = terms

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/batches", self.create),
            web.get("/batches", self.listing),
            web.get("/batches/{id}", self.retrieve),
            web.post("/batches/{id}/cancel", self.cancel),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await json_body(request, bad_json)
        _check_create(body, self._terms)
        check_credit(request, self._world.truth)
        self._check_rate()
        filename, model, content = self._input(body["input_file_id"])
        event = Event("create", text_of(body.get("metadata") or {}, filename), content, model)
        fault = self._world.faults.strike(event)

        async def make() -> web.Response:
            batch = self._make(body, filename, fault)
            if fault is not None and fault.do == "twice":
                self._make(body, filename, None)
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
            state = status(batch, self._world.clock.now())
            if state in TERMINAL:
                raise ApiError(409, f"Cannot cancel a batch with status '{state}'.")
            return self._show(self._world.works.cancel(batch))

        return await suffer(self._world.strike("cancel", batch), self._world.clock, stop, from_fault)

    async def listing(self, request: web.Request) -> web.StreamResponse:
        limit, after = page_size(request, _DEFAULT_PAGE, _LARGEST_PAGE), request.query.get("after")
        if after is not None and self._world.works.find(after) is None:
            raise no_such_batch(after)
        event = Event("list", request.query_string, later_page=after is not None)

        async def show() -> web.Response:
            batches = self._world.works.listing(self._dialect, limit + 1, after)
            now = self._world.clock.now()
            return json_reply(self._terms.page([self._terms.show(batch, now) for batch in batches], limit))

        return await suffer(self._world.faults.strike(event), self._world.clock, show, from_fault)

    def _make(self, body: dict[str, Any], filename: str, fault: Fault | None) -> Batch:
        now = self._world.clock.now()
        created_at, listed_from = birth(fault, now)
        lifetime = (body.get("output_expires_after") or {}).get("seconds")
        batch = Batch(
            id=new_id("batch_"),
            dialect=self._dialect,
            endpoint=body["endpoint"],
            input_file_id=body["input_file_id"],
            created_at=created_at,
            listed_from=listed_from,
            metadata=body.get("metadata"),
            details={
                "completion_window": body["completion_window"],
                "filename": filename,
                "output_lifetime": lifetime,
            },
            window_seconds=self._terms.expires_after(body["completion_window"]),
        )
        self._world.works.add(batch)
        return batch

    def _input(self, file_id: str) -> tuple[str, str | None, str]:
        """Name, model and digest of an input, as far as they can be known before validation."""
        file = self._world.store.file(self._dialect, file_id, self._world.clock.now())
        if file is None:
            return "", None, file_id
        return file.filename, peek_model(self._world.store.path(file_id)), file.sha256

    def _check_rate(self) -> None:
        wait = self._world.creation_wait(self._dialect)
        if wait is not None:
            limit = self._world.truth.limits.creates_per_hour
            message = f"Rate limit reached for batch creation. Limit: {limit} per hour. Please try again later."
            headers = retry_headers(self._world.clock.real_seconds(wait))
            raise ApiError(429, message, kind="requests", code="rate_limit_exceeded", headers=headers)

    def _find(self, request: web.Request) -> Batch:
        batch_id = request.match_info["id"]
        batch = self._world.works.find(batch_id)
        if batch is None or batch.dialect != self._dialect:
            raise no_such_batch(batch_id)
        return batch

    def _show(self, batch: Batch) -> web.Response:
        return json_reply(self._terms.show(batch, self._world.clock.now()))


def _check_create(body: dict[str, Any], terms: Terms) -> None:
    for name in ("input_file_id", "endpoint", "completion_window"):
        if not isinstance(body.get(name), str) or not body[name]:
            raise ApiError(400, f"Missing required parameter: '{name}'.", param=name, code="missing_required_parameter")
    endpoint = body["endpoint"]
    if endpoint in _NOT_SIMULATED and endpoint not in terms.endpoints:
        raise ApiError(400, f"This emulator does not simulate '{endpoint}'.", param="endpoint", code="invalid_value")
    if endpoint not in terms.endpoints:
        supported = ", ".join(f"'{known}'" for known in (*terms.endpoints, *_NOT_SIMULATED))
        message = f"Invalid value: '{endpoint}'. Supported values are: {supported}."
        raise ApiError(400, message, param="endpoint", code="invalid_value")
    if terms.window(body["completion_window"]) is None:
        message = f"Invalid value: '{body['completion_window']}'. Supported values are: {terms.windows}."
        raise ApiError(400, message, param="completion_window", code="invalid_value")
    _check_metadata(body.get("metadata"))
    lifetime = body.get("output_expires_after")
    if lifetime is not None:
        check_seconds(lifetime.get("seconds") if isinstance(lifetime, dict) else None, "output_expires_after.seconds")


def _check_metadata(metadata: object) -> None:
    if metadata is None:
        return
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ApiError(400, "Invalid 'metadata': wanted strings by name.", param="metadata", code="invalid_type")
    if len(metadata) > _MOST_TAGS:
        message = f"Invalid 'metadata': too many properties. Expected at most {_MOST_TAGS}, got {len(metadata)}."
        raise ApiError(400, message, param="metadata", code="object_above_max_properties")
    for key, value in metadata.items():
        if len(key) > _LONGEST_TAG or len(value) > _LONGEST_VALUE:
            message = (
                f"Invalid 'metadata.{key[:_LONGEST_TAG]}': a key has at most {_LONGEST_TAG} characters,"
                f" a value at most {_LONGEST_VALUE}."
            )
            raise ApiError(400, message, param=f"metadata.{key[:_LONGEST_TAG]}", code="string_above_max_length")
