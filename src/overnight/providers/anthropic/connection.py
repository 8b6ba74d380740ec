"""Anthropic's API at one endpoint: Message Batches, where nothing is uploaded, and live calls."""

from collections.abc import Callable
from urllib.parse import quote

from overnight.core.ask import Model
from overnight.core.errors import Gone
from overnight.providers.anthropic.batches import LIMITS, create_refusal, read_batch, read_page
from overnight.providers.anthropic.families import NEWEST, OLDER, version_of
from overnight.providers.anthropic.live import rates_of
from overnight.providers.contract import Batch, CreateAnswer, Endpoint, Fence, Intent, Reply, Sightings
from overnight.providers.reading.listing import Page, asked_for, back_to, first_page
from overnight.providers.wire.bodies import Envelope
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.creating import create_once
from overnight.providers.wire.http import Timeouts, Wire

_MESSAGES = "/v1/messages"
_BATCHES = "/v1/messages/batches"
_PAGE = "100"


class AnthropicConnection:
    """Anthropic's API at one endpoint."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        key, workspace = endpoint.key, endpoint.project
        where = {"anthropic-workspace-id": workspace} if workspace else {}
        # Each version with the header that its own SDKs prove themselves by.
        proofs = {NEWEST: {"Authorization": f"Bearer {key}"}, OLDER: {"x-api-key": key}}
        headers = {version: {**proof, "anthropic-version": version, **where} for version, proof in proofs.items()}
        address = endpoint.base_url
        self._wires = {
            version: Wire("anthropic", address, own, secret=key, timeouts=timeouts) for version, own in headers.items()
        }
        self._lives = {version: LiveWire(address, own, secret=key, rates=rates_of) for version, own in headers.items()}
        self._wire = self._wires[NEWEST]

    async def upload(self, intent: Intent) -> str:  # noqa: ARG002 - the requests travel with the create
        return ""

    async def newest(self) -> Sightings:
        return await first_page(self._page)

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:  # noqa: ARG002 - there are no files
        wire = self._wires[version_of(intent.model)]
        return await create_once(
            wire,
            _BATCHES,
            Envelope(b'{"requests":[', intent.file, b"]}"),
            read=self._read,
            refusal=lambda reply: create_refusal(reply, self.endpoint.key),
        )

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        return await back_to(fence, pages, self._page)

    async def _page(self, after: str | None) -> Page:
        query = {"limit": _PAGE} if after is None else {"limit": _PAGE, "after_id": after}
        reply = await self._wire.ask("list", "GET", _BATCHES, query=query)
        return read_page(reply.body, self.endpoint.base_url, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", _at(batch_id), also=(404,))
        return asked_for(batch_id, self._read(reply.body)) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        """From where the provider says; results at another origin that want a key are asked for at our address."""
        batch_id, _, elsewhere = ref.partition(" ")
        if elsewhere:
            reply = await self._wire.download(elsewhere, sink, also=(401, 403, 404))
            if reply.ok:
                return reply.length
        reply = await self._wire.download(f"{_at(batch_id)}/results", sink, also=(404, 410))
        if not reply.ok:
            days = LIMITS.retention_days
            raise Gone(f"anthropic no longer keeps the results of {batch_id}: they are deleted after {days} days")
        return reply.length

    async def cancel(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("cancel", "POST", f"{_at(batch_id)}/cancel", also=(400, 404, 409))
        if reply.ok:
            return asked_for(batch_id, self._read(reply.body))
        # A batch that has ended meanwhile cannot be cancelled: what it has become is the answer.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        """There are no files: a create that is under way cannot be kept from running."""

    async def knows_file(self, file_id: str) -> bool:  # noqa: ARG002 - there are no files
        return False

    async def call(self, model: Model, body: bytes) -> Reply:
        return await self._lives[version_of(model)].call(_MESSAGES, body)

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", "/v1/models", query={"limit": "1"})
        return f"anthropic accepts the key at {self.endpoint.base_url}"

    async def close(self) -> None:
        for wire in self._wires.values():
            await wire.close()
        for live in self._lives.values():
            await live.close()

    def _read(self, body: bytes) -> Batch:
        return read_batch(body, self.endpoint.base_url)


def _at(batch_id: str) -> str:
    return f"{_BATCHES}/{quote(batch_id, safe='')}"
