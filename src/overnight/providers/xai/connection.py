"""xAI at one endpoint: batches that are filled after they are made, and live calls."""

from collections.abc import Callable
from urllib.parse import quote

import msgspec

from overnight.core.ask import Model
from overnight.core.errors import Gone, Unavailable
from overnight.providers.contract import (
    Batch,
    Counts,
    CreateAnswer,
    Endpoint,
    Fence,
    Intent,
    Reply,
    Sightings,
)
from overnight.providers.openai_api.connection import key_headers
from overnight.providers.openai_api.live import rates_of
from overnight.providers.reading.listing import Page, asked_for, back_to, first_page
from overnight.providers.reading.patient_json import one_line_json
from overnight.providers.wire.bodies import MOST_INLINED, Envelope
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.creating import create_once
from overnight.providers.wire.http import Timeouts, Wire
from overnight.providers.xai.batches import add_refusal, check_added, read_batch, read_opened, read_page, read_results

_PAGE = "100"
_RESULTS = "1000"


class XaiConnection:
    """xAI at one endpoint."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        headers, secret = key_headers(endpoint), endpoint.key
        self._wire = Wire("xai", endpoint.base_url, headers, secret=secret, timeouts=timeouts)
        self._live = LiveWire(endpoint.base_url, headers, secret=secret, rates=rates_of)

    async def upload(self, intent: Intent) -> str:
        """An empty batch: it holds nothing, runs nothing, and costs nothing."""
        reply = await self._wire.ask("upload", "POST", "/batches", body=msgspec.json.encode({"name": intent.token}))
        return read_opened(reply.body, intent.token)

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        """Fill it, with all requests in one call, which is taken whole or not at all."""

        def filled(body: bytes) -> Batch:
            check_added(body)
            return Batch(
                id=file_id,
                phase="running",
                status="running",
                tag=intent.token,
                input_ref=file_id,
                counts=Counts(intent.rows),
            )

        return await create_once(
            self._wire,
            f"{self._batch(file_id)}/requests",
            Envelope(b'{"batch_requests":[', intent.file, b"]}"),
            read=filled,
            refusal=lambda reply: add_refusal(reply, self.endpoint.key),
        )

    async def newest(self) -> Sightings:
        return await first_page(self._page)

    async def recent(self, fence: Fence, pages: int) -> Sightings:  # noqa: ARG002 - see below
        """To the end: a batch is made when its input is, which may be long before it was filled."""
        return await back_to(Fence(None), pages, self._page)

    async def _page(self, token: str | None) -> Page:
        query = {"limit": _PAGE} | ({} if token is None else {"pagination_token": token})
        reply = await self._wire.ask("list", "GET", "/batches", query=query)
        return read_page(reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", self._batch(batch_id), also=(404,))
        return asked_for(batch_id, read_batch(reply.body, reply.date)) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        """Page by page, each result as a line."""
        query, seen = {"limit": _RESULTS}, set[str]()
        while True:
            path = f"{self._batch(ref)}/results"
            reply = await self._wire.ask("fetch", "GET", path, query=query, also=(404, 410), most=MOST_INLINED)
            if not reply.ok:
                raise Gone(f"xai no longer keeps the results of {ref}: they are deleted after 30 days")
            try:
                page = read_results(reply.body)
            except Unavailable:
                # Whatever has answered in its place is for the engine to judge, as with a file.
                sink(reply.body)
                return None
            for one in page.results:
                sink((one_line_json(bytes(one)) or bytes(one)) + b"\n")
            if not page.pagination_token:
                return None
            if page.pagination_token in seen:
                raise Unavailable(f"xai: the results of {ref} have no end")
            seen.add(page.pagination_token)
            query = {"limit": _RESULTS, "pagination_token": page.pagination_token}

    async def cancel(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("cancel", "POST", f"{self._batch(batch_id)}:cancel", also=(400, 404, 409, 412))
        # A batch that has ended meanwhile cannot be cancelled: what it has become is the answer.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        """A batch that is empty is closed, so that it cannot be filled any more; one that was filled stays."""
        found = await self.retrieve(file_id)
        if found is not None and found.counts.total == 0:
            await self._wire.ask("delete", "POST", f"{self._batch(file_id)}:cancel", also=(400, 404, 409, 412))

    async def knows_file(self, file_id: str) -> bool:
        found = await self.retrieve(file_id)
        return found is not None and (found.counts.total > 0 or found.phase == "running")

    async def call(self, model: Model, body: bytes) -> Reply:  # noqa: ARG002 - the body names it
        return await self._live.call("/chat/completions", body)

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", "/models")
        return f"xai accepts the key at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()

    def _batch(self, batch_id: str) -> str:
        return f"/batches/{quote(batch_id, safe='')}"
