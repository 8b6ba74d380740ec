"""The batches of the Gemini API: create from a file or with the requests in place, get, list, cancel, delete."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
from aiohttp import web

from overnight_emulator.batches.batch import TERMINAL, Batch, Flaw, birth, status
from overnight_emulator.dialects.gemini.objects import batch_object
from overnight_emulator.dialects.google.accounts import check_credit
from overnight_emulator.dialects.google.errors import GoogleError, bad_json, from_fault
from overnight_emulator.dialects.google.paging import page, page_size
from overnight_emulator.dialects.google.spelling import camel
from overnight_emulator.faults.calls import suffer
from overnight_emulator.faults.kinds import Event, Fault, text_of
from overnight_emulator.identity import new_id
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import json_body, json_reply
from overnight_emulator.world import World

_WINDOW = 48 * 3_600
_PAGE = 50
_LARGEST_PAGE = 100
_ID_LENGTH = 38
_LARGEST_INLINE = 20 << 20


class BatchRoutes:
    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._dialect = dialect

    def routes(self, version: str) -> list[web.RouteDef]:
        one = f"{version}/batches/{{id:[^/:]+}}"
        return [
            web.post(f"{version}/models/{{model:[^/:]+}}:batchGenerateContent", self.create),
            web.post(f"{version}/models/{{model:[^/:]+}}:asyncBatchEmbedContent", self.create_embedding),
            web.get(f"{version}/batches", self.listing),
            web.get(one, self.retrieve),
            web.post(f"{one}:cancel", self.cancel),
            web.delete(one, self.delete),
            web.post(f"{one}:delete", self.delete),
        ]

    async def create(self, request: web.Request) -> web.StreamResponse:
        return await self._create(request, embeds=False)

    async def create_embedding(self, request: web.Request) -> web.StreamResponse:
        return await self._create(request, embeds=True)

    async def _create(self, request: web.Request, *, embeds: bool) -> web.StreamResponse:
        asked = _asked(camel(await json_body(request, bad_json)))
        check_credit(request, self._world.truth)
        self._check_rate()
        model = request.match_info["model"]
        inline = asked.get("inputConfig", {}).get("requests")
        file_id = self._keep_inline(inline) if inline is not None else _file_id(asked)
        name = str(asked.get("displayName") or "")
        digest = self._digest(file_id)
        fault = self._world.faults.strike(Event("create", text_of(name, file_id), digest, model))

        async def make() -> web.Response:
            details = {"model": model, "inline": inline is not None, "filename": file_id, "embeds": embeds}
            batch = await self._make(details, name, fault)
            if fault is not None and fault.do == "twice":
                await self._make(details, name, None)
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
            if status(batch, self._world.clock.now()) not in TERMINAL:
                self._world.works.cancel(batch)
            return json_reply({})

        return await suffer(self._world.strike("cancel", batch), self._world.clock, stop, from_fault)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        batch = self._find(request)

        async def remove() -> web.Response:
            self._world.works.hide(batch)
            if batch.tally is not None and batch.tally.output_file_id:
                self._world.store.remove_file(batch.tally.output_file_id)
            return json_reply({})

        return await suffer(self._world.strike("delete", batch), self._world.clock, remove, from_fault)

    async def listing(self, request: web.Request) -> web.StreamResponse:
        limit, token = page_size(request, _PAGE, _LARGEST_PAGE), request.query.get("pageToken")
        if request.query.get("filter"):
            raise GoogleError(400, "Filtering is not supported.")
        event = Event("list", request.query_string, later_page=bool(token))

        async def show() -> web.Response:
            batches = self._world.works.listing(self._dialect, limit + 1, token or None)
            return json_reply(page("operations", batches, limit, self._object, lambda batch: batch.id))

        return await suffer(self._world.faults.strike(event), self._world.clock, show, from_fault)

    async def _make(self, details: dict[str, Any], name: str, fault: Fault | None) -> Batch:
        """What is wrong with the input is said at once, unless the create is under way for longer."""
        created_at, listed_from = birth(fault, self._world.clock.now())
        batch = Batch(
            id=(new_id("") + new_id(""))[:_ID_LENGTH],
            dialect=self._dialect,
            endpoint="asyncBatchEmbedContent" if details["embeds"] else "batchGenerateContent",
            input_file_id=details["filename"],
            created_at=created_at,
            listed_from=listed_from,
            metadata={"displayName": name},
            details={**details, "in_order": True},
            window_seconds=_WINDOW,
            gives_partial=False,
        )
        if created_at <= self._world.clock.now():
            found = await self._world.works.examine(batch)
            if isinstance(found, Flaw):
                raise GoogleError(int(found.code), found.message)
        self._world.works.add(batch)
        return batch

    def _keep_inline(self, requests: Any) -> str:
        """Requests in place become a file that nobody sees."""
        listed = requests.get("requests") if isinstance(requests, dict) else None
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise GoogleError(400, "Invalid value at 'batch.input_config.requests': expected a list of requests.")
        lines = b"".join(msgspec.json.encode(_line(one)) + b"\n" for one in listed)
        if len(lines) > _LARGEST_INLINE:
            raise GoogleError(400, "Request payload size exceeds the limit: 20971520 bytes.")
        now = self._world.clock.now()
        file = StoredFile(
            id=new_id("inline"),
            dialect=self._dialect,
            filename="",
            purpose="inline",
            bytes=len(lines),
            sha256=sha256(lines).hexdigest(),
            created_at=now,
            expires_at=None,
        )
        self._world.store.path(file.id).write_bytes(lines)
        self._world.store.add_file(file)
        return file.id

    def _digest(self, file_id: str) -> str:
        file = self._world.store.file(self._dialect, file_id, self._world.clock.now())
        return file_id if file is None else file.sha256

    def _check_rate(self) -> None:
        wait = self._world.creation_wait(self._dialect)
        if wait is not None:
            message = "Resource has been exhausted (e.g. check quota): batches created per hour."
            raise GoogleError(429, message, retry_after=self._world.clock.real_seconds(wait))

    def _find(self, request: web.Request) -> Batch:
        batch = self._world.works.find(request.match_info["id"])
        if batch is None or batch.dialect != self._dialect:
            raise GoogleError(404, "Requested entity was not found.")
        return batch

    def _show(self, batch: Batch) -> web.Response:
        return json_reply(self._object(batch))

    def _object(self, batch: Batch) -> dict[str, Any]:
        answered = batch.tally.output_file_id if batch.tally is not None else None
        output = self._world.store.path(answered) if answered and batch.details["inline"] else None
        return batch_object(batch, self._world.clock.now(), output)


def _asked(body: dict[str, Any]) -> dict[str, Any]:
    batch = body.get("batch")
    if not isinstance(batch, dict) or not isinstance(batch.get("inputConfig"), dict):
        raise GoogleError(400, "* BatchGenerateContentRequest.batch.input_config: is not specified")
    return batch


def _file_id(asked: dict[str, Any]) -> str:
    name = asked["inputConfig"].get("fileName")
    if not isinstance(name, str) or not name.startswith("files/"):
        raise GoogleError(400, "* BatchGenerateContentRequest.batch.input_config: wanted file_name or requests")
    return name.removeprefix("files/")


def _line(inlined: dict[str, Any]) -> dict[str, Any]:
    key = (inlined.get("metadata") or {}).get("key")
    return {"request": inlined.get("request"), **({"key": key} if key is not None else {})}
