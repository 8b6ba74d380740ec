"""OpenAI's API over HTTP: batches through files, and live calls. `served.py` has what differs from vendor to vendor."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from overnight.core.ask import Model
from overnight.core.errors import Gone
from overnight.providers.contract import Batch, CreateAnswer, Endpoint, Fence, Intent, Refusal, Reply, Sightings
from overnight.providers.openai_api.batches import (
    checked_upload,
    create_refusal,
    metadata_of,
    read_batch,
    read_created,
    read_page,
)
from overnight.providers.openai_api.served import Batches, Calls
from overnight.providers.reading.listing import Page, asked_for, back_to, first_page
from overnight.providers.reading.responses import Response
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.creating import create_once
from overnight.providers.wire.http import Timeouts, Wire
from overnight.providers.wire.signing import KeyHeaders

_PAGE = "100"


def key_headers(endpoint: Endpoint) -> dict[str, str]:
    return {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}


class CallConnection:
    """A server at one endpoint that takes live calls."""

    def __init__(
        self,
        calls: Calls,
        endpoint: Endpoint,
        headers: KeyHeaders | None = None,
        timeouts: Timeouts | None = None,
        query: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._calls = calls
        sent = key_headers(endpoint) if headers is None else headers
        secret = endpoint.key
        self._wire = Wire(calls.name, endpoint.base_url, sent, secret=secret, timeouts=timeouts, query=query)
        self._live = LiveWire(endpoint.base_url, sent, secret=secret, rates=calls.rates, query=query)

    async def call(self, model: Model, body: bytes) -> Reply:
        return await self._live.call(self._calls.path(model), body)

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", self._calls.models_path, query=self._calls.models_query)
        return f"{self._calls.name} {self._calls.proved} at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()


class FileBatchConnection(CallConnection):
    """One that also takes batches: a file is uploaded, a batch made of it, and what it wrote is downloaded."""

    def __init__(
        self,
        calls: Calls,
        batches: Batches,
        endpoint: Endpoint,
        headers: KeyHeaders | None = None,
        timeouts: Timeouts | None = None,
        query: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(calls, endpoint, headers, timeouts, query)
        self._name = calls.name
        self._batches = batches
        self._shape = batches.shape

    async def upload(self, intent: Intent) -> str:
        batches = self._batches
        path = batches.upload_path or batches.files_path
        reply = await self._wire.upload(path, batches.upload_fields, intent.file, f"{intent.token}.jsonl")
        return checked_upload(self._shape, reply.body, intent)

    async def newest(self) -> Sightings:
        return await first_page(self._page)

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        return await create_once(
            self._wire,
            self._batches.batches_path,
            msgspec.json.encode(self._asked(intent, file_id)),
            read=self._read_created,
            refusal=self._refusal,
        )

    def _asked(self, intent: Intent, file_id: str) -> dict[str, Any]:
        """What a create says."""
        return {
            "input_file_id": file_id,
            "endpoint": self._batches.endpoint(intent.model),
            **self._batches.create_fields(intent.model),
            **({"metadata": metadata_of(intent)} if self._batches.metadata else {}),
        }

    def _read(self, body: bytes) -> Batch:
        return read_batch(self._shape, body)

    def _read_created(self, body: bytes) -> Batch:
        return read_created(self._shape, body)

    def _refusal(self, reply: Response) -> Refusal | None:
        return create_refusal(reply, self.endpoint.key)

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        return await back_to(fence, pages, self._page)

    async def _page(self, after: str | None) -> Page:
        query = {"limit": _PAGE} if after is None else {"limit": _PAGE, "after": after}
        reply = await self._wire.ask("list", "GET", self._batches.batches_path, query=query)
        return read_page(self._shape, reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", self._batch(batch_id), also=(404,))
        return asked_for(batch_id, self._read(reply.body)) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        reply = await self._wire.download(f"{self._file(ref)}/content", sink, also=(404, 410))
        if not reply.ok:
            days = self._batches.retention_days
            kept = f": results are deleted after {days} days" if days else ""
            raise Gone(f"{self._name} no longer keeps {ref}{kept}")
        return reply.length

    async def cancel(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("cancel", "POST", f"{self._batch(batch_id)}/cancel", also=(400, 404, 409))
        if reply.ok:
            return asked_for(batch_id, self._read(reply.body))
        # A batch that has ended meanwhile cannot be cancelled: what it has become is the answer.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        await self._wire.ask("delete", "DELETE", self._file(file_id), also=(404,))

    async def knows_file(self, file_id: str) -> bool:
        return (await self._wire.ask("retrieve", "GET", self._file(file_id), also=(404,))).ok

    def _batch(self, batch_id: str) -> str:
        return f"{self._batches.batches_path}/{quote(batch_id, safe='')}"

    def _file(self, file_id: str) -> str:
        return f"{self._batches.files_path}/{quote(file_id, safe='')}"
