"""Responses that are kept: read again, followed by others, deleted, and answered in the background."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from overnight_emulator.answers.answering import Turn
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.prompts import responses_turns, turns_of
from overnight_emulator.wire import json_reply
from overnight_emulator.world import World


class StoredResponse(msgspec.Struct, frozen=True):
    """A response with all that was said up to it. One in the background is shown `begun` until it is ready."""

    body: dict[str, Any]
    turns: list[Turn]
    asked: list[Any]
    ready_at: float = 0.0
    begun: dict[str, Any] | None = None


class StoredResponses:
    def __init__(self, world: World) -> None:
        self._world = world

    def routes(self) -> list[web.RouteDef]:
        one = "/responses/{id}"
        return [
            web.get(one, self.retrieve),
            web.delete(one, self.delete),
            web.post(f"{one}/cancel", self.cancel),
            web.get(f"{one}/input_items", self.input_items),
        ]

    def before(self, body: dict[str, Any]) -> tuple[Turn, ...]:
        """What was said in the responses that this request follows."""
        followed = body.get("previous_response_id")
        if followed is None:
            return ()
        found = self._stored(followed) if isinstance(followed, str) else None
        if found is None:
            message = f"Previous response with id '{followed}' not found."
            raise ApiError(400, message, param="previous_response_id", code="previous_response_not_found")
        return tuple(found.turns)

    def keep(self, asked: dict[str, Any], before: tuple[Turn, ...], response: dict[str, Any]) -> None:
        said = turns_of(response["output"])
        instructed = isinstance(asked.get("instructions"), str)
        turns = [*before, *responses_turns(asked)[1 if instructed else 0 :], *said]
        given = asked["input"]
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        self._save(StoredResponse(response, turns, items))

    def begin(self, response: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Answer one that was kept in so many virtual seconds, and show it as it is until then."""
        found = self._stored(response["id"])
        assert found is not None
        begun = {**response, "status": "queued", "completed_at": None, "output": [], "usage": None}
        self._save(msgspec.structs.replace(found, begun=begun, ready_at=self._world.clock.now() + seconds))
        return begun

    async def retrieve(self, request: web.Request) -> web.Response:
        if request.query.get("stream") == "true":
            raise ApiError(
                400, "'stream' is not simulated by this emulator for responses that are kept.", param="stream"
            )
        return json_reply(self._shown(self._find(request)))

    async def delete(self, request: web.Request) -> web.Response:
        found = self._find(request)
        self._world.store.forget_fact(_name(found.body["id"]))
        return json_reply({"id": found.body["id"], "object": "response", "deleted": True})

    async def cancel(self, request: web.Request) -> web.Response:
        found = self._find(request)
        if found.begun is None:
            raise ApiError(400, "Cannot cancel a synchronous response.")
        if self._world.clock.now() < found.ready_at:
            cancelled = {**found.begun, "status": "cancelled"}
            found = msgspec.structs.replace(found, body=cancelled, ready_at=0.0)
            self._save(found)
        return json_reply(self._shown(found))

    async def input_items(self, request: web.Request) -> web.Response:
        found = self._find(request)
        mark = found.body["id"].removeprefix("resp_")[:40]
        data = [
            {"type": "message", **item, "id": item.get("id") or f"msg_{place}_{mark}"}
            for place, item in reversed(list(enumerate(found.asked)))
        ]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
        return json_reply({"object": "list", "data": data, **ends, "has_more": False})

    def _shown(self, found: StoredResponse) -> dict[str, Any]:
        if found.begun is None or self._world.clock.now() >= found.ready_at:
            return found.body
        return {**found.begun, "status": "in_progress"}

    def _find(self, request: web.Request) -> StoredResponse:
        response_id = request.match_info["id"]
        found = self._stored(response_id)
        if found is None:
            raise ApiError(404, f"Response with id '{response_id}' not found.")
        return found

    def _stored(self, response_id: str) -> StoredResponse | None:
        found: StoredResponse | None = self._world.store.fact(_name(response_id), StoredResponse)
        return found

    def _save(self, response: StoredResponse) -> None:
        self._world.store.set_fact(_name(response.body["id"]), response)


def _name(response_id: str) -> str:
    return f"response {response_id}".encode("utf-8", "backslashreplace").decode()
